"""Rendering: filters of templates, charts without a script, and the files that pages load."""

from typing import Any

import pytest

from server.pages import filters
from server.pages.charts import MAX_BARS, bars
from server.pages.filters import (
    Difference,
    differences,
    number,
    package_kind,
    size_delta,
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
    ("most", "num_shown"), [(20_000, [300, 90, 9]), (8_000, [200, 90, 9]), (1_800, [25, 25, 9])]
)
def test_long_lists_in_notes_are_shortened(
    monkeypatch: pytest.MonkeyPatch, most: int, num_shown: list[int]
) -> None:
    """As little as necessary; the number of omitted lines is stated."""
    monkeypatch.setattr(filters, "MAX_CHARACTERS", most)
    counts = {"Packages with other builds": 300, "Upgraded packages": 90, "Added stacks": 9}
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


# -- charts


@pytest.mark.parametrize(
    ("values", "times", "path"),
    [
        ([10, 0, 5], [0, 5, 10], "M0 24v-24h2v24zM238 24v-12h2v12z"),
        ([10_000, 1], [0, 1], "M0 24v-24h2v24zM238 24v-1h2v1z"),
        ([1, 4, 2], [0, 1, 4], "M0 24v-6h2v6zM60 24v-24h2v24zM238 24v-12h2v12z"),
        ([3], [7], "M0 24v-24h2v24z"),
    ],
    ids=["no bar for zero", "small values", "in proportion to time", "one value"],
)
def test_bars(values: list[int], times: list[int], path: str) -> None:
    """From left to right, the largest value as high as the box."""
    drawn = bars(values, times)
    assert drawn
    assert (drawn.path, drawn.most) == (path, max(values))


def test_bars_of_nothing() -> None:
    """There are none for no values, and for zeros."""
    assert bars([], []) is bars([0, 0], [1, 2]) is None


def test_many_bars_are_joined() -> None:
    """Neighbors share the bar of the largest of them."""
    drawn = bars([1, 2] * MAX_BARS, range(2 * MAX_BARS))
    assert drawn
    assert drawn.path.count("v-24h2") == MAX_BARS
