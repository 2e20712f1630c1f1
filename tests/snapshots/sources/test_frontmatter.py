"""Front matter: equal values from JSON and YAML, and errors with lines."""

from typing import Any

import msgspec
import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.pages.front_matter import MAX_DEPTH, parse

TEXTS = st.text(
    st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=8
) | st.sampled_from(["1.10", "1e5", "0x1", "yes", "null", "2025-01-05"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=8,
)
KEYS = st.from_regex(r"[a-z_][a-z0-9_-]{2,8}", fullmatch=True).filter(lambda word: word != "null")


NUMBERS = {"numbers": msgspec.json.Decoder(set[int])}


def page(text: str) -> bytes:
    """Return a page with this front matter."""
    return f"---\n{text}\n---\n".encode()


def error_of(data: bytes) -> SourceError:
    """Return the error that a page is refused with."""
    with pytest.raises(SourceError) as caught:
        parse(data, "specs.md", decoders=NUMBERS)
    return caught.value


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_json_and_yaml_are_equal(values: dict[str, Any]) -> None:
    """Values on one line as JSON, in block style or in flow style are equal."""
    lines = [f"{key}: {orjson.dumps(value).decode()}" for key, value in values.items()]
    matter = parse(page("\n".join(lines)), "specs.md")
    assert matter.values == values
    assert list(matter.lines.values()) == list(range(2, len(values) + 2))
    for flow_style in (False, True):
        block = yaml.safe_dump(values, default_flow_style=flow_style, allow_unicode=True)
        if values:
            assert parse(page(block), "specs.md").values == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, {1, 2}) for text in ("[1, 2]", "[1, 2] \r", "[1,2,2]")),
        ("[1, x]", [1, "x"]),
        ('["1"]', ["1"]),
        ("1", 1),
        ("\n- 1\n- 2", [1, 2]),
        ("[1, # one\n 2]", [1, 2]),
    ],
)
def test_decoded_values(text: str, value: object) -> None:
    """A line of JSON that the key's decoder accepts is decoded by it; other values are plain."""
    matter = parse(page(f"title: x\nnumbers: {text}"), "specs.md", decoders=NUMBERS)
    assert matter.values == {"title": "x", "numbers": value}
    assert matter.lines == {"title": 2, "numbers": 3}


@pytest.mark.parametrize(
    "data",
    [
        b"---\ntitle: x\n---\n",
        b"---\ntitle: x\n---",
        b"---\r\ntitle: x\r\n---\r\n",
        b"--- \ntitle: x\n---\t\n\n \n",
        b"\xef\xbb\xbf---\ntitle: x\n---\n",
        b"---\n# a comment\ntitle: x # another\n---\n",
        b"---\ntitle:\n  x\n---\n",
    ],
)
def test_forms_of_a_page(data: bytes) -> None:
    """Line endings, blanks, comments, a byte order mark and a missing final newline are ignored."""
    assert parse(data, "specs.md").values == {"title": "x"}


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"", None, "is empty"),
        (b"\xef\xbb\xbf", None, "is empty"),
        (b"title: x\n---\n", 1, "does not begin with a '---' line"),
        (b"----\ntitle: x\n---\n", 1, "does not begin with a '---' line"),
        (b"---\n", None, "is cut: the closing '---' line is missing"),
        (b"---\ntitle: x\nspec_details: [{", None, "is cut: the closing '---' line is missing"),
        (b"---\ntitle: x\n---\ntext\n", 4, "has text after its front matter"),
        (b"---\ntitle: x\nb: \xff\n---\n", 3, "is not UTF-8: invalid start byte"),
        (b"---\nplain text\n---\n", 2, "is not a list of keys and values"),
        (b"---\n# nothing\n---\n", 2, "is not a list of keys and values"),
        (b"---\na: x\nb: [1, 2\n---\n", 4, "is not YAML: did not find expected ',' or ']'"),
        (b"---\na: x\n b: y\n---\n", 3, "is not YAML: mapping values are not allowed"),
        (b"---\na: \0\n---\n", None, "is not YAML: unacceptable character #x0000"),
        (b"---\n1: x\n---\n", 2, "the key 1 is not a text"),
        (b"---\na: x\nb: &anchor [1]\n---\n", 3, "is not YAML: anchors and aliases are refused"),
        (b"---\na: *anchor\n---\n", 2, "is not YAML: anchors and aliases are refused"),
        (b"---\n? {a: 1}\n: x\n---\n", 2, "the key {'a': 1} is not a text"),
        (b"---\na: 2025-02-30\n---\n", None, "is not YAML: day "),
        (b"---\na: " + b"9" * 5_000 + b"\n---\n", None, "is not YAML: Exceeds the limit"),
        (b"---\na: x\n...\nb: y\n---\n", 4, "is not YAML: "),
    ],
)
def test_refused(data: bytes, line: int | None, reason: str) -> None:
    """An invalid page is refused with the file, the line if available, and the reason."""
    error = error_of(data)
    assert error.reason.startswith(reason)
    assert error.line == line
    assert str(error).startswith("specs.md" if line is None else f"specs.md, line {line}")


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['true']",
        "!!int ''",
        "!!binary 'é'",
        "!own x",
        "! x",
        "[!!str a]",
    ],
)
def test_tags_are_refused(value: str) -> None:
    """A text cannot request an object of another type than its own."""
    error = error_of(page(f"title: x\nvalue: {value}"))
    assert (error.line, error.reason) == (3, "is not YAML: tags (!...) are refused")


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ('a: 1\nb: "x"\na: 2', 4, "a", "appears twice"),
        ("a: 1\nb:\n- x\na: 2", 5, "a", "appears twice"),
        ("a: 1\nb:\n  c: 1\n  d: 1\n  c: 2", 4, None, "is not YAML: a key given twice"),
        ("numbers: [1]\nnumbers: [x]", 3, "numbers", "appears twice"),
    ],
)
def test_repeated_key(text: str, line: int, key: str | None, reason: str) -> None:
    """A repeated key is an error."""
    error = error_of(page(text))
    assert (error.line, error.key, error.reason) == (line, key, reason)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    """Nesting that could exhaust the stack is refused; less is read."""
    depth = MAX_DEPTH - 1
    assert parse(page(f"a: {opening * depth}x{closing * depth}"), "specs.md").values["a"]
    for depth in (MAX_DEPTH, 100_000):
        error = error_of(page(f"a: {opening * depth}x{closing * depth}"))
        own, parsers = f"nested deeper than {MAX_DEPTH} levels", "exceeded maximum nesting depth"
        assert error.reason in (f"is not YAML: {own}", f"is not YAML: {parsers}")
        assert error.line == 2
