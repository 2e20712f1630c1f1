"""Queries that, with those of the pages, select every field of every type."""

from strawberry.utils.str_converters import to_camel_case

from tests.model.listings import PLAIN_FACTS
from tests.schema import model_histories

REVISION = """fragment R on Revision {
  id tag tagNode { name } digest takenAt confirmedAt publishedAt numPackages
  numSpecs numKnownStacks
  totalSize numProven unproven { reason numSpecs }
  source { kind location version importer synthetic }
}"""
REVISIONS = f"""query($tag: String) {{
  tags {{ id name series latest {{ ...R }} revisions {{ totalCount nodes {{ digest }} }} }}
  tag(name: "develop") {{ name series }}
  revisions(tag: $tag) {{
    totalCount pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor startIndex }}
    nodes {{ ...R previous {{ id }} next {{ id }} }} edges {{ cursor node {{ id }} }}
  }}
}} {REVISION}"""
PACKAGES = """query($ref: String!, $name: String!, $filter: PackageFilter, $order: PackageOrder) {
  revision(ref: $ref) {
    package(name: $name) { ...P revision { digest } specs(first: 1000) { nodes { hash } } }
    packages(filter: $filter, orderBy: $order) {
      totalCount pageInfo { hasNextPage } nodes { ...P } edges { cursor node { name } }
    }
  }
}
fragment P on Package {
  name versions compilers operatingSystems platforms targets stackNames
  stackNodes { name } numSpecs totalSize
  stackCounts { stack numSpecs }
  coverage(by: [VERSION, STACK], first: 100) { values numSpecs }
  dependents(first: 100) { name numSpecs }
}"""
SPEC = f"fragment S on Spec {{ {' '.join(map(to_camel_case, PLAIN_FACTS))} versions short }}"
SPECS = f"""query($ref: String!, $hash: String!) {{
  spec(hash: $hash) {{ hash }}
  revision(ref: $ref) {{
    spec(hash: $hash) {{ ...S id package {{ name }} revision {{ digest }} }}
    matches(query: "@:") {{ totalCount }}
    specs(first: 1000) {{
      totalCount pageInfo {{ hasNextPage }} unknownNames {{ name nearest }}
      nodes {{ ...S stackNames stackNodes {{ name }} package {{ name numSpecs }} }}
      edges {{ cursor node {{ hash }} }}
      facets {{ packages {{ ...F }} versions {{ ...F }} compilers {{ ...F }}
        operatingSystems {{ ...F }} platforms {{ ...F }} targets {{ ...F }} stacks {{ ...F }} }}
    }}
  }}
}} fragment F on FacetCount {{ value numSpecs }} {SPEC}"""
STACKS = """query($ref: String!, $name: String!) {
  revision(ref: $ref) {
    stackNodes { ...T }
    stack(name: $name) {
      ...T id revision { digest } packages { nodes { name } } specs(first: 1000) { nodes { hash } }
    }
  }
}
fragment T on Stack { name numPackages numSpecs totalSize }"""
COMPARISON = f"""query($base: String!, $head: String!) {{
  compare(base: $base, head: $head) {{
    id base {{ digest }} head {{ digest }} baseStack headStack leftOut releaseNotes
    summary {{
      packagesAdded packagesRemoved packagesUpgraded packagesDowngraded packagesVersionsChanged
      packagesBuildsChanged packagesMoreBuilds packagesFewerBuilds packagesChanged packagesUnchanged
      specsAdded specsRemoved specsChanged specsUnchanged binariesReplaced
      numStacksAdded numStacksRemoved
      numPackagesBefore numPackagesAfter numSpecsBefore numSpecsAfter
      numStacksBefore numStacksAfter totalSizeBefore totalSizeAfter totalSizeDelta
    }}
    packages {{
      totalCount pageInfo {{ hasNextPage }} edges {{ cursor node {{ name }} }}
      nodes {{
        id name kind versionsAdded versionsRemoved specsAdded specsRemoved specsChanged sizeDelta
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
  id name kind numSpecsBefore numSpecsAfter sizeDelta specsAdded specsRemoved packagesAdded
  packagesRemoved
}}
{SPEC}"""
CAUSES = """query($base: String!, $head: String!, $by: [CoverageDimension!]!) {
  compare(base: $base, head: $head) {
    summary { specsRebuilt specsReplaced coverageLost coverageGained }
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
      hash kind reason ambiguous whyAmbiguous counterpart { hash }
      cause { title } causes { id title }
      path { name before { hash } after { hash } }
    } }
    coverage(by: $by, first: 100) {
      totalCount pageInfo { hasNextPage }
      edges { cursor node { values } }
      nodes { kind package values numSpecs nearest { hash } }
    }
  }
}
fragment C on Cause {
  id kind package before after title whyUnknown facts { path before after } numSpecs numInvolved
  packages
}"""
MAIN_CAUSES = """query($name: String!) { package(name: $name) { history { entries {
  pageInfo { hasNextPage } nodes {
  comparison { base { digest } head { digest } }
  mainCauses { title kind package before after numSpecs }
} } } } }"""
CHECK = """query($base: String!, $head: String!, $rules: [JSON!]!) {
  compare(base: $base, head: $head) { check(rules: $rules) {
    passed
    rules { name kind level passed message numBreaches
      breaches(first: 10) { message package numSpecs spec { hash } } }
  } }
}"""
OTHERS = """query($ids: [ID!]!) {
  node(id: "") { id }
  nodes(ids: $ids) {
    ... on Package { id }
    ... on Spec { history { id } dependencies { nodes { hash } edges { cursor } } }
  }
  packages(first: 1) { edges { cursor node { name } } }
  package(name: "a") { availability(target: "x86_64") { spans { comparison { id } } } }
  revision { lookup(specs: []) { found { hash } } }
}"""
EFFECT = """fragment E on CommitEffect {
  commit { ...C } level takenBack causes { title } numSpecs numInvolved stacks comparison { id }
}
fragment C on Commit {
  id oid committedAt subject url pullRequest { number url } packages stacks
  spack { path before after } sweeping
}"""
COMMITS = f"""query($base: String!, $head: String!) {{
  compare(base: $base, head: $head) {{
    head {{ recipes {{ repository commit foundBy url }} }}
    commits(first: 9) {{
      totalCount pageInfo {{ hasNextPage }} edges {{ cursor node {{ level }} }} nodes {{ ...E }}
    }}
    causes(first: 9) {{ nodes {{ title numSpecs numInvolved commits {{ ...E }} }} }}
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
      hash name version numAffected affected(first: $first) { hash } goneIn { tag takenAt }
    }
  } }
}"""
IMPACT = """query($ref: String!, $name: String!) {
  revision(ref: $ref) { package(name: $name) { impact {
    numSpecs numPackages size sizeLabel stackCounts { stack numSpecs }
    byTarget { value numSpecs }
    outcome { numSpecs causes(first: 2) { title } comparison { base { tag } head { takenAt } } }
  } } }
}"""
TWINS = """query($ref: String!, $after: String) {
  revision(ref: $ref) { twins(first: 1, after: $after) {
    totalCount numSaved sizeSaved pageInfo { hasNextPage endCursor }
    edges { cursor node { version } }
    causes(first: 3) {
      id kind package before after title numSpecs numInvolved commits { level }
      specs(first: 5) { nodes { id hash kind reason counterpart { hash } path { name } } }
    }
    nodes {
      package version numSpecs specs { hash } causes { id title } numSaved sizeSaved
    }
  } }
}"""
SERIES_CAUSES = """query($of: String!) {
  series(name: $of) {
    causes(first: 20, by: [PACKAGE, KIND]) {
      totalCount pageInfo { hasNextPage } edges { cursor node { package } }
      nodes { package kind numRevisions numSpecs numInvolved size
        points(last: 50) { revision { digest } numSpecs numInvolved } }
    }
    byCommit: causes(first: 5, by: [COMMIT]) { nodes { commit { oid } numSpecs } }
  }
}"""
TWO_SPECS = """query($hash: String!, $base: String, $head: String) {
  compareSpecs(base: $hash, head: $hash, baseRef: $base, headRef: $head) {
    base { hash } head { hash } baseRevision { digest } headRevision { digest }
    facts { path before after } variants { path before after } variantsAdded variantsRemoved
    dependencies(first: 50) {
      name before { name hash version } after { hash } typesBefore typesAfter virtualsBefore
      virtualsAfter path { name before { hash } after { hash } }
    }
    causes(first: 50) { id title kind package before after numSpecs facts { path } } numCauses
    paths(first: 50) { cause { id } steps { name } }
    numSharedBelow numDifferingBelow numOnlyBelowBase numOnlyBelowHead
    differences(first: 100) { path before after }
  }
}"""
SUGGEST = """query($text: String!, $ref: String, $kinds: [SuggestionKind!], $first: Int! = 10) {
  suggest(text: $text, ref: $ref, kinds: $kinds, first: $first) { kind value detail url }
}"""
PLAN = """query(
  $base: String!, $planned: [PlannedSpecInput!]!, $planned_stacks: [String!], $stack: String
) {
  plan(base: $base, specs: $planned, stacks: $planned_stacks) {
    numSpecs numReused numExternal numToBuild sizeLabel unknownStacks
    toBuild(stack: $stack, first: 50) {
      totalCount pageInfo { hasNextPage } edges { cursor node { hash } }
      nodes { hash name reason counterpart { hash } cause { title } after { version stackNames } }
    }
    comparison { id causes(first: 9) { totalCount nodes { title numSpecs } } }
  }
}"""
DOCUMENTS = tuple(
    text
    for text in [*globals().values(), *vars(model_histories).values()]
    if isinstance(text, str) and text.startswith(("query", "{\n"))
)
"""All of these, and those of histories."""
