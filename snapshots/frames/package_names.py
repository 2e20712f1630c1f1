"""The names of packages that a query goes by, and whether anything is called so.

A query for a name that nothing has finds nothing, like one for conditions that nothing meets. What
tells the two apart is said here: the names that one revision knows. Whoever asks knows whether
other revisions have the package, and so whether it is a slip of the pen. For the spec itself a slip
is an error; behind ``%`` and ``^`` Spack answers that nothing matches, and the slip is a remark.
"""

from collections.abc import Callable, Collection

import msgspec

from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.escaping import quoted
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.nearest_names import nearest_hint, nearest_names
from snapshots.spack.constraints import SpecConstraint
from snapshots.spack.virtuals import LANGUAGES, LANGUAGES_OF_COMPILERS, VERSIONED

_KNOWN_TO_SPACK = LANGUAGES | LANGUAGES_OF_COMPILERS.keys() | VERSIONED

UNKNOWN_NAMES_MAX = 3
"""How many unknown names of a query are reported: each is compared with thousands."""

Load = Callable[[], DependencyGraph]
"""Returns the graph of the frame that is asked."""

Elsewhere = Callable[[], Collection[str]]
"""Returns the names of packages that other revisions know."""


class UnknownName(msgspec.Struct, frozen=True):
    """A name in a query that nothing has, and the known names that resemble it, best first."""

    name: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"nothing is named {quoted(self.name)}{nearest_hint(self.nearest)}"


def names_asked(asked: SpecConstraint) -> set[str]:
    """Return the names of the packages, virtual ones too, that a query goes by."""
    names = {asked.name} - {None, ""}
    for dependency in (*asked.direct, *asked.transitive):
        names |= names_asked(dependency.spec)
        names.update(dependency.virtuals)
    return {name for name in names if name is not None}


def names_known(frame: Frame, graph: DependencyGraph) -> set[str]:
    """Return the names of packages that a revision knows: its own, and those of dependencies.

    The virtual packages that dependencies provide are among them, and the compilers of specs.
    """
    compilers = [value.partition("@")[0] for value in frame.compiler.values if value is not None]
    virtuals = {virtual for virtuals in graph.virtuals.values for virtual in virtuals}
    return {*frame.packages, *graph.outside.packages, *compilers, *virtuals}


def require_known(asked: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere) -> None:
    """Raise an error where a query finds nothing because of the name of the spec itself.

    That is UnknownPackage for a name that neither this revision nor others know, and
    InvalidArgument for a virtual package in the place of a real one. ``load`` and ``elsewhere`` are
    asked only where there is need to. A name that differs from a known one in case alone is no
    error: ``unknown_names`` returns it.
    """
    name = asked.name
    if name is None or name in frame.package.index:
        return
    graph = load()
    if providers := _providers(frame, graph, name):
        what = f"{name} is a virtual package"
        raise InvalidArgument(
            "package", f"{what}; ask for what provides it: {', '.join(providers)}"
        )
    for unknown in _unknown({name}, frame, graph, elsewhere):
        if unknown.name.lower() not in map(str.lower, unknown.nearest):
            raise UnknownPackage(unknown.name, unknown.nearest)


def unknown_names(
    asked: SpecConstraint, frame: Frame, load: Load, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    """Return the first names in a query, in order, that neither this revision nor others know.

    What a cache need not have to be asked for it (compilers, languages, mpi) is always known.
    """
    names = names_asked(asked)
    if names <= frame.package.index.keys():
        return ()
    return _unknown(names, frame, load(), elsewhere)


def _unknown(
    names: set[str], frame: Frame, graph: DependencyGraph, elsewhere: Elsewhere
) -> tuple[UnknownName, ...]:
    known = names_known(frame, graph)
    missing = names - _KNOWN_TO_SPACK - known
    if not missing:
        return ()
    known |= {*elsewhere()}
    unknown = sorted(missing - known)[:UNKNOWN_NAMES_MAX]
    return tuple(UnknownName(name, tuple(nearest_names(name, known))) for name in unknown)


def _providers(frame: Frame, graph: DependencyGraph, virtual: str) -> list[str]:
    """Return the packages in the revision that provide a virtual package to others."""
    provided = graph.virtuals.where(lambda virtuals: virtual in virtuals)
    rows = graph.targets[provided[graph.virtuals.codes]]
    return frame.package.present(rows[rows < len(frame)])
