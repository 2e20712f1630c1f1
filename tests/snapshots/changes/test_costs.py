"""Build costs: looked up by hash, estimated by package, summed."""

import numpy as np
import pytest

from snapshots.changes.costs import NO_COST, BuildCost, Costs, costs_by_number, sum_of
from snapshots.frames.frame import Frame
from tests.snapshots.costs import rows
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.records import frame_of


def frame(**names: str) -> Frame:
    """Return a frame of specs by the labels of their hashes, each with its package."""
    return frame_of([a_spec(label, name=name) for label, name in names.items()])


def test_cost_of_a_hash() -> None:
    """The last row of a hash applies; without one, the median of the package is an estimate."""
    costs = Costs(
        rows(
            (hash_of("a"), "zlib", 1.0, 0.1),
            (hash_of("a"), "zlib", 10.0, 1.0),
            (None, "zlib", 20.0, 2.0),
            (hash_of("x"), "zlib", 60.0, 6.0),
            (hash_of("c"), None, 7.0, 0.7),
            unit="usd",
        )
    )
    specs = frame(a="zlib", b="zlib", c="hdf5", d="hdf5")
    of_specs = costs.of(specs)
    by_label = {
        label: of_specs.total(np.array([specs.hashes.find(hash_of(label))])) for label in "abcd"
    }
    assert by_label == {
        "a": BuildCost(10.0, 1.0, "usd", 0, 0),
        "b": BuildCost(20.0, 2.0, "usd", 1, 0),
        "c": BuildCost(7.0, 0.7, "usd", 0, 0),
        "d": BuildCost(None, None, "usd", 0, 1),
    }
    total = of_specs.total(np.arange(4))
    assert (total.seconds, total.num_estimated, total.num_unknown) == (37.0, 1, 1)
    assert total.cost == pytest.approx(3.7)
    assert sum_of(by_label.values()) == total
    assert of_specs.num_bytes == 4 * (8 + 8 + 1)
    assert len(costs) == 4


def test_rows_without_a_unit() -> None:
    """Without a unit there is no cost; rows may have names only."""
    costs = Costs(rows((None, "zlib", 5.0, None), (None, "zlib", 6.0, None)))
    total = costs.of(frame(a="zlib", b="hdf5")).total(np.arange(2))
    assert total == BuildCost(5.5, None, None, 1, 1)
    assert costs.of(frame(a="zlib")).num_bytes == 8 + 1


def test_sums_by_number() -> None:
    """Rows with -1 are left out, and numbers without rows are absent."""
    costs = Costs(rows((None, "zlib", 2.0, None))).of(frame(a="zlib", b="zlib", c="zlib"))
    sums = costs_by_number(costs, np.array([0, 1, 2]), np.array([3, -1, 3]))
    assert sums == {3: BuildCost(4.0, None, None, 2, 0)}
    assert costs_by_number(costs, np.array([0]), np.array([-1])) == {}


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (BuildCost(0.2, None, None, 0, 0), "0 seconds"),
        (BuildCost(1, None, None, 0, 0), "1 second"),
        (BuildCost(59.4, None, None, 0, 0), "59 seconds"),
        (BuildCost(59.6, None, None, 0, 0), "1.0 minutes"),
        (BuildCost(3_600, None, None, 3, 0), "1.0 hours (3 estimated)"),
        (BuildCost(7.2e6, 1234.5, "usd", 0, 2), "2,000.0 hours, 1,234.50 USD (2 unknown)"),
        (BuildCost(90, 0, "eur", 1_000, 2), "1.5 minutes, 0.00 EUR (1,000 estimated, 2 unknown)"),
        (BuildCost(None, None, "usd", 0, 2), "build time unknown"),
        (NO_COST, "no build time"),
    ],
)
def test_text_of_a_cost(cost: BuildCost, text: str) -> None:
    """The largest unit, the cost, and how many specs are estimated or unknown."""
    assert str(cost) == text
