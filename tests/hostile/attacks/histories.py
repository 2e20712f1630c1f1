"""Histories of hashes, packages and series: many of them, and deep selections."""

from collections.abc import Iterator

from tests.hostile.attack import (
    Attack,
    Request,
    Target,
    about_series,
    aliased,
    fresh,
    query,
    selecting,
    sending,
)

_ENTRIES = (
    "entries(first:1000){nodes{revision{id tagName}comparison{id}kind reasons{reason numSpecs}}}"
)


def _packages(target: Target) -> Iterator[Request]:
    """Request the timelines of different packages, existing and missing ones."""
    for start in range(0, 2_000, 20):
        fields = (
            f'p{number}:package(name:"package-{number}"){{lastSeen{{id}}entries(first:5){{nodes{{kind}}}}}}'
            for number in range(start, start + 20)
        )
        yield about_series(target, " ".join(fields))


def _hashes(target: Target) -> Iterator[Request]:
    """Request short prefixes of hashes, hashes, and their prefixes."""
    for text in [*"abcdefgh234567", "aa", "zz", "", *target.hashes[:200]]:
        for part in (text, text[:7]):
            yield query(f'{{ hash(hash:"{part}"){{spans{{first{{id}}}}}} }}')


def _holding(target: Target) -> Iterator[Request]:
    """Request the revisions that contain a thousand hashes, different ones each time."""
    text = "query($h:[String!]!){revisionsHolding(hashes:$h,first:1000){nodes{id}}}"
    hashes = target.hashes
    for start in range(20):
        yield query(text, {"h": hashes[start:] + hashes[:start]})
        yield query(text, {"h": [f"{start:032}".translate(_BASE32)] * 1_000})
    yield query(text, {"h": [""] * 1_000})
    yield query(text, {"h": ["!" * 4_000] * 15})
    yield query(text, {"h": []})
    for count in (40, 20, 5):
        few = " ".join(
            f'a{at}:revisionsHolding(hashes:["{hashes[at]}" "{hashes[-count + at]}"]){{totalCount}}'
            for at in range(count)
        )
        yield query(f"query {fresh()} {{ {few} }}")


_BASE32 = str.maketrans("0189", "abcd")


ATTACKS = (
    *selecting(
        about_series,
        "the past of a series, many times over",
        {
            "growth of contents": "growth{revision{specs{nodes{short}}}}",
            "growth of comparisons": "growth{comparison{causes{totalCount}}}",
            "growth of growth": "growth{revision{series{" * 3 + "name" + "}}}" * 3,
            "causes x 2": aliased(2, "causes(first:50){nodes{points{numSpecs}}}"),
            "causes, all points": "causes(first:40){nodes{points(last:100){revision{id}}}}",
            "a package x 25": aliased(25, 'package(name:"zlib"){' + _ENTRIES + "}"),
        },
    ),
    Attack("many packages", "timelines of ever others", sending(_packages)),
    Attack("hashes and prefixes", "each of them, and how they begin", sending(_hashes)),
    Attack("revisions that hold", "a thousand hashes at a time", sending(_holding)),
)
