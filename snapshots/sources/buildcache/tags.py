"""The list of tags and stacks that a public cache offers: which there are, and a selection.

Its form is ``{TAG: [{"label": STACK, "url": URL of the stack's index}, ...], ...}``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Raw

from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.refs import check_tag, fits
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.reports import Report
from snapshots.spack.names import ITEMS_MAX, ROOT_STACK, is_name
from snapshots.wording import nearest_hint, nearest_names, quoted

_MOST_TAGS = 20


class Stack(msgspec.Struct, frozen=True):
    """A stack of a tag in the list: its name and where its index lies."""

    label: str
    url: str


def only_tag(tags: Sequence[str], location: str) -> str:
    """Return the tag for a location that says none of its own.

    ``tags`` are what the user asked for. Raises TagNeeded where there is none, and InvalidArgument
    for several, or for a text that cannot be a tag.
    """
    if not tags:
        raise TagNeeded(location)
    if len(tags) > 1:
        raise InvalidArgument("--tag", f"{location} is one build cache: name one tag")
    return check_tag(tags[0])


def chosen_tags(
    listed: Mapping[str, Raw], tags: Sequence[str], location: str, report: Report
) -> Iterator[tuple[str, list[Stack]]]:
    """Yield the listed tags that fit one of ``tags`` (names or globs) with their stacks.

    Where ``tags`` is empty, all listed ones. Raises InvalidArgument for a name or glob that fits
    none. What is wrong with a tag goes to ``report.bad``.
    """
    for name in tags:
        if not any(fits(tag, [name]) for tag in listed):
            known = _some_of(sorted(listed), name)
            raise InvalidArgument("--tag", f"{name} fits no tag of {location} ({known})")
    for tag, raw in listed.items():
        if not tags or fits(tag, tags):
            try:
                yield tag, _stacks(tag, raw, location)
            except SourceError as error:
                report.bad(error)


def _some_of(tags: Sequence[str], name: str) -> str:
    """Return tags as an error lists them; of many the first, and those that resemble the name."""
    first = ", ".join(tags[:_MOST_TAGS]) or "none"
    if len(tags) <= _MOST_TAGS:
        return first
    more = f"{len(tags) - _MOST_TAGS:,} more"
    return f"{first} and {more}{nearest_hint(nearest_names(name, tags))}"


def _stacks(tag: str, raw: Raw, location: str) -> list[Stack]:
    """Return the stacks of a tag, in order."""
    try:
        check_tag(tag)
    except InvalidArgument as error:
        raise SourceError(location, error.reason, key=tag) from None
    stacks = decode_json(raw, list[Stack], location, tag)
    if not stacks:
        raise SourceError(location, "lists no stacks", key=tag)
    if len(stacks) > ITEMS_MAX:
        reason = f"lists {len(stacks):,} stacks, more than {ITEMS_MAX:,}"
        raise SourceError(location, reason, key=tag)
    positions: dict[Stack, int] = {}
    for position, stack in enumerate(stacks):
        if not is_name(stack.label):
            reason = f"{quoted(stack.label)} cannot name a stack"
            raise SourceError(location, reason, key=f"{tag}[{position}].label")
        first = positions.setdefault(stack, position)
        if first != position:
            reason = f"names the index that {tag}[{first}] names, for the same stack"
            raise SourceError(location, reason, key=f"{tag}[{position}].url")
    return in_order(stacks)


def in_order(stacks: Iterable[Stack]) -> list[Stack]:
    """Return the stacks root first: the packages that it has are taken from there."""
    return sorted(stacks, key=lambda stack: (stack.label != ROOT_STACK, stack.label))


def named_stacks(stacks: Sequence[Stack]) -> list[Stack]:
    """Return the stacks that the user names, in order.

    Raises InvalidArgument for one that stands there twice, and for more than can be.
    """
    counts = Counter(stacks)
    for stack, count in counts.items():
        if count > 1:
            raise InvalidArgument("LOCATION", f"{stack.label}={stack.url} stands there twice")
    if len(counts) > ITEMS_MAX:
        raise InvalidArgument("LOCATION", f"there are more than {ITEMS_MAX:,} stacks")
    return in_order(stacks)
