"""What stands between ``%`` or ``^`` and the dependency itself: the properties of the edge.

%[virtuals=c,cxx deptypes=build] gcc        %c,cxx=gcc        ^mpi=openmpi
"""

import re
from typing import NamedTuple

from snapshots.spack.quoting import unquote
from snapshots.spack.scanner import Scanner

DEPENDENCY_TYPES = ("build", "link", "run", "test")

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]*"
_SIGIL = re.compile(r"%%|[%^]")
_OPEN = re.compile(r"\[")
_CLOSE = re.compile(r"\]")
_PROPERTY = re.compile(
    r"(?P<key>[A-Za-z0-9_][A-Za-z0-9_.-]*):?=(?P<value>'[^']*'|\"[^\"]*\"|[\w,-]+)"
)
# Spack reads ^ KEY=VALUE so too, where somebody may have meant a variant.
_PROVIDER = re.compile(rf"\s*(?P<virtuals>{_NAME}(?:,{_NAME})*)=(?=[A-Za-z0-9_])")
_NAME_WITH_VALUE = re.compile(rf"{_NAME}(?:\.{_NAME})*(?=:?=)")


class Edge(NamedTuple):
    """The kind of a dependency, and the properties of the edge to it, both sorted."""

    is_direct: bool
    types: tuple[str, ...]
    virtuals: tuple[str, ...]


def read_edge(scanner: Scanner) -> Edge | None:
    """Read what a dependency begins with; None where none begins here.

    Raises ConstraintSyntaxError.
    """
    scanner.peek()
    sigil = scanner.accept(_SIGIL)
    if sigil is None:
        return None
    types: set[str] = set()
    virtuals: set[str] = set()
    if scanner.accept(_OPEN):
        while scanner.peek() != "]":
            _read_property(scanner, types, virtuals)
        scanner.accept(_CLOSE)
    if provider := scanner.accept(_PROVIDER):
        virtuals.update(provider["virtuals"].split(","))
        if name := scanner.accept(_NAME_WITH_VALUE):
            scanner.fail(f"{name[0]} is the package that provides it, and has no value")
    return Edge(sigil[0] != "^", tuple(sorted(types)), tuple(sorted(virtuals)))


def _read_property(scanner: Scanner, types: set[str], virtuals: set[str]) -> None:
    match = scanner.expect(_PROPERTY, "']'")
    values = {value.strip() for value in unquote(match["value"]).split(",")}
    match match["key"]:
        case "deptypes":
            if unknown := values.difference(DEPENDENCY_TYPES, {"all"}):
                reason = f"{min(unknown)!r} is no type: {', '.join(DEPENDENCY_TYPES)} or all"
                scanner.fail(reason, match.start("value"))
            types.update(DEPENDENCY_TYPES if "all" in values else values)
        case "virtuals":
            virtuals.update(values)
        case "when":
            scanner.refuse("conditions (when=)", match.start())
        case _:
            scanner.fail("an edge has deptypes=, virtuals= and no other", match.start())
