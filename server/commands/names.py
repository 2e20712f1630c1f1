"""Checks of the names of packages and stacks that options have."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from snapshots.errors import InvalidArgument
from snapshots.frames.frame import Frame


def require_package(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the package."""
    _require("--package", name, (known for frame in frames for known in frame.packages), frames)


def require_stack(name: str, frames: Sequence[Frame]) -> None:
    """Raise InvalidArgument, with the nearest names, where no frame has the stack."""
    _require("--stack", name, (known for frame in frames for known in frame.stacks.items), frames)


def _require(option: str, name: str, known: Iterable[str], frames: Sequence[Frame]) -> None:
    names = sorted(set(known))
    if name not in names:
        who = "neither revision has" if len(frames) > 1 else "the revision does not have"
        close = ", ".join(get_close_matches(name, names))
        hint = f"; nearest: {close}" if close else ""
        raise InvalidArgument(option, f"{who} {name}{hint}")
