"""The names of packages that a query goes by, and whether anything is called so.

A query for a name that nothing has finds nothing, like one for conditions that nothing meets. What
tells the two apart is said here: the names that one revision knows. Whoever asks knows whether
other revisions have the package, and so whether it is a slip of the pen.
"""

from collections.abc import Callable, Collection

from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.nearest_names import nearest_names
from snapshots.spack.constraints import SpecConstraint
from snapshots.spack.virtuals import LANGUAGES, LANGUAGES_OF_COMPILERS, VERSIONED

_KNOWN_TO_SPACK = LANGUAGES | LANGUAGES_OF_COMPILERS.keys() | VERSIONED


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


def require_known(
    asked: SpecConstraint,
    frame: Frame,
    load: Callable[[], DependencyGraph],
    elsewhere: Callable[[], Collection[str]],
) -> None:
    """Raise an error where a query finds nothing because of a name that it goes by.

    That is UnknownPackage for a name that neither this revision nor others know, and
    InvalidArgument for a virtual package in the place of a real one. ``load`` is asked for the
    frame's graph and ``elsewhere`` for the names that other revisions know, both only where there
    is need to. What a cache need not have to be asked for it (compilers, languages, mpi) is always
    known.
    """
    if names_asked(asked) <= frame.package.index.keys():
        return
    graph = load()
    name = asked.name or ""
    if name not in frame.package.index and (providers := _providers(frame, graph, name)):
        what = f"{name} is a virtual package"
        raise InvalidArgument(
            "package", f"{what}; ask for what provides it: {', '.join(providers)}"
        )
    known = names_known(frame, graph)
    missing = sorted(name for name in names_asked(asked) - _KNOWN_TO_SPACK if name not in known)
    if not missing:
        return
    others = elsewhere()
    for name in missing:
        if name not in others:
            raise UnknownPackage(name, nearest_names(name, {*known, *others}))


def _providers(frame: Frame, graph: DependencyGraph, virtual: str) -> list[str]:
    """Return the packages in the revision that provide a virtual package to others."""
    provided = graph.virtuals.where(lambda virtuals: virtual in virtuals)
    rows = graph.targets[provided[graph.virtuals.codes]]
    return frame.package.present(rows[rows < len(frame)])
