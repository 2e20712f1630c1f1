"""Rendering: filters of templates, and the files that pages load."""

from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from server.pages import filters, renderer
from server.pages.error_pages import nowhere
from server.pages.filters import (
    Difference,
    differences,
    labelled,
    number,
    package_kind,
    size_delta,
    words,
)
from server.pages.renderer import VENDOR, Renderer, assets, with_visible_characters


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number(None), "unknown"),
        (number(1234567), "1,234,567"),
        (size_delta(None), "unknown"),
        (size_delta("-2048"), "−2.0 KiB"),  # noqa: RUF001
        (words("NEW_PACKAGE"), "new package"),
        (package_kind("VERSIONS_CHANGED"), "other versions"),
    ],
)
def test_values(shown: str, text: str) -> None:
    """With thousands separators and signs; unknown values are stated."""
    assert shown == text


def a_side(**facts: Any) -> dict[str, Any]:
    """Return the facts of a spec as the API returns them."""
    usual = {"version": "1", "compiler": None, "operatingSystem": "rhel9", "target": "zen4"}
    usual |= {"namespace": None, "platform": "linux", "packageHash": "k" * 52}
    return usual | {"variants": ["+a", "+b"], "stacks": ["e4s"]} | facts


SPEC = a_side()
OTHER = a_side(version="2", packageHash="r" * 52, operatingSystem="rhel8", variants=["+b", "~a"])
MORE = a_side(compiler="gcc@13", namespace="mine", stacks=["e4s", "hep"])
FIELDS = (
    ("stacks", ["a", "b"], ["b", "c"]),
    ("package_hash", None, "x"),
    ("size", 1, 0),
    ("patches", None, ["p", "q"]),
)


def replaced(kind: str, spec: Any, counterpart: Any) -> dict[str, Any]:
    """Return the change of a spec that has a counterpart on the other side."""
    sides = {"before": None, "after": None, {"ADDED": "after", "REMOVED": "before"}[kind]: spec}
    return {"kind": kind, "counterpart": counterpart, **sides}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (replaced("ADDED", SPEC, SPEC), []),
        (
            replaced("REMOVED", SPEC, OTHER),
            [
                ("version", "1", "2"),
                ("recipe", "k" * 7, "r" * 7),
                ("variants", "+a", "~a"),
                ("operating system", "rhel9", "rhel8"),
            ],
        ),
        (replaced("ADDED", MORE, SPEC), [("compiler", None, "gcc@13"), ("stacks", None, "hep")]),
        (
            {
                "kind": "CHANGED",
                "fields": [
                    dict(zip(("path", "before", "after"), it, strict=True)) for it in FIELDS
                ],
            },
            [
                ("stacks", "a", "c"),
                ("recipe", None, "x"),
                ("size", "1", "0"),
                ("patches", None, "p q"),
            ],
        ),
    ],
)
def test_differences(
    change: dict[str, Any], expected: list[tuple[str, str | None, str | None]]
) -> None:
    """From base to head, for changes on either side; lists only show the differing values."""
    assert differences(change) == [Difference(*texts) for texts in expected]


def cells(*names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a cell for each package with its values."""
    return [{"package": name, "values": values} for name, *values in names]


def test_matrix_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty cells count; a row is shown completely or not at all."""
    monkeypatch.setattr(filters, "MAX_FIELDS", 6)
    matrix = filters.coverage_matrix(cells(("a", "1"), ("b", "2"), ("c", "3"), ("c", "4")))
    assert ([names[0] for names, _ in matrix.rows], matrix.columns) == (["a", "b"], ["1", "2"])
    assert matrix.num_shown == 2


@pytest.mark.parametrize(
    ("most", "num_shown"), [(20_000, [300, 90, 9]), (8_000, [300, 3, 3]), (1_800, [50, 3, 3])]
)
def test_long_lists_in_notes_are_shortened(
    monkeypatch: pytest.MonkeyPatch, most: int, num_shown: list[int]
) -> None:
    """As little as necessary, those of hashes first; the number of omitted lines is stated."""
    monkeypatch.setattr(filters, "MAX_CHARACTERS", most)
    counts = {"Rebuilt packages": 300, "Added hashes": 90, "Removed hashes": 9}
    lists = [
        f"<h2>{title} <small>{count}</small></h2>\n<ul>\n"
        + "".join(f"<li>{title[:7]} {number}</li>\n" for number in range(count))
        + "</ul>\n"
        for title, count in counts.items()
    ]
    body, are_shortened = filters.notes_body(f"<main>\n{''.join(lists)}</main>\n</body>")
    assert body.startswith("\n<h3>Rebuilt packages <small>300</small></h3>")
    assert body.endswith("</ul>\n")
    assert [body.count(f"<li>{title[:7]} ") for title in counts] == num_shown
    omitted = [count - shown for count, shown in zip(counts.values(), num_shown, strict=True)]
    for count in filter(None, omitted):
        assert f"<li><em>and {count} more</em></li>" in body
    assert are_shortened is any(omitted)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é", "plain, é"),
        ("two\nlines\r\n\tmore", "two\nlines\r\n\tmore"),
        ("\x00\x1b\u202ea\u202e", r"\x00\x1b\u202ea\u202e"),
        ("blank\u3164", r"blank\u3164"),
        (None, None),
        (7, 7),
    ],
)
def test_invisible_characters_are_escaped(text: object, shown: object) -> None:
    """Those that reverse, hide or imitate text; line breaks and tabs remain."""
    assert with_visible_characters(text) == shown


def test_cells_have_labels() -> None:
    """Those of their column headers, except of row headers."""
    table = Markup(
        '<thead><tr><th scope="col">Spec</th><th scope="col"><a href="?">Size '
        '<span aria-hidden="true">\u2193</span></a></th><th scope="col" aria-label="Changes">+ '
        '\u2212</th><th></th></tr></thead>\n<tbody>\n  <tr>\n    <th scope="row">a</th>\n'
        '    <td class="number">1</td><td>2</td><td>3</td></tr>\n'
        '  <tr><th>b</th><td colspan="2">4</td><td>5</td></tr>\n</tbody>'
    )
    head, _, body = labelled(table).partition("</thead>")
    assert head == table.partition("</thead>")[0]
    assert body == (
        '\n<tbody>\n<tr>\n<th scope="row">a</th>\n<td class="number" data-label="Size">1</td>'
        '<td data-label="Changes">2</td><td>3</td></tr>\n'
        '<tr><th>b</th><td colspan="2" data-label="Size">4</td><td>5</td></tr>\n</tbody>'
    )


def test_each_character_is_classified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a million invisible characters is as fast as any."""
    classified: list[str] = []

    def look(char: str) -> str:
        classified.append(char)
        return "?"

    monkeypatch.setattr(renderer, "visible", look)
    assert with_visible_characters("\u202e\x00" * 1_000) == "??" * 1_000
    assert sorted(classified) == ["\x00", "\u202e"]


def test_pages_of_a_build_without_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They load only cachelog's own files."""
    assert set(assets(tmp_path)) == assets().keys() - {*VENDOR}
    monkeypatch.setattr(renderer, "VENDOR", ())
    monkeypatch.setattr(renderer, "_environment", renderer._environment.__wrapped__)
    page = nowhere(Renderer(), {"path": "/a/b"}).body.decode()
    assert 'href="../static/pages/plain.css?v=' in page
    assert "//" not in page.replace("<!doctype html>", "")
    assert not [name for name in VENDOR if name in page]
