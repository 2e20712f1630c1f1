"""Checks of the names of tags, packages and stacks that options have."""

from collections.abc import Iterable, Sequence

from snapshots.errors import InvalidArgument
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.refs import title
from snapshots.wording import nearest_hint, nearest_names

_FEW = 3


def require_tag(name: str, history: History) -> None:
    """Raise InvalidArgument, with the nearest tags, where no revision has the tag."""
    if name not in history.tags:
        close = nearest_names(name, history.tags) or history.tags[:_FEW]
        raise _unknown("--tag", f"there is no tag {name!r}", close)


def require_series(name: str, history: History, argument: str = "--series") -> None:
    """Raise InvalidArgument, with the nearest series, where no tag is of the series."""
    if name not in history.series_names:
        close = nearest_names(name, history.series_names) or history.series_names[:_FEW]
        raise _unknown(argument, f"there is no series {name!r}", close)


def require_package(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the package."""
    _require("--package", name, (known for frame in frames for known in frame.packages), frames)


def unknown_package(name: str, revision: RevisionInfo, frame: Frame) -> InvalidArgument:
    """Return the fault that a revision has no package of a name, with the nearest that it has."""
    near = nearest_names(name, frame.packages)
    return _unknown("PACKAGE", f"{title(revision)} does not have {name!r}", near)


def require_stack(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the stack."""
    _require("--stack", name, (known for frame in frames for known in frame.stacks.items), frames)


def _require(option: str, name: str, known: Iterable[str], frames: Sequence[Frame]) -> None:
    names = set(known)
    if name not in names:
        who = "neither revision has" if len(frames) > 1 else "the revision does not have"
        raise _unknown(option, f"{who} {name!r}", nearest_names(name, names))


def _unknown(option: str, reason: str, nearest: Sequence[str]) -> InvalidArgument:
    return InvalidArgument(option, reason + nearest_hint(nearest))
