"""Queries that, with those of the pages, select every field of every type."""

from strawberry.utils.str_converters import to_camel_case

from tests.model.listings import PLAIN_FACTS
from tests.schema import model_histories

REVISION = """fragment R on Revision {
  id tagName tag { name } digest takenAt confirmedAt publishedAt numPackages
  numSpecs numStacks
  totalSize numProven unproven { reason numSpecs }
  source { kind location version importer isSynthetic }
}"""
REVISIONS = f"""query($tag: String) {{
  tags {{ id name series {{ name }} latest {{ ...R }}
    revisions {{ totalCount nodes {{ digest }} }} }}
  tag(name: "develop") {{ name series {{ name }} }}
  revisions(tag: $tag) {{
    totalCount pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor startIndex }}
    nodes {{ ...R previous {{ id }} next {{ id }} }} edges {{ cursor node {{ id }} }}
  }}
}} {REVISION}"""
PACKAGES = """query($ref: String!, $name: String!, $filter: SpecFilter, $order: PackageOrder) {
  revision(ref: $ref) {
    package(name: $name) { ...P revision { digest } specs(first: 1000) { nodes { hash } } }
    packages(filter: $filter, orderBy: $order) {
      totalCount pageInfo { hasNextPage } nodes { ...P } edges { cursor node { name } }
    }
  }
}
fragment P on RevisionPackage {
  name versions targets stackNames
  stacks { name } numSpecs totalSize
  coverage(by: [VERSION, STACK], first: 100) { values numSpecs }
  dependentPackages(first: 100) { value numSpecs }
}"""
SPEC = f"fragment S on Spec {{ {' '.join(map(to_camel_case, PLAIN_FACTS))} short }}"
SPECS = f"""query($ref: String!, $hash: String!) {{
  spec(hash: $hash) {{ hash }}
  revision(ref: $ref) {{
    spec(hash: $hash) {{ ...S id package {{ name }} revision {{ digest }} }}
    specs(first: 1000) {{
      totalCount pageInfo {{ hasNextPage }} unknownNames {{ name nearestNames }}
      nearMisses {{ fact values numSpecs example {{ hash }} }}
      nodes {{ ...S stackNames stacks {{ name }} package {{ name numSpecs }} }}
      edges {{ cursor node {{ hash }} }}
      packages: facet(by: PACKAGE) {{ ...F }}
      versions: facet(by: VERSION) {{ ...F }}
      compilers: facet(by: COMPILER) {{ ...F }}
      operatingSystems: facet(by: OPERATING_SYSTEM) {{ ...F }}
      platforms: facet(by: PLATFORM) {{ ...F }}
      targets: facet(by: TARGET) {{ ...F }}
      stacks: facet(by: STACK) {{ ...F }}
    }}
  }}
}} fragment F on FacetCount {{ value numSpecs }} {SPEC}"""
STACKS = """query($ref: String!, $name: String!) {
  revision(ref: $ref) {
    stacks { ...T }
    stack(name: $name) {
      ...T id revision { digest } packages { nodes { name } } specs(first: 1000) { nodes { hash } }
    }
  }
}
fragment T on Stack { name numPackages numSpecs totalSize }"""
COMPARISON = f"""query($base: String!, $head: String!) {{
  compare(base: $base, head: $head) {{
    id base {{ digest }} head {{ digest }} baseStack headStack leftOut releaseNotes
    addedHashes removedHashes changedHashes
    summary {{
      numPackagesAdded numPackagesRemoved numPackagesUpgraded numPackagesDowngraded
      numPackagesVersionsChanged numPackagesBuildsChanged numPackagesMoreBuilds
      numPackagesFewerBuilds numPackagesChanged numPackagesUnchanged
      numSpecsAdded numSpecsRemoved numSpecsChanged numSpecsUnchanged numBinariesReplaced
      numStacksAdded numStacksRemoved
      numPackagesBefore numPackagesAfter numSpecsBefore numSpecsAfter
      numStacksBefore numStacksAfter totalSizeBefore totalSizeAfter totalSizeDelta
    }}
    packages {{
      totalCount pageInfo {{ hasNextPage }} edges {{ cursor node {{ name }} }}
      nodes {{
        id name kind versionsAdded versionsRemoved numSpecsAdded numSpecsRemoved numSpecsChanged
        sizeDelta mainCause {{ id }}
        before {{ name numSpecs }} after {{ name numSpecs }} }}
    }}
    specs(first: 1000) {{
      totalCount pageInfo {{ hasNextPage }} edges {{ cursor node {{ hash }} }}
      nodes {{
        id kind hash name before {{ ...S }} after {{ ...S }} counterpart {{ hash }}
        fields {{ path before after }}
      }}
    }}
    stackChanges {{ ...T }}
  }}
}}
fragment T on StackChange {{
  id name kind numSpecsBefore numSpecsAfter sizeDelta numSpecsAdded numSpecsRemoved
  addedPackageNames removedPackageNames
}}
{SPEC}"""
CAUSES = """query($base: String!, $head: String!, $by: [CoverageDimension!]!) {
  compare(base: $base, head: $head) {
    summary { numSpecsRebuilt numSpecsReplaced numCellsLost numCellsGained }
    causes(first: 20) {
      totalCount pageInfo { hasNextPage } edges { cursor node { id } }
      nodes { ...C together { id } numTogether specs(first: 50) { totalCount nodes { hash } }
        involved: specs(involved: true, first: 50) { nodes { hash } } }
    }
    causeKinds { kind numCauses numSpecs }
    reasons { reason numSpecs }
    whyUnknown
    pairs: specs(first: 50, pairsOnce: true) { totalCount nodes { hash counterpart { hash } } }
    cause(kind: VERSION, package: "zlib", before: "1.3.1", after: "1.3.2") {
      id title
    }
    specs(first: 50) { nodes {
      hash kind reason counterpart { hash }
      mainCause { title } involvedCauses { id title }
      path { name before { hash } after { hash } }
    } }
    coverage(by: $by, first: 100) {
      totalCount pageInfo { hasNextPage }
      edges { cursor node { values } }
      nodes { kind packageName values numSpecs nearestSpecs { hash } }
    }
  }
}
fragment C on Cause {
  id kind packageName valueBefore valueAfter title whyUnknown facts { path before after }
  numSpecs numInvolved packageNames package { id name }
}"""
MAIN_CAUSES = """query($name: String!) { package(name: $name) { seriesPackage { entries {
  pageInfo { hasNextPage } nodes {
  comparison { base { digest } head { digest } }
  mainCauses { title kind packageName valueBefore valueAfter numSpecs }
} } } } }"""
CHECK = """query($base: String!, $head: String!, $rules: [JSON!]!) {
  compare(base: $base, head: $head) { check(rules: $rules) {
    hasPassed
    rules { name kind level hasPassed message numBreaches
      breaches(first: 10) { message packageName numSpecs spec { hash } } }
  } }
}"""
HIGHLIGHTS = """query($base: String!, $head: String!) {
  compare(base: $base, head: $head) { highlights }
}"""
OTHERS = """query($ids: [ID!]!) {
  node(id: "") { id }
  nodes(ids: $ids) {
    ... on RevisionPackage { id package { id } }
    ... on Spec { history { id } dependencies { nodes { hash } edges { cursor } } }
  }
  packages(first: 1) { edges { cursor node { name } } }
  package(name: "a") {
    best { package { id } }
    availability(target: "x86_64") { spans { last { ref } } }
  }
  revision { lookup(specs: []) {
    found { nodes { hash } }
    missing { totalCount pageInfo { hasNextPage } edges { cursor node { hash } } }
  } }
}"""
EFFECT = """fragment E on CommitEffect {
  id commit { ...C } level isTakenBack causes(first: 5) { nodes { title } }
  numSpecs numInvolved stackNames
  comparison { id }
}
fragment C on Commit {
  id oid committedAt subject webUrl pullRequest { number webUrl }
  changedPackageNames changedStackNames
  spack { path before after } isSweeping
}"""
COMMITS = f"""query($base: String!, $head: String!) {{
  compare(base: $base, head: $head) {{
    head {{ recipes {{ repository oid foundBy webUrl }} }}
    commits(first: 9) {{
      totalCount pageInfo {{ hasNextPage }} edges {{ cursor node {{ level }} }} nodes {{ ...E }}
    }}
    causes(first: 9) {{
      nodes {{ title numSpecs numInvolved commits(first: 3) {{ nodes {{ ...E }} }} }}
    }}
  }}
}} {EFFECT}"""
COMMIT = f"""query($oid: String!) {{
  commit(oid: $oid) {{ ...C effects(first: 2) {{ totalCount nodes {{ ...E }} }} }}
}} {EFFECT}"""
HOLES = """query($ref: String!, $after: String, $first: Int!) {
  revision(ref: $ref) { holes(first: 2, after: $after) {
    totalCount numWhole numAffected numUnknown pageInfo { hasNextPage endCursor }
    edges { cursor node { hash } }
    nodes {
      hash name version numAffected affected(first: $first) { hash } goneIn { tagName takenAt }
    }
  } }
}"""
IMPACT = """query($ref: String!, $name: String!) {
  revision(ref: $ref) { impact(packages: [$name]) { numSpecs } package(name: $name) { impact {
    numSpecs numPackages size sizeLabel stackCounts { value numSpecs }
    targetCounts { value numSpecs }
    outcome {
      numSpecs causes(first: 2) { nodes { title } }
      comparison { base { tagName } head { takenAt } }
    }
  } } }
}"""
TWINS = """query($ref: String!, $after: String) {
  revision(ref: $ref) { twins(first: 1, after: $after) {
    totalCount numSaved sizeSaved pageInfo { hasNextPage endCursor }
    edges { cursor node { version } }
    causes(first: 3) { nodes {
      id kind packageName valueBefore valueAfter title numSpecs numInvolved
      commits(first: 1) { nodes { level } }
      specs(first: 5) { nodes { id hash kind reason counterpart { hash } path { name } } }
    } }
    nodes {
      id name version numSpecs specs(first: 9) { nodes { hash } }
      causes(first: 2) { nodes { id title } }
      numSaved sizeSaved
    }
  } }
}"""
SERIES_CAUSES = """query($of: String!) {
  series(name: $of) {
    causes(first: 20, by: [PACKAGE, KIND]) {
      totalCount pageInfo { hasNextPage } edges { cursor node { packageName } }
      nodes { packageName package { name } causeKind numRevisions numSpecs numInvolved size
        points(last: 50) { revision { digest } numSpecs numInvolved } }
    }
    byCommit: causes(first: 5, by: [COMMIT]) { nodes { commit { oid } numSpecs } }
  }
}"""
TWO_SPECS = """query($hash: String!, $base: String, $head: String) {
  compareSpecs(base: $hash, head: $hash, baseRef: $base, headRef: $head) {
    base { hash revision { digest } } head { hash revision { digest } }
    facts { path before after } variants { path before after } variantsAdded variantsRemoved
    dependencies(first: 50) {
      name before { name hash version } after { hash } typesBefore typesAfter virtualsBefore
      virtualsAfter path { name before { hash } after { hash } }
    }
    causes(first: 50) {
      totalCount
      nodes {
        id title kind packageName valueBefore valueAfter numSpecs facts { path } path { name }
      }
    }
    numSharedBelow numDifferingBelow numOnlyBelowBase numOnlyBelowHead
    differences(first: 100) { path before after }
  }
}"""
SUGGEST = """query($text: String!, $ref: String, $kinds: [SuggestionKind!], $first: Int! = 10) {
  destination(text: $text)
  suggest(text: $text, ref: $ref, kinds: $kinds, first: $first) { kind value detail url }
}"""
PLAN = """query(
  $base: String!, $planned: [ConcreteSpecInput!]!, $planned_stacks: [String!], $stack: String
) {
  plan(base: $base, specs: $planned, stacks: $planned_stacks) {
    numSpecs numReused numExternal numToBuild sizeLabel unknownStacks
    toBuild(stack: $stack, first: 50) {
      totalCount pageInfo { hasNextPage } edges { cursor node { hash } }
      nodes {
        hash name reason counterpart { hash } mainCause { title } after { version stackNames }
      }
    }
    comparison { id causes(first: 9) { totalCount nodes { title numSpecs } } }
  }
}"""
URLS = """query Urls($base: String!, $head: String!, $hash: String!, $other: String!) {
  allSeries { url } tags { url }
  packages(first: 2) { nodes { url } }
  hash(hash: $hash) { url spec { url } }
  revision(ref: $head) {
    url
    packages(first: 2) { nodes { url } }
    specs(first: 2) { nodes { url } }
    stacks { url }
  }
  compare(base: $base, head: $head) { url causes(first: 2) { nodes { url } } }
  narrowed: compare(base: $base, head: $head, stack: "e4s") { url }
  compareSpecs(base: $hash, head: $other) { url causes { nodes { url } } }
  suggest(text: "h") { url }
  commit(oid: "0000000") { url }
  build { version commit }
  limits
}"""
DOCUMENTS = tuple(
    text
    for text in [*globals().values(), *vars(model_histories).values()]
    if isinstance(text, str) and text.startswith(("query", "{\n"))
)
"""All of these, and those of histories."""
