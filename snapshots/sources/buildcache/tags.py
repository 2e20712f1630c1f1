"""The list of tags and stacks that a public cache offers: which there are, and which are wanted.

Its form is ``{TAG: [{"label": STACK, "url": URL of the stack's index}, ...], ...}``.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Raw

from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.refs import check_tag, fits
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.reports import Report
from snapshots.spack.names import ROOT_STACK, is_name


class Stack(msgspec.Struct, frozen=True):
    """A stack of a tag in the list: its name and where its index lies."""

    label: str
    url: str


def only_tag(wanted: Sequence[str], location: str) -> str:
    """Return the tag for a location that says none of its own.

    Raises TagNeeded where none is wanted, and InvalidArgument for several, or one that is none.
    """
    if not wanted:
        raise TagNeeded(location)
    if len(wanted) > 1:
        raise InvalidArgument("--tag", f"{location} is one build cache: name one tag")
    return check_tag(wanted[0])


def chosen_tags(
    listed: Mapping[str, Raw], wanted: Sequence[str], location: str, report: Report
) -> Iterator[tuple[str, list[Stack]]]:
    """Yield the tags that fit one of the names or globs, all if none is given, with their stacks.

    Raises InvalidArgument where one fits none. What is wrong with a tag goes to ``report.bad``.
    """
    for want in wanted:
        if not any(fits(tag, [want]) for tag in listed):
            known = ", ".join(sorted(listed)) or "none"
            raise InvalidArgument("--tag", f"{want} fits no tag of {location} ({known})")
    for tag, raw in listed.items():
        if not wanted or fits(tag, wanted):
            try:
                yield tag, _stacks(tag, raw, location)
            except SourceError as error:
                report.bad(error)


def _stacks(tag: str, raw: Raw, location: str) -> list[Stack]:
    """Return the stacks of a tag, root first: the packages that it has are taken from there."""
    try:
        check_tag(tag)
    except InvalidArgument as error:
        raise SourceError(location, error.reason, key=tag) from None
    stacks = decode_json(raw, list[Stack], location, tag)
    if not stacks:
        raise SourceError(location, "lists no stacks", key=tag)
    for position, stack in enumerate(stacks):
        if not is_name(stack.label):
            reason = f"{stack.label!r} cannot name a stack"
            raise SourceError(location, reason, key=f"{tag}[{position}].label")
    return sorted(stacks, key=lambda stack: (stack.label != ROOT_STACK, stack.label))
