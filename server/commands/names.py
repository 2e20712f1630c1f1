"""Checks of the names of tags, packages and stacks that options have."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from snapshots.errors import InvalidArgument
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.wording import title

_NEAREST = 3


def require_tag(name: str, history: History) -> None:
    """Raise InvalidArgument, with the nearest tags, where no revision has the tag."""
    if name not in history.tags:
        close = get_close_matches(name, history.tags, _NEAREST) or history.tags[:_NEAREST]
        raise _unknown("--tag", f"there is no tag {name!r}", close)


def require_series(name: str, history: History, argument: str = "--series") -> None:
    """Raise InvalidArgument, with the series that there are, where no tag is of the series."""
    if name not in history.series_names:
        raise _unknown(argument, f"there is no series {name!r}", history.series_names)


def require_package(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the package."""
    _require("--package", name, (known for frame in frames for known in frame.packages), frames)


def unknown_package(name: str, revision: RevisionInfo, frame: Frame) -> InvalidArgument:
    """Return the fault that a revision has no package of a name, with the nearest that it has."""
    near = get_close_matches(name, frame.packages, _NEAREST)
    return _unknown("PACKAGE", f"{title(revision)} does not have {name!r}", near)


def require_stack(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the stack."""
    _require("--stack", name, (known for frame in frames for known in frame.stacks.items), frames)


def _require(option: str, name: str, known: Iterable[str], frames: Sequence[Frame]) -> None:
    names = sorted(set(known))
    if name not in names:
        who = "neither revision has" if len(frames) > 1 else "the revision does not have"
        raise _unknown(option, f"{who} {name!r}", get_close_matches(name, names, _NEAREST))


def _unknown(option: str, reason: str, nearest: Sequence[str]) -> InvalidArgument:
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    return InvalidArgument(option, reason + hint)
