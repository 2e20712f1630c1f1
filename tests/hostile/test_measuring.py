"""What the runner measures with: percentiles, memory, refusals, a server that is hurt."""

from pathlib import Path

import pytest

from tests.hostile.attack import Answer, Attack, Target, asking, query
from tests.hostile.generated import drawn
from tests.hostile.report import aligned, replace_table
from tests.hostile.runner import Bounds, run_all
from tests.hostile.soak import Soaked
from tests.hostile.target import attacked
from tests.hostile.victim import Suffered, suffered


@pytest.mark.parametrize(
    ("latencies", "expected"),
    [
        ([], Suffered(0, 0.0, 0.0, 0.0, 0)),
        ([0.5], Suffered(1, 0.5, 0.5, 0.5, 0)),
        ([0.3, 0.1, 0.2], Suffered(3, 0.2, 0.3, 0.3, 0)),
        ([*range(100)], Suffered(100, 50, 99, 99, 0)),
        ([*range(1_000)], Suffered(1_000, 500, 990, 999, 0)),
    ],
)
def test_latencies_are_summed_up(latencies: list[float], expected: Suffered) -> None:
    """The middle, the 99th of a hundred and the worst are named."""
    assert suffered(latencies, 0) == expected


@pytest.mark.parametrize(
    ("resident", "rise"),
    [([], 1.0), ([100] * 8, 1.0), ([1, 1, 1, 1, 100, 100, 150, 150], 1.5), ([9, 9, 4, 2], 0.5)],
)
def test_a_rise_of_memory_is_told(resident: list[int], rise: float) -> None:
    """The last quarter of a run is compared with the one before."""
    assert Soaked([], 0, 0, resident).rise == rise


def test_tables_are_aligned() -> None:
    """Names stand to the left, numbers to the right."""
    rows = [("Attacks", "Number"), ("of all kinds", "7"), ("few", "1,234,567")]
    assert aligned(rows).splitlines() == [
        "| Attacks      |    Number |",
        "| ------------ | --------: |",
        "| of all kinds |         7 |",
        "| few          | 1,234,567 |",
    ]


def test_a_table_is_replaced_in_a_document() -> None:
    """The one with the same first cell, whatever else there is; none is an error."""
    old, new = aligned([("Attacks", "N"), ("a", "1")]), aligned([("Attacks", "N"), ("bb", "22")])
    other = aligned([("Others", "N"), ("a", "1")])
    text = f"# Title\n\n{other}\n\nMeasured:\n\n{old}\n\nAfter.\n"
    assert replace_table(text, new) == text.replace(old, new)
    with pytest.raises(ValueError, match="no table"):
        replace_table("# Title\n", new)


def test_documents_are_drawn_again() -> None:
    """A seed gives the same documents each time."""
    assert [*drawn(1, 3)] == [*drawn(1, 3)]
    assert [*drawn(1, 3)] != [*drawn(2, 3)]


def _standing_still(_target: Target) -> list[Answer]:
    return [Answer(None, 9.0, in_time=False), Answer(500, 3.0, is_internal_error=True)]


@pytest.mark.long
def test_what_hurts_is_named(demo_catalog: Path) -> None:
    """A missing answer, an internal error and memory over the bound are all told."""
    harmless = Attack("harmless", "a question", asking(lambda _target: query("{ tags { name } }")))
    attacks = (harmless, Attack("hurting", "made up", _standing_still))
    with attacked(demo_catalog) as server:
        good, bad = run_all(server, attacks, Bounds(2.0, 10.0, 1 << 40))
        (large,) = run_all(server, [harmless], Bounds(2.0, 10.0, 1 << 20))
    assert good.hurts == ()
    assert good.victim.asked > 0
    assert good.peak_bytes > 10 << 20
    assert bad.hurts == ("no answer", "internal error")
    assert large.hurts == ("memory",)
