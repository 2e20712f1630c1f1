"""Documents that an ordinary front end sends: pages, dashboards, reports, a bot's queries."""

ORDINARY: dict[str, str] = {
    "a comparison page": """
        query($base: String!, $head: String!) { compare(base: $base, head: $head) {
          base { ref takenAt } head { ref takenAt }
          summary { numSpecsAdded numSpecsRemoved numSpecsRebuilt numSpecsReplaced numCellsLost }
          causes(first: 20) { totalCount nodes {
            title kind numSpecs facts { path before after }
            specs(first: 3) { nodes { hash path { name before { version } after { version } } } }
            commits(first: 3) { nodes { level commit { oid subject webUrl } } }
          } }
          commits(first: 20) { nodes { level numSpecs commit { oid subject } } }
          coverage(by: [STACK, TARGET], first: 50, kinds: [LOST]) { totalCount nodes {
            packageName values numSpecs nearestSpecs { short }
          } }
          packages(first: 50) { nodes { name kind mainCause { title } versionsAdded } }
        } }""",
    "a dashboard over all series": """
        { allSeries { name latest { ref takenAt numSpecs numPackages mainChanges }
          growth(last: 30) { takenAt numSpecs numSpecsAdded numSpecsRemoved }
          causes(first: 1) { nodes { packageName causeKind numSpecs } } } }""",
    "the causes of each series": """
        { allSeries { name causes(first: 10, by: [PACKAGE, KIND]) { totalCount nodes {
          packageName causeKind numRevisions numSpecs points(last: 10) { numSpecs } } } } }""",
    "the newest revisions of all series": """
        { allSeries { name revisions(first: 5) { totalCount nodes {
          ref takenAt publishedAt numSpecs totalSize source { kind location } } } } }""",
    "all tags": "{ tags { name series { name } latest { ref takenAt numSpecs numStacks } } }",
    "a page of packages": """
        query($ref: String!) { revision(ref: $ref) { packages(first: 100) {
          totalCount pageInfo { hasNextPage endCursor }
          nodes { name versions targets stackNames numSpecs totalSize } } } }""",
    "packages with their specs": """
        { revision { packages(first: 50) { nodes { name
          specs(first: 20) { totalCount nodes { hash version compiler target variants size } }
        } } } }""",
    "a package page": """
        query($name: String!) {
          package(name: $name) { name versions targets stackNames
            inSeries { series { name } versions numSpecs firstSeen { ref } lastSeen { ref } } }
          revision { package(name: $name) { numSpecs totalSize
            coverage(by: [VERSION, STACK, TARGET]) { values numSpecs }
            dependentPackages(first: 20) { value numSpecs }
            impact { numSpecs sizeLabel stackCounts { value numSpecs } }
            seriesPackage { entries(first: 20) { nodes {
              revision { ref takenAt } kind versionsAdded versionsRemoved
              reasons { reason numSpecs } mainCauses { title numSpecs } } } }
            specs(first: 100) { nodes { hash short stackNames installedAt } } } } }""",
    "a search page with facets": """
        query($query: String!) { revision { specs(matching: $query, first: 50) { totalCount
          nodes { hash short stackNames size }
          packages: facet(by: PACKAGE) { value numSpecs }
          versions: facet(by: VERSION) { value numSpecs }
          compilers: facet(by: COMPILER) { value numSpecs }
          targets: facet(by: TARGET) { value numSpecs }
          stacks: facet(by: STACK) { value numSpecs }
          unknownNames { name nearestNames } nearMisses { fact values numSpecs } } } }""",
    "a spec page": """
        query($hash: String!) {
          hash(hash: $hash) { name version successor { hash short }
            spans { series { name } first { ref } last { ref } reasonGone } }
          spec(hash: $hash) { short variants packageHash stackNames size tarball
            revision { ref } package { name numSpecs }
            dependencies(first: 200, transitive: true) { totalCount edges { types virtuals
              node { name version hash spec { hash short } } } }
            dependents(first: 100) { totalCount nodes { name hash } } } }""",
    "two specs side by side": """
        query($a: String!, $b: String!) { compareSpecs(base: $a, head: $b) {
          base { short } head { short } facts { path before after } variantsAdded variantsRemoved
          dependencies { name before { hash } after { hash } path { name } }
          causes(first: 20) { nodes { title path { name } } }
          numSharedBelow numDifferingBelow differences(first: 200) { path before after } } }""",
    "1,000 specs of many fields": """
        { revision { specs(first: 1000) { pageInfo { endCursor } nodes {
          hash name version compiler operatingSystem platform target variants stackNames size
          tarball } } } }""",
    "1,000 changed specs with reasons": """
        query($base: String!, $head: String!) { compare(base: $base, head: $head) {
          specs(first: 1000) { totalCount nodes { hash name kind reason
            mainCause { title } counterpart { hash version } fields { path before after } } }
        } }""",
    "release notes and highlights": """
        query($base: String!, $head: String!) { compare(base: $base, head: $head) {
          highlights releaseNotes } }""",
    "the changes of stacks": """
        query($base: String!, $head: String!) { compare(base: $base, head: $head) {
          stackChanges { name kind numSpecsBefore numSpecsAfter sizeDelta
            addedPackageNames removedPackageNames }
          reasons { reason numSpecs } causeKinds { kind numCauses numSpecs } } }""",
    "the stacks of a revision": """
        { revision { stacks { name numPackages numSpecs totalSize
          packages(first: 20) { totalCount nodes { name numSpecs } } } } }""",
    "what a lock file lacks": """
        query($specs: [ConcreteSpecInput!]!) { revision { lookup(specs: $specs) {
          numWanted numFound missing { nodes { name hash version isRoot
            nearest { short } differences { path before after } lastSeen { ref } reason
            } } } } }""",
    "the revisions that cover a lock file": """
        query($specs: [ConcreteSpecInput!]!) { bestCovering(specs: $specs, first: 5) {
          revision { ref tagName } numFound numRootsFound
          missing(first: 20) { nodes { name version } }
        } }""",
    "a plan": """
        query($planned: [ConcreteSpecInput!]!) { plan(base: "develop", specs: $planned) {
          numSpecs numReused numToBuild sizeLabel unknownStacks
          toBuild(first: 100) { nodes { hash name reason mainCause { title } } }
          comparison { causes(first: 10) { nodes { title numSpecs } } } } }""",
    "a gate of a pipeline": """
        query($base: String!, $head: String!, $rules: [JSON!]!) {
          compare(base: $base, head: $head) { check(rules: $rules) {
            hasPassed rules { name level hasPassed message
              breaches(first: 10) { message packageName spec { short } } } } } }""",
    "twins and holes": """
        { revision { twins(first: 20) { totalCount nodes { name version numSpecs numSaved sizeSaved
            specs(first: 5) { nodes { hash } } causes(first: 3) { nodes { title } } } }
          holes(first: 50) { totalCount numWhole numAffected nodes { name hash numAffected } }
        } }""",
    "a cache of objects, fetched again": """
        query($ids: [ID!]!) { nodes(ids: $ids) { id __typename
          ... on Spec { hash short stackNames } ... on RevisionPackage { name versions numSpecs }
          ... on Revision { ref takenAt numSpecs } } }""",
    "a search box": """
        query($text: String!) {
          suggest(text: $text) { kind value detail url } destination(text: $text) }""",
}
"""Documents by what they show."""

_SPEC = {"hash": "a" * 32, "name": "a", "version": "1", "variants": ["+mpi", "~cuda", "build=x"]}

VARIABLES = {
    "base": "develop~1",
    "head": "develop",
    "ref": "develop",
    "name": "hdf5",
    "query": "hdf5 +mpi ^zlib",
    "hash": "a" * 32,
    "a": "a" * 32,
    "b": "b" * 32,
    "specs": [_SPEC] * 500,
    "planned": [_SPEC] * 500,
    "rules": [{"name": "a", "forbid": "package-removed"}, {"name": "b", "limit": "twins"}] * 5,
    "ids": ["a"] * 100,
    "text": "hdf5",
}
