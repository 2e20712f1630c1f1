"""Questions about one revision: holes, twins and impacts, many at a time and of many scopes."""

from collections.abc import Iterator

from tests.hostile.attack import Ask, Attack, Target, about_revision, aliased, asking

_HOLES = "holes(first:1000){totalCount nodes{hash affected(first:1000){hash} goneIn{id}}}"
_TWINS = (
    "twins(first:%d){numSaved causes(first:100){title packages specs(first:20){nodes{hash}}} "
    "nodes{numSaved sizeSaved specs{hash} causes(first:20){facts{path}}}}"
)


def _holes(target: Target) -> Iterator[Ask]:
    yield about_revision(target, _HOLES)
    yield about_revision(target, aliased(100, "holes(first:100){nodes{affected{hash}}}"))


def _twins(target: Target) -> Iterator[Ask]:
    for size in (1_000, 50, 5):
        yield about_revision(target, _TWINS % size)
    yield about_revision(target, aliased(100, "twins(first:5){numSaved nodes{numSaved}}"))


def _scopes(target: Target) -> Iterator[Ask]:
    """Ask for twins of other packages each time, which nothing kept answers."""
    names = [*target.packages]
    for count in (100, 20, 3, 1):
        for start in range(0, min(len(names), 12 * count), count):
            fields = (
                f'a{number}:twins(package:"{name}",first:1){{numSaved nodes{{numSaved}}}}'
                for number, name in enumerate(names[start : start + count])
            )
            yield about_revision(target, " ".join(fields))


def _impacts(target: Target) -> Iterator[Ask]:
    for size in (1_000, 100, 15, 3):
        for fields in ("numSpecs", "outcome{numSpecs causes{title}}"):
            yield about_revision(target, f"packages(first:{size}){{nodes{{impact{{{fields}}}}}}}")


ATTACKS = (
    Attack("holes", "all holes with all that they affect", asking(_holes)),
    Attack("twins", "all groups, many times", asking(_twins)),
    Attack("twins of scopes", "another scope each time, by several", asking(_scopes, at_once=8)),
    Attack("impacts", "of as many packages as a page has", asking(_impacts, at_once=4)),
)
