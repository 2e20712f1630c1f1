"""The queries of ``cost``, one for each kind of work: of a revision, a comparison, a catalog."""

_NAMES = " ".join(f'"p{number}"' for number in range(400))
_IDS = " ".join(f'"U3BlYzox{number:04}"' for number in range(400))
_HASHES = " ".join(f'"{chr(97 + it // 20) * 31}{chr(97 + it % 20)}"' for it in range(400))
_REFS = " ".join(
    f'a{number}: revision(ref: "develop-{number}x") {{ tagName }}' for number in range(40)
)

_WANTED = " ".join(
    f'{{hash: "{chr(97 + number // 26)}{chr(97 + number % 26):a<31}", name: "{name}", '
    'version: "1.2"}'
    for number, name in enumerate(("acts", "adios2", "hdf5", "zlib") * 24)
)

IN_REVISION = {
    "unit: a page of 1,000 specs": "specs(first: 1000) { nodes { hash name version compiler } }",
    "one number": "numSpecs",
    "1,000 short forms": "specs(first: 1000) { nodes { short } }",
    "lists of texts": "specs(first: 1000) { nodes { variants stackNames } }",
    "stacks by name": "specs(first: 1000) { nodes { stackNames } }",
    "stacks of specs": "specs(first: 1000) { nodes { stacks { name } } }",
    "stacks of packages": "packages(first: 1000) { nodes { stacks { name } } }",
    "a filter": 'specs(filter: {compilers: ["gcc"]}) { totalCount }',
    "an order": "specs(orderBy: {field: SIZE}) { nodes { hash } }",
    "a query": 'specs(matching: "%gcc") { totalCount }',
    "two queries of dependencies": 'specs(matching: "^acts ^adios2") { totalCount }',
    "unknown names": 'specs(matching: "^zlip ^py-nunpy ^ninjja") { unknownNames { name '
    "nearestNames } }",
    "facets": "specs(first: 0) { packages: facet(by: PACKAGE) { value numSpecs } versions: "
    "facet(by: VERSION) { value numSpecs } stacks: facet(by: STACK) { value numSpecs } }",
    "stacks": "stacks { name numSpecs numPackages totalSize }",
    "packages of stacks": "stacks { packages(first: 0) { totalCount } }",
    "1,000 packages": "packages(first: 1000) { nodes { name versions stackNames } }",
    "pages within pages": "packages(first: 1000) { nodes { specs(first: 20) { nodes { hash "
    "version } } } }",
    "filters within pages": "packages(first: 1000) { nodes { specs(first: 0, filter: {stacks: "
    '["e4s"]}) { totalCount } } }',
    "facets within pages": "packages(first: 200) { nodes { specs(first: 0) { facet(by: STACK) { "
    "value numSpecs } } } }",
    "dependencies": "specs(first: 200) { nodes { dependencies { nodes { name } } } }",
    "walks": "specs(first: 100) { nodes { dependents(transitive: true) { totalCount } } }",
    "objects one by one": "packages(first: 1000) { nodes { revision { numSpecs } } }",
    "cursors": "specs(first: 1000) { edges { cursor } pageInfo { endCursor } }",
    "ids": "specs(first: 1000) { nodes { id tarball packageHash } }",
    "a facet of a filter": 'specs(first: 0, filter: {hashPrefix: "a"}) { facet(by: VERSION) { '
    "value } }",
    "many values in a filter": f"specs(first: 0, filter: {{packages: [{_NAMES}]}}) "
    "{ totalCount }",
    "specs of a stack": 'stack(name: "e4s") { specs(first: 0) { totalCount } }',
    "packages that are searched": 'packages(filter: {search: "a"}, first: 0) { totalCount }',
    "packages of a compiler": 'packages(filter: {compilers: ["gcc"]}, first: 0) { totalCount }',
    "sums of packages": "packages(first: 1000) { nodes { numSpecs totalSize } }",
    "values of packages": "packages(first: 1000) { nodes { targets versions } }",
    "ordered pages within pages": "packages(first: 200) { nodes { specs(first: 5, orderBy: "
    "{field: SIZE}) { nodes { hash } } } }",
    "queries within pages": 'packages(first: 500) { nodes { specs(first: 0, matching: "%gcc") { '
    "totalCount } } }",
    "histories of specs": "specs(first: 500) { nodes { history { version spans { series { name "
    "} isCurrent "
    "reasonCame } } } }",
    "histories of specs with revisions": "specs(first: 200) { nodes { history { spans { first { "
    "tagName takenAt } goneIn { tagName } } } } }",
    "histories of packages": "packages(first: 100) { nodes { seriesPackage { lastSeen { "
    "tagName } entries { "
    "nodes { kind versionsAdded reasons { reason numSpecs } } } } } }",
    "a lookup": f"lookup(specs: [{_WANTED}]) {{ numFound numRootsFound }}",
    "what is nearest": f"lookup(specs: [{_WANTED}]) {{ found {{ nodes {{ hash }} }} missing {{ "
    "nodes { hash nearest { hash version } differences { path before after } } } }",
    "when specs went": f"lookup(specs: [{_WANTED}]) {{ missing {{ "
    "nodes { hash lastSeen { tagName } goneIn { tagName } reason } } }",
    "specs of packages that are searched": 'specs(filter: {search: "a"}, first: 0) { totalCount }',
    "coverage of packages": "packages(first: 100) { nodes { coverage(by: [VERSION, TARGET, "
    "STACK], first: 50) { values numSpecs } } }",
    "dependents of packages": "packages(first: 100) { nodes { dependentPackages(first: 50) { value "
    "numSpecs } } }",
    "holes": "holes(first: 50) { totalCount nodes { hash numAffected affected(first: 20) { hash } "
    "} }",
    "impacts of packages": "packages(first: 15) { nodes { impact { numSpecs size stackCounts { "
    "value numSpecs } } } }",
    "twins": "twins(first: 50) { numSaved causes(first: 50) { nodes { title numSpecs } } nodes "
    "{ name "
    "numSaved specs(first: 5) { nodes { hash } } } }",
    "edges of dependencies": "specs(first: 200) { nodes { dependencies { edges { types virtuals "
    "node { name hash version spec { version } } } } } }",
}
_RULES = ", ".join(
    f'{{name: "{number}", forbid: "spec-removed", except: ["x{number}-*"]}}' for number in range(10)
)
_GLOBS = ", ".join(f'"*a*{number}"' for number in range(50))
OF_COMPARISON = {
    "changed packages": "packages(first: 1000) { nodes { name kind } }",
    "few changed packages": "packages(first: 5) { totalCount }",
    "changed packages, both sides": "packages(first: 1000) { nodes { before { versions } after { "
    "versions } versionsAdded } }",
    "ordered changed packages": "packages(orderBy: {field: KIND, direction: DESC}, first: 1000) { "
    "nodes { name kind } }",
    "searched packages": 'packages(search: "a", first: 0) { totalCount }',
    "ordered changed specs": "specs(orderBy: {field: KIND, direction: DESC}, first: 1000) { nodes "
    "{ hash kind } }",
    "changed specs": "specs(first: 1000) { nodes { hash kind fields { path } } }",
    "changed specs, both sides": "specs(first: 1000) { nodes { before { short } after { short } } "
    "}",
    "filtered specs": 'specs(filter: {compilers: ["gcc"]}, kinds: [ADDED]) { totalCount }',
    "changed stacks": "stackChanges { name addedPackageNames removedPackageNames }",
    "a summary": "summary { numSpecsAdded numPackagesAdded }",
    "what the summary counts of reasons": "summary { numSpecsRebuilt numSpecsReplaced }",
    "what the summary counts of cells": "summary { numCellsLost numCellsGained }",
    "causes": "causes(first: 1000) { nodes { id title kind numSpecs numInvolved facts { path "
    "before after } } }",
    "one cause": 'cause(kind: VERSION, package: "hdf5", before: "1", after: "2") { id }',
    "kinds of causes": "whyUnknown causeKinds { kind numCauses numSpecs }",
    "counts of reasons": "reasons { reason numSpecs }",
    "packages of causes": "causes(first: 200) { nodes { packageNames together { title } } }",
    "specs of causes": "causes(first: 50) { nodes { specs(first: 20) { totalCount nodes { hash "
    "name } } } }",
    "all specs of causes": "causes(first: 50) { nodes { specs(first: 0, involved: true) { "
    "totalCount } } }",
    "reasons": "specs(first: 1000) { nodes { hash reason } }",
    "specs of reasons": "specs(first: 0, reasons: [REBUILT, NEW_PACKAGE]) { totalCount }",
    "counterparts": "specs(first: 1000) { nodes { counterpart { hash } mainCause { title } } }",
    "causes of specs": "specs(first: 1000) { nodes { involvedCauses { title } } }",
    "paths to causes": "specs(first: 1000) { nodes { path { name } } }",
    "cells by stacks": "coverage(by: [STACK], first: 100) { nodes { packageName values kind "
    "numSpecs "
    "} }",
    "cells by everything": "coverage(by: [STACK, TARGET, COMPILER, OPERATING_SYSTEM], first: 100) "
    "{ nodes { values } }",
    "nearest specs to cells": "coverage(by: [STACK, TARGET], first: 300) { nodes { "
    "nearestSpecs { hash "
    "version } } }",
    "facts of causes": "causes(first: 1000) { nodes { facts { path } } }",
    "causes of causes": "causes(first: 1000) { nodes { together { title } } }",
    "cells by all dimensions": "coverage(by: [STACK, TARGET, OPERATING_SYSTEM, PLATFORM, "
    "COMPILER, COMPILER_NAME, VERSION], first: 0) { totalCount }",
    "a rule": 'check(rules: [{name: "a", forbid: "package-removed"}]) { hasPassed }',
    "narrowed rules": f"check(rules: [{_RULES}]) {{ rules {{ numBreaches }} }}",
    "globs of a rule": 'check(rules: [{name: "a", forbid: "version-removed", '
    f"except: [{_GLOBS}]}}]) {{ hasPassed }}",
    "breaches of a rule": 'check(rules: [{name: "a", forbid: "spec-removed"}]) { rules { '
    "breaches(first: 1000) { message packageName numSpecs spec { hash short } } } }",
    "release notes": "releaseNotes",
    "release notes in HTML": "releaseNotes(format: HTML)",
}
RULES = {
    "rules about cells": [
        {
            "name": "a",
            "forbid": "coverage-lost",
            "for-each": ["stack", "target", "operating-system", "compiler"],
        },
        {"name": "b", "limit": "coverage-lost", "at-most": "5 %"},
    ],
    "rules with queries": [
        {"name": "a", "require": "hdf5 ^openmpi ^zlib", "for-each": ["target"]},
        {"name": "b", "forbid": "spec-removed", "matching": "%gcc"},
    ],
}
"""Rules on a comparison whose keys cannot be written in a document."""

