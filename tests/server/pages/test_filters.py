"""What templates show of values and of parts of answers."""

from typing import Any

import pytest

from server.pages import filters
from server.pages.filters import Difference, differences
from server.pages.renderer import number, package_kind, size_delta, words


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number(None), "unknown"),
        (number(1234567), "1,234,567"),
        (size_delta(None), "unknown"),
        (size_delta("-2048"), "−2.0 KiB"),  # noqa: RUF001
        (words("NEW_PACKAGE"), "new package"),
        (words("FACTS"), "other facts"),
        (package_kind("CHANGED"), "other facts"),
        (package_kind("VERSIONS_CHANGED"), "other versions"),
    ],
)
def test_values_are_shown_to_people(shown: str, text: str) -> None:
    """Thousands apart, signs that are told apart, and what is not known is said."""
    assert shown == text


def a_side(**facts: Any) -> dict[str, Any]:
    """Return the facts of a spec as the API tells them."""
    usual = {"version": "1", "compiler": None, "operatingSystem": "rhel9", "target": "zen4"}
    usual |= {"namespace": None, "platform": "linux", "packageHash": "k" * 52}
    return usual | {"variants": ["+a", "+b"], "stacks": ["e4s"]} | facts


SPEC = a_side()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "ADDED", "before": None, "after": SPEC, "counterpart": None}, []),
        ({"kind": "ADDED", "before": None, "after": SPEC, "counterpart": SPEC}, []),
        (
            {
                "kind": "REMOVED",
                "before": SPEC,
                "after": None,
                "counterpart": a_side(
                    version="2",
                    packageHash="r" * 52,
                    operatingSystem="rhel8",
                    variants=["+b", "~a"],
                ),
            },
            [
                Difference("version", "1", "2"),
                Difference("recipe", "k" * 7, "r" * 7),
                Difference("variants", "+a", "~a"),
                Difference("operating system", "rhel9", "rhel8"),
            ],
        ),
        (
            {
                "kind": "ADDED",
                "before": None,
                "after": a_side(compiler="gcc@13", namespace="mine", stacks=["e4s", "hep"]),
                "counterpart": SPEC,
            },
            [Difference("compiler", None, "gcc@13"), Difference("stacks", None, "hep")],
        ),
        (
            {
                "kind": "CHANGED",
                "fields": [
                    {"path": "stacks", "before": ["a", "b"], "after": ["b", "c"]},
                    {"path": "package_hash", "before": None, "after": "x"},
                    {"path": "size", "before": 1, "after": 0},
                    {"path": "patches", "before": None, "after": ["p", "q"]},
                ],
            },
            [
                Difference("stacks", "a", "c"),
                Difference("recipe", None, "x"),
                Difference("size", "1", "0"),
                Difference("patches", None, "p q"),
            ],
        ),
    ],
)
def test_what_differs(change: dict[str, Any], expected: list[Difference]) -> None:
    """From base to head, whichever side the change is on; of lists only what one side has."""
    assert [*differences(change)] == expected


def cells(*names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a cell for each package with its values."""
    return [{"package": name, "values": values} for name, *values in names]


def test_a_matrix() -> None:
    """The first dimension makes the columns, packages and other dimensions the rows."""
    told = cells(("a", "s2", "t"), ("a", "s1", "t"), ("a", "s1", "u"), ("b", "s1", "t"))
    matrix = filters.coverage_matrix(told)
    assert matrix.columns == ["s1", "s2"]
    assert [(names, [*of_row]) for names, of_row in matrix.rows] == [
        (("a", "t"), ["s2", "s1"]),
        (("a", "u"), ["s1"]),
        (("b", "t"), ["s1"]),
    ]
    assert matrix.num_shown == 4


def test_a_matrix_ends_before_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty fields count too; a row is shown whole or not at all."""
    monkeypatch.setattr(filters, "MOST_FIELDS", 6)
    matrix = filters.coverage_matrix(cells(("a", "1"), ("b", "2"), ("c", "3"), ("c", "4")))
    assert ([names[0] for names, _ in matrix.rows], matrix.columns) == (["a", "b"], ["1", "2"])
    assert matrix.num_shown == 2


def notes_of(*lines: str) -> str:
    """Return notes that have a list of such lines."""
    items = "".join(f"<li>{line}</li>\n" for line in lines)
    body = f"<h1>T</h1>\n<h3>L</h3>\n<ul>\n{items}</ul>\n"
    return f"<body>\n<main>{body}</main>\n</body>"


def test_notes_are_a_part_of_a_page() -> None:
    """They stand below the page's own heading, without what makes a page of them."""
    shown = "<h2>T</h2>\n<h4>L</h4>\n<ul>\n<li>a</li>\n</ul>\n"
    assert filters.notes_body(notes_of("a")) == (shown, False)


def test_long_lists_of_notes_are_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As little as will do, and how many lines are left out is said."""
    monkeypatch.setattr(filters, "MOST_CHARACTERS", 1_700)
    shown, are_shortened = filters.notes_body(notes_of(*("x" * 20 for _ in range(1_234))))
    assert shown.count("<li>xx") == 50
    assert "<li><em>and 1,184 more</em></li>" in shown
    assert are_shortened


def test_lists_of_hashes_are_shortened_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the last and the longest, and the specs of a comparison have a tab of their own."""
    monkeypatch.setattr(filters, "MOST_CHARACTERS", 1_500)
    lists = [
        f"<h2>{title} <small>{count}</small></h2>\n<ul>\n"
        + "".join(f"<li>{title} {number}</li>\n" for number in range(count))
        + "</ul>\n"
        for title, count in (("Rebuilt packages", 30), ("Added hashes", 90), ("Removed hashes", 9))
    ]
    page = f"<main>\n{''.join(lists)}</main>"
    shown, _ = filters.notes_body(page)
    assert shown.count("<li>Rebuilt packages") == 30
    assert shown.count("<li>Added hashes") == shown.count("<li>Removed hashes") == 3
    assert "<li><em>and 87 more</em></li>" in shown
