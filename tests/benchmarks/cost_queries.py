"""The queries of ``cost``, one for each kind of work: of a revision, a comparison, a catalog."""

_NAMES = " ".join(f'"p{number}"' for number in range(400))
_IDS = " ".join(f'"U3BlYzox{number:04}"' for number in range(400))
_HASHES = " ".join(f'"{chr(97 + it // 20) * 31}{chr(97 + it % 20)}"' for it in range(400))
_REFS = " ".join(f'a{number}: revision(ref: "develop-{number}x") {{ tag }}' for number in range(40))

_WANTED = " ".join(
    f'{{hash: "{chr(97 + number // 26)}{chr(97 + number % 26):a<31}", name: "{name}", '
    'version: "1.2"}'
    for number, name in enumerate(("acts", "adios2", "hdf5", "zlib") * 24)
)

IN_REVISION = {
    "unit: a page of 1,000 specs": "specs(first: 1000) { nodes { hash name version compiler } }",
    "cachelog: one number": "numSpecs",
    "cachelog: 1,000 short forms": "specs(first: 1000) { nodes { short } }",
    "cachelog: lists of texts": "specs(first: 1000) { nodes { variants stacks } }",
    "cachelog: stacks by name": "specs(first: 1000) { nodes { stackNames } }",
    "cachelog: stacks of specs": "specs(first: 1000) { nodes { stackNodes { name } } }",
    "cachelog: stacks of packages": "packages(first: 1000) { nodes { stackNodes { name } } }",
    "cachelog: a filter": 'specs(filter: {compilers: ["gcc"]}) { totalCount }',
    "cachelog: an order": "specs(orderBy: {field: SIZE}) { nodes { hash } }",
    "cachelog: a query": 'specs(matching: "%gcc") { totalCount }',
    "cachelog: two queries of dependencies": 'specs(matching: "^acts ^adios2") { totalCount }',
    "cachelog: unknown names": 'specs(matching: "^zlip ^py-nunpy ^ninjja") '
    "{ unknownNames { name nearest } }",
    "cachelog: facets": "specs(first: 0) { facets { packages { value numSpecs } "
    "versions { value numSpecs } stacks { value numSpecs } } }",
    "cachelog: stacks": "stacks { name numSpecs numPackages totalSize }",
    "cachelog: packages of stacks": "stacks { packages(first: 0) { totalCount } }",
    "cachelog: 1,000 packages": "packages(first: 1000) { nodes { name versions stacks } }",
    "cachelog: counts by stack": "packages(first: 1000) { nodes { stackCounts "
    "{ stack numSpecs } } }",
    "cachelog: pages within pages": "packages(first: 1000) { nodes { specs(first: 20) "
    "{ nodes { hash version } } } }",
    "cachelog: filters within pages": "packages(first: 1000) { nodes { "
    'specs(first: 0, filter: {stacks: ["e4s"]}) { totalCount } } }',
    "cachelog: facets within pages": "packages(first: 200) { nodes { specs(first: 0) "
    "{ facets { stacks { value numSpecs } } } } }",
    "cachelog: dependencies": "specs(first: 200) { nodes { dependencies { nodes { name } } } }",
    "cachelog: walks": "specs(first: 100) { nodes { dependents(transitive: true) "
    "{ totalCount } } }",
    "cachelog: objects one by one": "packages(first: 1000) { nodes { revision { numSpecs } } }",
    "cachelog: cursors": "specs(first: 1000) { edges { cursor } pageInfo { endCursor } }",
    "cachelog: ids": "specs(first: 1000) { nodes { id tarball packageHash } }",
    "cachelog: a facet of a filter": 'specs(first: 0, filter: {hashPrefix: "a"}) '
    "{ facets { versions { value } } }",
    "cachelog: many values in a filter": f"specs(first: 0, filter: {{packages: [{_NAMES}]}}) "
    "{ totalCount }",
    "cachelog: specs of a stack": 'stack(name: "e4s") { specs(first: 0) { totalCount } }',
    "cachelog: packages that are searched": 'packages(filter: {search: "a"}, first: 0) '
    "{ totalCount }",
    "cachelog: packages of a compiler": 'packages(filter: {compilers: ["gcc"]}, first: 0) '
    "{ totalCount }",
    "cachelog: sums of packages": "packages(first: 1000) { nodes { numSpecs totalSize } }",
    "cachelog: values of packages": "packages(first: 1000) "
    "{ nodes { compilers targets platforms } }",
    "cachelog: ordered pages within pages": "packages(first: 200) { nodes { "
    "specs(first: 5, orderBy: {field: SIZE}) { nodes { hash } } } }",
    "cachelog: queries within pages": "packages(first: 500) { nodes { "
    'specs(first: 0, matching: "%gcc") { totalCount } } }',
    "cachelog: histories of specs": "specs(first: 500) { nodes { history { version spans { "
    "series isCurrent reasonCame } } } }",
    "cachelog: histories of specs with revisions": "specs(first: 200) { nodes { history { "
    "spans { first { tag takenAt } goneIn { tag } } } } }",
    "cachelog: histories of packages": "packages(first: 100) { nodes { history { lastSeen { tag } "
    "entries { nodes { kind versionsAdded reasons { reason count } } } } } }",
    "cachelog: a lookup": f"lookup(specs: [{_WANTED}]) {{ numFound numRootsFound }}",
    "cachelog: what is nearest": f"lookup(specs: [{_WANTED}]) {{ found {{ hash }} missing {{ "
    "hash nearest { hash version } differences { path before after } } }",
    "cachelog: when specs went": f"lookup(specs: [{_WANTED}]) {{ missing {{ "
    "hash lastSeen { tag } goneIn { tag } reason } }",
    "cachelog: specs of packages that are searched": 'specs(filter: {search: "a"}, first: 0) '
    "{ totalCount }",
    "cachelog: coverage of packages": "packages(first: 100) { nodes { "
    "coverage(by: [VERSION, TARGET, STACK], first: 50) { values numSpecs } } }",
    "cachelog: dependents of packages": "packages(first: 100) { nodes { "
    "dependents(first: 50) { name numSpecs } } }",
    "cachelog: holes": "holes(first: 50) { totalCount nodes { hash numAffected "
    "affected(first: 20) { hash } } }",
    "cachelog: impacts of packages": "packages(first: 15) { nodes { impact { numSpecs size "
    "stackCounts { stack numSpecs } } } }",
    "cachelog: twins": "twins(first: 50) { numSaved causes(first: 50) { title numSpecs } nodes { "
    "package numSaved specs(first: 5) { hash } } }",
    "cachelog: edges of dependencies": "specs(first: 200) { nodes { dependencies { "
    "edges { types virtuals node { name hash version spec { version } } } } } }",
}
_RULES = ", ".join(
    f'{{name: "{number}", forbid: "spec-removed", except: ["x{number}-*"]}}' for number in range(10)
)
_GLOBS = ", ".join(f'"*a*{number}"' for number in range(50))
OF_COMPARISON = {
    "cachelog: changed packages": "packages(first: 1000) { nodes { name kind } }",
    "cachelog: few changed packages": "packages(first: 5) { totalCount }",
    "cachelog: changed packages, both sides": "packages(first: 1000) "
    "{ nodes { before { versions } after { versions } versionsAdded } }",
    "cachelog: ordered changed packages": "packages(orderBy: {field: KIND, direction: DESC}, "
    "first: 1000) { nodes { name kind } }",
    "cachelog: searched packages": 'packages(search: "a", first: 0) { totalCount }',
    "cachelog: ordered changed specs": "specs(orderBy: {field: KIND, direction: DESC}, "
    "first: 1000) { nodes { hash kind } }",
    "cachelog: changed specs": "specs(first: 1000) { nodes { hash kind fields { path } } }",
    "cachelog: changed specs, both sides": "specs(first: 1000) "
    "{ nodes { before { short } after { short } } }",
    "cachelog: filtered specs": 'specs(filter: {compilers: ["gcc"]}, kinds: [ADDED]) '
    "{ totalCount }",
    "cachelog: changed stacks": "stacks { name packagesAdded packagesRemoved }",
    "cachelog: a summary": "summary { specsAdded packagesAdded }",
    "cachelog: what the summary counts of reasons": "summary { specsRebuilt specsReplaced }",
    "cachelog: what the summary counts of cells": "summary { coverageLost coverageGained }",
    "cachelog: causes": "causes(first: 1000) { nodes { id title kind numSpecs numInvolved "
    "facts { path before after } } }",
    "cachelog: one cause": 'cause(kind: VERSION, package: "hdf5", before: "1", after: "2") { id }',
    "cachelog: kinds of causes": "whyUnknown causeKinds { kind numCauses numSpecs }",
    "cachelog: counts of reasons": "reasons { reason count }",
    "cachelog: packages of causes": "causes(first: 200) { nodes { packages together { title } } }",
    "cachelog: specs of causes": "causes(first: 50) { nodes { specs(first: 20) "
    "{ totalCount nodes { hash name } } } }",
    "cachelog: all specs of causes": "causes(first: 50) { nodes { specs(first: 0, involved: true) "
    "{ totalCount } } }",
    "cachelog: reasons": "specs(first: 1000) { nodes { hash reason } }",
    "cachelog: specs of reasons": "specs(first: 0, reasons: [REBUILT, NEW_PACKAGE]) { totalCount }",
    "cachelog: counterparts": "specs(first: 1000) { nodes { counterpart { hash } "
    "cause { title } } }",
    "cachelog: causes of specs": "specs(first: 1000) { nodes { causes { title } } }",
    "cachelog: paths to causes": "specs(first: 1000) { nodes { path { name } } }",
    "cachelog: cells by stacks": "coverage(by: [STACK], first: 100) { nodes { package values kind "
    "numSpecs } }",
    "cachelog: cells by everything": "coverage(by: [STACK, TARGET, COMPILER, OPERATING_SYSTEM], "
    "first: 100) { nodes { values } }",
    "cachelog: nearest specs to cells": "coverage(by: [STACK, TARGET], first: 300) "
    "{ nodes { nearest { hash version } } }",
    "cachelog: facts of causes": "causes(first: 1000) { nodes { facts { path } } }",
    "cachelog: causes of causes": "causes(first: 1000) { nodes { together { title } } }",
    "cachelog: cells by all dimensions": "coverage(by: [STACK, TARGET, OPERATING_SYSTEM, "
    "PLATFORM, COMPILER, COMPILER_NAME, VERSION], first: 0) { totalCount }",
    "cachelog: a rule": 'check(rules: [{name: "a", forbid: "package-removed"}]) { passed }',
    "cachelog: narrowed rules": f"check(rules: [{_RULES}]) {{ rules {{ numBreaches }} }}",
    "cachelog: globs of a rule": 'check(rules: [{name: "a", forbid: "version-removed", '
    f"except: [{_GLOBS}]}}]) {{ passed }}",
    "cachelog: rules about cells": 'check(rules: [{name: "a", forbid: "coverage-lost", forEach: '
    '[STACK, TARGET, OPERATING_SYSTEM, COMPILER]}, {name: "b", limit: "coverage-lost", '
    'atMost: "5 %"}]) { passed }',
    "cachelog: rules with queries": 'check(rules: [{name: "a", require: "hdf5 ^openmpi ^zlib", '
    'forEach: [TARGET]}, {name: "b", forbid: "spec-removed", matching: "%gcc"}]) { passed }',
    "cachelog: breaches of a rule": 'check(rules: [{name: "a", forbid: "spec-removed"}]) '
    "{ rules { breaches(first: 1000) { message package numSpecs spec { hash short } } } }",
    "cachelog: release notes": "releaseNotes",
    "cachelog: release notes as JSON": "releaseNotes(format: JSON)",
}
OF_CATALOG = {
    "cachelog: suggestions": 'suggest(text: "p") { value detail url }',
    "cachelog: suggestions for a typo": 'suggest(text: "zlip", first: 100) { value }',
    "cachelog: what holds most": f"bestCovering(specs: [{_WANTED}]) {{ numFound }}",
    "cachelog: tags": "tags { name series latest { numSpecs } }",
    "cachelog: series": "allSeries { name latest { tag } revisions { totalCount } }",
    "cachelog: growth": "allSeries { growth { numSpecs specsAdded specsRemoved } }",
    "cachelog: growth with revisions": "allSeries { growth { revision { tag takenAt } "
    "comparison { id } numSpecs } }",
    "cachelog: growth of the newest": "allSeries { latest { growth { specsAdded } } }",
    "cachelog: growth of revisions": "revisions(first: 1000) { nodes { growth { tag specsAdded "
    "specsRemoved specsRebuilt } } }",
    "cachelog: revisions that hold nothing": f"revisionsHolding(hashes: [{_HASHES}]) "
    "{ totalCount }",
    "cachelog: a hash": f'hash(hash: "{"a" * 32}") {{ version }}',
    "cachelog: introspection": "__schema { types { name fields { name type { name } } } }",
    "cachelog: ids of nothing": f"nodes(ids: [{_IDS}]) {{ id }}",
}
DOCUMENTS = {
    "cachelog: an event": "subscription { revisionPublished { id tag digest numSpecs } }",
    "cachelog: unknown refs": f"{{ {_REFS} }}",
}
