"""What building takes, beside the counts of causes and impacts."""

from typing import Any

import pytest

from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.usual import api
from tests.schema.worlds import World
from tests.snapshots.costs import rows

DOCUMENT = """{
  compare(base: "develop~1", head: "develop") { causes(first: 50) { nodes {
    numSpecs seconds cost costBasis { unit numEstimated numUnknown }
    specs(first: 50) { nodes { name } }
  } } }
  revision(ref: "develop") { package(name: "zlib") { impact {
    numSpecs seconds cost costBasis { unit numEstimated numUnknown }
  } } }
}"""


@pytest.fixture
def world(tmp_path: Any) -> World:
    """Return a catalog of base and head."""
    return published(tmp_path, BASE, HEAD)


def counted(world: World) -> list[dict[str, Any]]:
    """Return the causes, and the impact."""
    data = world.data(DOCUMENT)
    return [*data["compare"]["causes"]["nodes"], data["revision"]["package"]["impact"]]


def test_without_costs(world: World) -> None:
    """Everything is null."""
    for of_one in counted(world):
        assert [of_one[name] for name in ("seconds", "cost", "costBasis")] == [None] * 3


def test_with_costs(world: World) -> None:
    """Each spec of a package that has one counts with it; the others are unknown."""
    world.catalog.costs.replace(rows((None, "zlib", 10.0, 0.5), unit="eur"))
    world.catalog.refresh()
    *causes, impact = counted(world)
    for cause in causes:
        names = [spec["name"] for spec in cause["specs"]["nodes"]]
        assert (cause["seconds"] or 0) == 10 * names.count("zlib")
        assert (cause["cost"] or 0) == names.count("zlib") / 2
        assert cause["costBasis"] == {
            "unit": "eur",
            "numEstimated": names.count("zlib"),
            "numUnknown": len(names) - names.count("zlib"),
        }
    basis = impact["costBasis"]
    assert basis["numEstimated"] + basis["numUnknown"] == impact["numSpecs"]
    assert impact["seconds"] == 10 * basis["numEstimated"] > 0


def test_an_answer_with_costs_is_not_permanent(world: World) -> None:
    """Others may be imported."""
    after, before = (revision.digest for revision in world.catalog.history.revisions)

    def is_permanent(field: str) -> bool:
        refs = f'base: "{before}", head: "{after}"'
        query = f"{{ compare({refs}) {{ causes {{ nodes {{ {field} }} }} }} }}"
        context = world.context()
        assert not api.execute(query, {}, context=context).errors
        return context.is_permanent

    assert is_permanent("title")
    assert not is_permanent("seconds")
