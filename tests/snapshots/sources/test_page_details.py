"""The two ways to the specs of a page: at once where all is as usual, else value by value."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.models import Spec
from snapshots.sources.pages import front_matter
from snapshots.sources.pages.cache_page import DETAILS, read_specs, usual_specs
from snapshots.sources.reports import Report
from tests.snapshots.sources.page_trees import detail

PAGES = Path(__file__).parent / "pages"


def at_once(details: str) -> tuple[Spec, ...] | None:
    """Return the specs that JSON states; None where something in it is unusual."""
    try:
        return usual_specs(DETAILS.decode(details), "hdf5")
    except ValueError:
        return None


def value_by_value(details: str) -> tuple[Spec, ...] | None:
    """Return the specs that JSON states; None where one of them cannot be read."""
    matter = front_matter.parse(f"---\nspec_details: {details}\n---\n".encode(), "specs.md")
    report = Report(skip_bad=True)
    specs = tuple(read_specs(matter, "hdf5", report))
    return None if report.skipped else specs


@pytest.mark.parametrize("page", sorted(PAGES.rglob("specs.md")), ids=str)
def test_pages_of_all_years_are_usual(page: Path) -> None:
    """Real pages, in the spelling of each year, are read at once, with the same result."""
    (line,) = (it for it in page.read_text().splitlines() if it.startswith("spec_details: "))
    details = line.partition(": ")[2]
    specs = at_once(details)
    assert specs
    assert specs == value_by_value(details)


VALUES = st.recursive(
    st.sampled_from([None, True, 1, 1.5, -1, 1 << 60, "", "-", "12", "none", "é", "a b", "\n"]),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(max_size=2), values),
    max_leaves=3,
)
FACTS = st.dictionaries(st.sampled_from([*detail(), "tarball", "more"]), VALUES | st.just(...))


@given(st.lists(st.builds(lambda facts: detail(**facts), FACTS), max_size=2))
def test_both_ways_agree(details: list[dict[str, Any]]) -> None:
    """What is read at once is what is read value by value, and nothing that is refused there."""
    text = orjson.dumps(details).decode()
    specs = at_once(text)
    assert specs is None or specs == value_by_value(text)


USUAL_FACTS: list[dict[str, Any]] = [
    {},
    {"compiler": ...},
    {"compiler": None},
    {"size": ...},
    {"size": 5},
    {"size": "5"},
    {"tarball": "https://h/a"},
    {"tarball": ""},
    {"tarball": None},
    {"more": [{}]},
]


@pytest.mark.parametrize("facts", USUAL_FACTS, ids=str)
def test_what_is_usual(facts: dict[str, Any]) -> None:
    """Facts that are missing or known in another form cost nothing."""
    text = orjson.dumps([detail(**facts)]).decode()
    assert at_once(text) == value_by_value(text) is not None
