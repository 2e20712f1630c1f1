"""Rendering: filters of templates, charts without a script, and the files that pages load."""

import re
from functools import partial
from typing import Any

import pytest
from markupsafe import Markup

from server.pages import filters
from server.pages.charts import bars, line
from server.pages.filters import (
    Difference,
    differences,
    number,
    package_kind,
    size_delta,
    with_cell_labels,
    words,
)
from server.pages.renderer import with_visible_characters


def test_values() -> None:
    """With thousands separators and signs; unknown values are stated."""
    assert number(None) == size_delta(None) == "unknown"
    assert (number(1234567), size_delta("-2048")) == ("1,234,567", f"{filters.MINUS}2.0 KiB")
    assert words("NEW_PACKAGE") == "new package"
    assert package_kind("VERSIONS_CHANGED") == "other versions"


FIELDS = [
    ("operating_system", "rhel9", "rhel8"),
    ("package_hash", None, "x" * 52),
    ("patches", None, ["p", "q"]),
    ("size", 1, 0),
    ("stacks", ["a", "b"], ["b", "c"]),
    ("variants", ["+a"], ["+a", "+b"]),
    ("version", "1", "2"),
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "REMOVED",
            [
                ("version", "1", "2"),
                ("recipe", None, "x" * 7),
                ("variants", None, "+b"),
                ("operating system", "rhel9", "rhel8"),
                ("stacks", "a", "c"),
            ],
        ),
        (
            "CHANGED",
            [
                ("operating system", "rhel9", "rhel8"),
                ("recipe", None, "x" * 7),
                ("patches", None, "p q"),
                ("size", "1", "0"),
                ("stacks", "a", "c"),
                ("variants", None, "+b"),
                ("version", "1", "2"),
            ],
        ),
    ],
)
def test_differences(kind: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    """Of lists only differing items; of a spec and its counterpart, own facts and stacks."""
    fields = [{"path": path, "before": base, "after": head} for path, base, head in FIELDS]
    shown = differences({"kind": kind, "fields": fields})
    assert shown == [Difference(*texts) for texts in expected]


def cells(*names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a cell for each package with its values."""
    return [{"packageName": name, "values": values} for name, *values in names]


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
    counts = {"Packages with other builds": 300, "Added hashes": 90, "Removed hashes": 9}
    lists = [
        f"<h2>{title} <small>{count}</small></h2>\n<ul>\n"
        + "".join(f"<li>{title[:7]} {number}</li>\n" for number in range(count))
        + "</ul>\n"
        for title, count in counts.items()
    ]
    body, are_shortened = filters.notes_body(f"<main>\n{''.join(lists)}</main>\n</body>")
    assert body.startswith("\n<h3>Packages with other builds <small>300</small></h3>")
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
    head, _, body = with_cell_labels(table).partition("</thead>")
    assert head == table.partition("</thead>")[0]
    assert body == (
        '\n<tbody>\n<tr>\n<th scope="row">a</th>\n<td class="number" data-label="Size">1</td>'
        '<td data-label="Changes">2</td><td>3</td></tr>\n'
        '<tr><th>b</th><td colspan="2" data-label="Size">4</td><td>5</td></tr>\n</tbody>'
    )


# -- charts


line_in_a_box = partial(line, width=100, height=50)


def points_of(path: str) -> list[list[tuple[int, int]]]:
    """Return the points of each piece of a path."""
    pieces: list[list[tuple[int, int]]] = []
    for letter, numbers in re.findall(r"([Ml])([-\d ]+)", path):
        flat = [int(number) for number in re.findall(r"-?\d+", numbers)]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        if letter == "M":
            pieces.append(pairs)
        else:
            for right, down in pairs:
                x, y = pieces[-1][-1]
                pieces[-1].append((x + right, y + down))
    return pieces


@pytest.mark.parametrize(
    ("values", "times", "expected"),
    [
        ([1, 2, 3], (), [[(0, 49), (50, 25), (100, 1)]]),
        ([3, 1], (), [[(0, 1), (100, 49)]]),
        ([5, 5], (), [[(0, 25), (100, 25)]]),
        ([0, 10, 0], (0, 10, 100), [[(0, 49), (10, 1), (100, 49)]]),
        ([1, 2, None, 2, 1], (), [[(0, 49), (25, 1)], [(75, 1), (100, 49)]]),
        ([1, None, 2], (), [[(0, 49), (1, 49)], [(100, 1), (101, 1)]]),
        ([None, 1, 2], (), [[(50, 49), (100, 1)]]),
        ([1, 2], (7, 7), [[(0, 49), (0, 1)]]),
    ],
)
def test_lines(
    values: list[int | None], times: tuple[int, ...], expected: list[list[tuple[int, int]]]
) -> None:
    """From left to right, the largest value at the top, with gaps for unknown values."""
    drawn = line_in_a_box(values, times=times)
    assert drawn
    assert points_of(drawn.path) == expected


@pytest.mark.parametrize(
    ("up", "down", "expected"),
    [
        (
            [10, 0, 5],
            [0, 5, 5],
            ("M0 25v-25h2v25zM100 25v-12h2v12z", "M50 25v12h2v-12zM100 25v12h2v-12z", 10, 5),
        ),
        ([10_000, 1], [0, 0], ("M0 25v-25h2v25zM100 25v-1h2v1z", "", 10_000, 0)),
        ([], [], None),
        ([0, 0], [0, 0], None),
    ],
    ids=["on the axis", "small values", "no bars", "no changes"],
)
def test_bars(up: list[int], down: list[int], expected: tuple[str, str, int, int] | None) -> None:
    """Increases above the axis and decreases below it, by one scale; no bar for zero."""
    drawn = bars(up, down, width=102, height=50)
    assert (drawn and (drawn.up, drawn.down, drawn.most_up, drawn.most_down)) == expected
