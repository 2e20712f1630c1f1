"""Analyses of revisions and comparisons: deep selections, many scopes, pairs and specs."""

from collections.abc import Iterator

from tests.hostile.attack import (
    Attack,
    Request,
    Target,
    about_pair,
    about_revision,
    fresh,
    query,
    selecting,
    sending,
)

_ALL_DIMENSIONS = "STACK TARGET OPERATING_SYSTEM PLATFORM COMPILER COMPILER_NAME VERSION"


_OF_TWO_SPECS = (
    "facts{path} variants{path} dependencies(first:200){name path{name before{short}}} "
    "paths(first:200){cause{id facts{path}}steps{name after{short}}} document "
    "differences(first:200){path before after}"
)


def _two_specs(target: Target) -> Iterator[Request]:
    """Compare pairs of specs, also of different packages, with all differences."""
    for base in target.hashes[:100]:
        for head in target.hashes[-3:]:
            comparison = f'compareSpecs(base:"{base}",head:"/{head}"){{{_OF_TWO_SPECS}}}'
            yield query(f"query {fresh()} {{ {comparison} }}")


def _scopes(target: Target) -> Iterator[Request]:
    """Request the twins of different packages each time, so that none is cached."""
    names = target.packages
    for count in (100, 20, 3, 1):
        for start in range(0, min(len(names), 12 * count), count):
            fields = (
                f'a{number}:twins(package:"{name}",first:1){{numSaved nodes{{numSaved}}}}'
                for number, name in enumerate(names[start : start + count])
            )
            yield about_revision(target, " ".join(fields))


def _impacts(target: Target) -> Iterator[Request]:
    for size in (1_000, 100, 15, 3):
        for fields in ("numSpecs", "outcome{numSpecs causes{ nodes {title} }}"):
            yield about_revision(target, f"packages(first:{size}){{nodes{{impact{{{fields}}}}}}}")


ATTACKS = (
    *selecting(
        about_pair,
        "what explains a comparison, many times over",
        {
            "causes together, deep": "causes(first:1000){nodes{"
            + "together{" * 8
            + "title"
            + "}" * 8
            + "}}",
            "specs of causes, paths, dependencies": "causes(first:1000){nodes{specs(first:1000,"
            "involved:true){nodes{path{before{dependencies{nodes{spec{dependencies(transitive:true)"
            "{totalCount}}}}}after{short}}}}}}",
            "specs of causes of specs": "causes(first:50){nodes{specs(first:20){nodes{"
            "involvedCauses{"
            "specs(first:20){nodes{mainCause{specs(first:20){nodes{hash}}}}}}}}}}",
            "coverage, searched": f'coverage(by:[{_ALL_DIMENSIONS}],search:"a"){{totalCount}}',
            "coverage by one, many times": f"coverage(by:[{'STACK ' * 900}],first:1){{totalCount}}",
        },
    ),
    Attack("two specs", "each two of many, all that differs", sending(_two_specs)),
    Attack("twins of scopes", "another scope each time, by several", sending(_scopes, at_once=8)),
    Attack("impacts", "of as many packages as a page has", sending(_impacts, at_once=4)),
)
