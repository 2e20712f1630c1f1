"""The environments of templates: what is cachelog's own is read once by a process."""

import pytest

from snapshots.notes import templates


@pytest.mark.parametrize("html", [True, False])
def test_own_templates_are_read_once(*, html: bool) -> None:
    """By each markup: one escapes by itself, the other by filters."""
    templates.shipped.cache_clear()
    shipped = templates.shipped(html=html)
    assert templates.shipped(html=html) is shipped
    assert templates.shipped(html=not html) is not shipped
    assert shipped.autoescape is html


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.html", True), ("A.HTM.jinja", True), ("a.xml.j2", True), ("a.md", False), ("html", False)],
)
def test_a_template_tells_its_markup_by_its_name(name: str, *, expected: bool) -> None:
    """Whatever is put behind it to tell that it is a template."""
    assert templates.is_html(name) is expected
