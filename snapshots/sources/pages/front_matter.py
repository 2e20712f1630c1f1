"""Parser of the untrusted front matter of Markdown pages.

A cache page contains values of up to 300 kB as JSON on one line. orjson parses these about a
hundred times faster than a YAML parser; as JSON is also YAML, the result is the same.
"""

import re
from collections.abc import Hashable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec
import orjson
import yaml

from snapshots.errors import SourceError
from snapshots.sources.file_kinds import kind_of, text_of

MAX_DEPTH = 50
"""Maximum nesting depth of YAML; the deepest real page needs four."""

MAX_PAGE_BYTES = 64 << 20
"""Maximum size of a page, in bytes; the public build cache has less than a hundredth of it."""

_SHORT = 200
_NO_DECODERS: Mapping[str, "msgspec.json.Decoder[Any]"] = {}

_MARKER = re.compile(rb"---[ \t]*\r?(?:\n|\Z)")
_KEY = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_-]*):[ \t]+(?=\S)")


class FrontMatter(msgspec.Struct):
    """The keys of a page with their values, and the line number of each key, counted from 1."""

    location: str
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}

    def add(self, key: object, value: Any, line: int) -> None:
        """Add one key. Raises SourceError if it is not a text or appears twice."""
        if not isinstance(key, str):
            raise SourceError(self.location, f"the key {key!r} is not a text", line=line)
        if key in self.lines:
            raise SourceError(self.location, "appears twice", line=line, key=key)
        self.values[key] = value
        self.lines[key] = line

    def wrong(self, key: str, reason: str) -> SourceError:
        """Return the error for the value of a key."""
        return SourceError(self.location, reason, line=self.lines.get(key), key=key)


def parse(
    data: bytes,
    location: str,
    *,
    decoders: Mapping[str, "msgspec.json.Decoder[Any]"] = _NO_DECODERS,
) -> FrontMatter:
    """Parse a page that consists of front matter between two ``---`` lines.

    A value that is one line of JSON is decoded by the key's decoder in ``decoders``. If it has
    none, or the decoder fails, the value is parsed like any other.

    Raises SourceError, with ``location``, for anything but such a page.
    """
    text = _between_markers(data, location)
    return _parse_lines(text, location, decoders) or _parse_yaml(text, location)


def _between_markers(data: bytes, location: str) -> str:
    data = bytes(text_of(data, location, MAX_PAGE_BYTES))
    opening = _MARKER.match(data)
    if opening is None:
        if kind := kind_of(data):
            raise SourceError(location, kind.instead_of("a cache page"))
        raise SourceError(location, "does not begin with a '---' line", line=1)
    start = opening.end()
    closing = _marker_after(data, start)
    if closing is None:
        raise SourceError(location, "is cut: the closing '---' line is missing")
    if data[closing.end() :].strip():
        line = data.count(b"\n", 0, closing.start()) + 2
        raise SourceError(location, "has text after its front matter", line=line)
    try:
        return data[start : closing.start()].decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, start + error.start) + 1
        raise SourceError(location, f"is not UTF-8: {error.reason}", line=line) from None


def _marker_after(data: bytes, start: int) -> re.Match[bytes] | None:
    # Searching the entire page with a regular expression would take as long as decoding it.
    line_start = start
    while True:
        if marker := _MARKER.match(data, line_start):
            return marker
        line_start = data.find(b"\n---", line_start) + 1
        if not line_start:
            return None


def _parse_lines(
    text: str, location: str, decoders: Mapping[str, "msgspec.json.Decoder[Any]"]
) -> FrontMatter | None:
    """Parse a page with a key and its entire value on every line; None for any other page."""
    matter = FrontMatter(location)
    for number, line in enumerate(text.split("\n"), start=2):
        match = _KEY.match(line)
        if match is None:
            if line.strip():
                return None
            continue
        key = match["key"]
        try:
            value = decoders[key].decode(line[match.end() :])
        except (KeyError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            try:
                value = (_short_value if len(line) <= _SHORT else _value)(line, match.end())
            except (yaml.YAMLError, ValueError):
                return None
        matter.add(key, value, number)
    return matter


def _value(line: str, start: int) -> Any:
    """Return the value at an index of a line, parsed as JSON or YAML."""
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(line[start:])
    _reject_unsafe_yaml(line)
    (value,) = yaml.load(line.rstrip(), Loader=_Loader).values()  # noqa: S506 - a safe loader
    return value


# All pages of a tag share lines such as "layout: cache". They would share a list, too, but values
# are never modified.
_short_value = lru_cache(maxsize=1024)(_value)


def _parse_yaml(text: str, location: str) -> FrontMatter:
    matter = FrontMatter(location)
    try:
        _reject_unsafe_yaml(text)
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None or not isinstance(root, yaml.MappingNode):
                raise SourceError(location, "is not a list of keys and values", line=2)
            for key_node, value_node in root.value:
                key = loader.construct_object(key_node, deep=True)
                value = loader.construct_object(value_node, deep=True)
                matter.add(key, value, key_node.start_mark.line + 2)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else None
        raise SourceError(location, f"is not YAML: {error.problem}", line=line) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(location, f"is not YAML: {reason}") from None
    return matter


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe C loader, which also rejects a repeated key in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping. Raises yaml.MarkedYAMLError on a repeated key."""
        mapping = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            raise yaml.MarkedYAMLError(problem="a key given twice", problem_mark=node.start_mark)
        return mapping


def _reject_unsafe_yaml(text: str) -> None:
    """Raise yaml.MarkedYAMLError on anchors, aliases, tags, and excessive nesting.

    These could expand a small file to a large or endless value, create objects or exhaust the
    stack; no real page contains any.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise _refusal("anchors and aliases are refused", event)
        if getattr(event, "tag", None) is not None:
            raise _refusal("tags (!...) are refused", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _refusal(f"nested deeper than {MAX_DEPTH} levels", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _refusal(problem: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]