OF_CATALOG = {
    "suggestions": 'suggest(text: "p") { value detail url }',
    "suggestions for a typo": 'suggest(text: "zlip", first: 100) { value }',
    "what holds most": f"bestCovering(specs: [{_WANTED}]) {{ numFound }}",
    "tags": "tags { name series { name } latest { numSpecs } }",
    "series": "allSeries { name latest { tagName } revisions { totalCount } }",
    "growth": "allSeries { growth { numSpecs numSpecsAdded numSpecsRemoved } }",
    "growth with revisions": "allSeries { growth { revision { tagName takenAt } numSpecs } }",
    "growth of the newest": "allSeries { latest { growthPoint { numSpecsAdded } } }",
    "growth of revisions": "revisions(first: 1000) { nodes { growthPoint { revision { tagName "
    "} numSpecsAdded numSpecsRemoved "
    "numSpecsRebuilt } } }",
    "revisions that hold nothing": f"revisionsHolding(hashes: [{_HASHES}]) {{ totalCount }}",
    "a hash": f'hash(hash: "{"a" * 32}") {{ version }}',
    "introspection": "__schema { types { name fields { name type { name } } } }",
    "ids of nothing": f"nodes(ids: [{_IDS}]) {{ id }}",
}
DOCUMENTS = {
    "unknown refs": f"{{ {_REFS} }}",
}
