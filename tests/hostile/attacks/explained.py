"""Why specs were rebuilt, asked for as often and as deep as a document can."""

from collections.abc import Iterator

from tests.hostile.attack import (
    Ask,
    Attack,
    Target,
    about_pair,
    aliased,
    asking,
    fresh,
    query,
    selecting,
)

_ALL_DIMENSIONS = "STACK TARGET OPERATING_SYSTEM PLATFORM COMPILER COMPILER_NAME VERSION"


def _all_pairs(target: Target) -> Iterator[Ask]:
    """Ask for what returned between any two revisions, in both directions."""
    count = len(target.digests)
    for base in range(count):
        for head in range(count):
            yield about_pair(target, "specs(first:1000){nodes{reason path{name}}}", base, head)


def _all_pairs_at_once(target: Target) -> Ask:
    pairs = [(base, head) for base in target.digests for head in target.digests]
    fields = (
        f'a{number}:compare(base:"{base}",head:"{head}"){{causes{{totalCount}}'
        "specs(first:100){nodes{reason}}}"
        for number, (base, head) in enumerate(pairs * 5)
    )
    return query(f"query {fresh()} {{ {' '.join(list(fields)[:50])} }}")


def _cursors_of_causes(target: Target) -> Iterator[Ask]:
    """Hand in cursors that no cause or cell has, long and of odd characters."""
    for cursor in ("", "|||", "version|" * 400, "%" * 4_000, "[" * 4_000, '["a"', "\\u0000"):
        yield about_pair(target, f'causes(after:"{cursor}"){{nodes{{id}}}}')
        yield about_pair(target, f'coverage(by:[STACK],before:"{cursor}",last:5){{nodes{{kind}}}}')


_OF_TWO_SPECS = (
    "facts{path} variants{path} dependencies(first:200){name path{name before{short}}} "
    "paths(first:200){cause{id facts{path}}steps{name after{short}}} document "
    "differences(first:200){path before after}"
)


def _two_specs(target: Target) -> Iterator[Ask]:
    """Compare each of many specs with the next ones, of whatever packages, all that differs."""
    for base in target.hashes[:100]:
        for head in target.hashes[-3:]:
            comparison = f'compareSpecs(base:"{base}",head:"/{head}"){{{_OF_TWO_SPECS}}}'
            yield query(f"query {fresh()} {{ {comparison} }}")


def _two_specs_at_once(target: Target) -> Ask:
    """Compare as many pairs as a request may, under names of their own."""
    pairs = zip(target.hashes, reversed(target.hashes), strict=True)
    fields = (
        f'a{number}:compareSpecs(base:"{base}",head:"{head}",baseRef:"develop"){{document}}'
        for number, (base, head) in enumerate(pairs)
    )
    return query(f"query {fresh()} {{ {' '.join(list(fields)[:2])} }}")


ATTACKS = (
    *selecting(
        about_pair,
        "what explains a comparison, many times over",
        {
            "causes x 60": aliased(
                60, "causes(first:1000){nodes{id title packages facts{path before after}}}"
            ),
            "causes together, deep": "causes(first:1000){nodes{"
            + "together{" * 8
            + "title"
            + "}" * 8
            + "}}",
            "causes together": "causes(first:150){nodes{title together{title}}}",
            "specs of causes": "causes(first:100){nodes{specs(first:20){nodes{path{name}}}}}",
            "main causes x 60": "specs(first:1000){nodes{" + aliased(60, "cause{title}") + "}}",
            "specs of causes, paths, dependencies": "causes(first:1000){nodes{specs(first:1000,"
            "involved:true){nodes{path{before{dependencies{nodes{spec{dependencies(transitive:true)"
            "{totalCount}}}}}after{short}}}}}}",
            "specs of causes of specs": "causes(first:50){nodes{specs(first:20){nodes{causes{"
            "specs(first:20){nodes{cause{specs(first:20){nodes{hash}}}}}}}}}}",
            "paths x 60": "specs(first:1000){nodes{"
            + aliased(60, "path{name before{short}after{short}}")
            + "}}",
            "reasons x 150": "specs(first:1000){nodes{" + aliased(150, "reason") + "}}",
            "filters of reasons x 100": aliased(
                100, "specs(first:0,reasons:[REBUILT,RETURNED]){totalCount}"
            ),
            "packages of causes x 100": "specs(first:1000){nodes{cause{"
            + aliased(100, "packages")
            + "}}}",
            "coverage x 40": aliased(
                40,
                f"coverage(by:[{_ALL_DIMENSIONS}],first:1000){{nodes{{values nearest{{hash}}}}}}",
            ),
            "coverage, searched": f'coverage(by:[{_ALL_DIMENSIONS}],search:"a"){{totalCount}}',
            "coverage by one, many times": f"coverage(by:[{'STACK ' * 900}],first:1){{totalCount}}",
            "totals x 100": aliased(
                100, "summary{specsRebuilt specsReplaced coverageLost coverageGained}"
            ),
            "notes": "releaseNotes(format:JSON)",
            "notes x 4": "a:releaseNotes b:releaseNotes(format:HTML) c:releaseNotes(format:JSON) "
            "d:releaseNotes",
        },
    ),
    Attack("reasons of all pairs", "each two revisions, both ways", asking(_all_pairs)),
    Attack("reasons of all pairs at once", "in one request", asking(_all_pairs_at_once)),
    Attack("two specs", "each two of many, all that differs", asking(_two_specs)),
    Attack("two specs at once", "two pairs in one request", asking(_two_specs_at_once)),
    Attack("cursors of causes", "that name nothing", asking(_cursors_of_causes)),
)
