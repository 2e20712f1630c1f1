"""Front matter: values on one line each, and errors with lines."""

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.pages.front_matter import FrontMatter, parse

TEXTS = st.text(
    st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=8
) | st.sampled_from(["1.10", "1e5", "0x1", "yes", "null", "2025-01-05"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=8,
)
KEYS = st.from_regex(r"[a-z_][a-z0-9_-]{2,8}", fullmatch=True)


def parsed(data: bytes) -> FrontMatter:
    """Parse a page whose key ``numbers`` has a decoder."""
    return parse(data, "specs.md", {"numbers": msgspec.json.Decoder(set[int])})


def page(text: str) -> bytes:
    """Return a page with this front matter."""
    return f"---\n{text}\n---\n".encode()


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_json(values: dict[str, Any]) -> None:
    """Each line is a key with its value as JSON."""
    lines = [f"{key}: {orjson.dumps(value).decode()}" for key, value in values.items()]
    matter = parsed(page("\n".join(lines)))
    assert matter.values == values
    assert list(matter.lines.values()) == list(range(2, len(values) + 2))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, {1, 2}) for text in ("[1, 2]", "[1, 2] \r", "[1,2,2]")),
        ("[1, x]", ["1", "x"]),
        ('["1"]', ["1"]),
        ("1", 1),
        ("cache", "cache"),
        ("a b # c", "a b # c"),
        ("[package, develop-2025-03-30]", ["package", "develop-2025-03-30"]),
        ("[]", set()),
    ],
)
def test_values(text: str, value: object) -> None:
    """JSON that the key's decoder accepts is decoded by it; others are JSON or plain texts."""
    matter = parsed(page(f"title: x\nnumbers: {text}"))
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
        b"---\n\ntitle:\t x\n \n---\n",
    ],
)
def test_forms_of_a_page(data: bytes) -> None:
    """Line endings, blanks, a byte order mark and a missing final newline are ignored."""
    assert parsed(data).values == {"title": "x"}


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
        (b"---\nplain text\n---\n", 2, "is not a key with its value on one line"),
        (b"---\ntitle: x\nlist:\n - 1\n---\n", 3, "is not a key with its value on one line"),
        (b"---\na: x\nb: [1, 2\n---\n", 3, "is not valid JSON: "),
        (b"---\na: [1, [x]]\n---\n", 2, "is not valid JSON: "),
        (b"---\na: " + b"[" * 100_000 + b"]" * 100_000 + b"\n---\n", 2, "is not valid JSON: "),
        (b'---\na: "x\n---\n', 2, "is not valid JSON: "),
        (b'---\na: 1\nb: "x"\na: 2\n---\n', 4, "appears twice"),
        (b"---\nnumbers: [1]\nnumbers: [x]\n---\n", 3, "appears twice"),
    ],
)
def test_refused(data: bytes, line: int | None, reason: str) -> None:
    """An invalid page is refused with the file, the line if available, and the reason."""
    with pytest.raises(SourceError) as caught:
        parsed(data)
    error = caught.value
    assert error.reason.startswith(reason)
    assert error.line == line
    assert str(error).startswith("specs.md" if line is None else f"specs.md, line {line}")
