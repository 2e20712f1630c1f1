"""Reasons, causes, paths and coverage through GraphQL, compared with the naive model."""

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from snapshots.changes.causes import Causes
from snapshots.changes.explanation import Explanation
from tests.model.builds import Build, Need, as_pages_tell, state_of
from tests.model.cells import coverage
from tests.model.changes import added_reasons, counterparts, removed_reasons
from tests.model.states import State
from tests.schema import questions, worlds
from tests.schema.worlds import World

ARM = ("ubuntu22.04", "neoverse_v2")
LINK, BUILD = ("build", "link"), ("build",)
BUILDS = (
    Build("gettext", "0.23"),
    Build("zlib", "1.3.1", needs=(Need(0, BUILD),)),
    Build("hdf5", "1.14.5", variants=("+mpi",), needs=(Need(1, LINK),)),
    Build("app", "2.0", needs=(Need(2, LINK), Need(0, BUILD))),
    Build("lone", "1.0", machine=ARM, stacks=("hep", "root")),
    Build("lone", "1.0"),
    Build("old", "0.1", stacks=("gone", "root")),
)
LATER = (
    Build("gettext", "0.23", recipe="r2"),
    Build("zlib", "1.3.2", needs=(Need(0, BUILD),)),
    *BUILDS[2:4],
    BUILDS[5],
    Build("new", "3.0"),
)
BASE, HEAD = state_of(BUILDS), state_of(LATER)
EARLIER = state_of((Build("new", "3.0"),))
BY = ["STACK", "TARGET"]
FACTS = {"package": "packageName", "before": "valueBefore", "after": "valueAfter"}
"""The arguments that identify a cause of a kind, and the fields of their values."""


def published(folder: Path, *states: State) -> World:
    """Publish states as revisions of one series, one day apart."""
    return worlds.published(folder, *worlds.snapshots_of(*states))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of an earlier state, base and head."""
    return published(tmp_path_factory.mktemp("catalog"), EARLIER, BASE, HEAD)


@pytest.fixture(scope="module")
def answer(world: World) -> Any:
    """Return the comparison through the API."""
    return world.data(questions.CAUSES, base="develop~1", head="develop", by=BY)["compare"]


@pytest.fixture(scope="module")
def explained(world: World) -> Explanation:
    """Return the domain's explanation of the comparison."""
    base, head = (world.catalog.history.resolve(ref).content for ref in ("develop~1", "develop"))
    return world.library.explanations.get((base, head))


def test_causes(answer: Any, explained: Explanation) -> None:
    """In order, with their numbers, packages, specs and the causes that occur together."""
    all_causes, nodes = explained.causes, answer["causes"]["nodes"]
    package = explained.comparison.head.package
    for number, cause in zip(all_causes.select(), nodes, strict=True):
        name = all_causes.name_of(number)
        values = (name.kind.name, name.package, name.before, name.after)
        assert tuple(map(cause.get, ("kind", *FACTS.values()))) == values
        assert cause["package"]["name"] == name.package
        for field, involved, count in (
            ("specs", False, all_causes.num_specs(number)),
            ("involved", True, all_causes.num_involved(number)),
        ):
            hashes = [change.hash for change in explained.specs_of(number, involved=involved)]
            assert [node["hash"] for node in cause[field]["nodes"]] == hashes
            assert len(hashes) == count
        assert cause["specs"]["totalCount"] == cause["numSpecs"]
        assert cause["numInvolved"] == len(cause["involved"]["nodes"])
        assert cause["packageNames"] == package.present(all_causes.rows_of(number))
        together = [nodes[other]["id"] for other in all_causes.together_with(number)]
        assert [other["id"] for other in cause["together"]] == together
        assert cause["packageName"] in cause["title"]
        assert cause["facts"]
        assert cause["whyUnknown"] is None
    assert [edge["node"] for edge in answer["causes"]["edges"]] == [
        {"id": node["id"]} for node in nodes
    ]


def test_each_changed_hash_is_explained(answer: Any) -> None:
    """By its reason, counterpart, causes (the main one first), and the path to the main cause."""
    reasons = added_reasons(BASE, HEAD, EARLIER.specs.keys()) | removed_reasons(BASE, HEAD)
    assert {node["hash"]: node["reason"].lower() for node in answer["specs"]["nodes"]} == reasons
    assert "returned" in reasons.values()
    replaced = counterparts(BASE, HEAD)
    pairs = replaced | {before: after for after, before in replaced.items()}
    for change in answer["specs"]["nodes"]:
        if change["hash"] not in pairs:
            assert (change["mainCause"], change["involvedCauses"], change["path"]) == (None, [], [])
            assert change["counterpart"] is None
            continue
        assert change["counterpart"]["hash"] == pairs[change["hash"]]
        assert change["involvedCauses"][0]["title"] == change["mainCause"]["title"]
        path = change["path"]
        assert change["hash"] in (path[0]["before"]["hash"], path[0]["after"]["hash"])
        assert path[-1]["name"] in change["mainCause"]["title"]


def test_main_cause_of_a_package(world: World, answer: Any) -> None:
    """That of most of its specs that replaced others; null if none did."""
    counts: dict[str, Counter[str]] = {}
    for change in answer["specs"]["nodes"]:
        if change["kind"] == "ADDED" and change["mainCause"]:
            name = change["path"][0]["name"]
            counts.setdefault(name, Counter())[change["mainCause"]["title"]] += 1
    text = """{ compare(base: "develop~1", head: "develop") {
      packages { nodes { name mainCause { title } } } } }"""
    nodes = world.data(text)["compare"]["packages"]["nodes"]
    assert {node["name"] for node in nodes} > counts.keys()
    for node in nodes:
        of_package = counts.get(node["name"])
        if of_package is None:
            assert node["mainCause"] is None
        else:
            assert of_package[node["mainCause"]["title"]] == max(of_package.values())


def test_coverage(answer: Any) -> None:
    """Lost and gained cells in order, with the specs nearest to a lost one."""
    cells = coverage(BASE, HEAD, [name.lower() for name in BY])
    nodes = answer["coverage"]["nodes"]
    assert nodes == [
        {
            "kind": "LOST" if cell.is_lost else "GAINED",
            "packageName": cell.cell.package,
            "values": [*cell.cell.values],
            "numSpecs": cell.num_specs,
            "nearestSpecs": [{"hash": key} for key in cell.nearest],
        }
        for cell in cells
    ]
    kinds = [node["kind"] for node in nodes]
    summary = answer["summary"]
    assert kinds.count("LOST") == summary["numCellsLost"] > 0
    assert kinds.count("GAINED") == summary["numCellsGained"] > 0


def test_cause_is_identified_by_its_facts(world: World, answer: Any) -> None:
    """Kind, package and both values identify a cause; other values identify none."""
    query = """query($kind: CauseKind!, $package: String!, $before: String, $after: String) {
      compare(base: "develop~1", head: "develop") {
        cause(kind: $kind, package: $package, before: $before, after: $after) { id } } }"""
    for cause in answer["causes"]["nodes"]:
        facts = {"kind": cause["kind"]} | {name: cause[field] for name, field in FACTS.items()}
        assert world.data(query, **facts)["compare"]["cause"] == {"id": cause["id"]}
        assert world.data(query, **facts | {"before": "x"})["compare"]["cause"] is None


def test_counts_add_up(answer: Any) -> None:
    """Kinds of causes count each spec with a counterpart once, reasons each changed hash."""
    causes, summary = answer["causes"]["nodes"], answer["summary"]
    for kind in answer["causeKinds"]:
        of_kind = [cause["numSpecs"] for cause in causes if cause["kind"] == kind["kind"]]
        assert (kind["numCauses"], kind["numSpecs"]) == (len(of_kind), sum(of_kind))
    rebuilt = summary["numSpecsRebuilt"] + summary["numSpecsReplaced"]
    assert sum(kind["numSpecs"] for kind in answer["causeKinds"]) == rebuilt > 0
    reasons = Counter(node["reason"] for node in answer["specs"]["nodes"])
    assert {reason["reason"]: reason["numSpecs"] for reason in answer["reasons"]} == dict(reasons)


def test_lists_can_be_filtered(world: World, answer: Any) -> None:
    """Causes by kind and package, specs by reason, cells by kind and text."""
    narrowed = world.data("""{ compare(base: "develop~1", head: "develop") {
      recipes: causes(kinds: [RECIPE]) { nodes { packageName } }
      zlib: causes(package: "zlib") { nodes { packageName } }
      none: causes(kinds: []) { totalCount }
      specs(reasons: [REBUILT, PACKAGE_GONE]) { nodes { hash } }
      coverage(by: [], kinds: [GAINED], search: "NE") { nodes { kind packageName values } }
    } }""")["compare"]
    assert narrowed["recipes"]["nodes"] == [{"packageName": "gettext"}]
    assert narrowed["zlib"]["nodes"] == [{"packageName": "zlib"}]
    assert narrowed["none"]["totalCount"] == 0
    assert narrowed["specs"]["nodes"] == [
        {"hash": node["hash"]}
        for node in answer["specs"]["nodes"]
        if node["reason"] in ("REBUILT", "PACKAGE_GONE")
    ]
    assert narrowed["coverage"]["nodes"] == [{"kind": "GAINED", "packageName": "new", "values": []}]


def test_causes_can_be_ordered(world: World, answer: Any) -> None:
    """By the specs that they explain or reach, and by package; ties are in the default order."""
    nodes = answer["causes"]["nodes"]
    orders = {
        "NUM_SPECS": lambda cause: cause["numSpecs"],
        "NUM_INVOLVED": lambda cause: cause["numInvolved"],
        "PACKAGE": lambda cause: cause["packageName"] or "",
    }
    for field, value in orders.items():
        for direction in ("ASC", "DESC"):
            ordered = world.data(
                f"""{{ compare(base: "develop~1", head: "develop") {{
                  causes(first: 1000, orderBy: {{field: {field}, direction: {direction}}}) {{
                    nodes {{ id }} }} }} }}"""
            )["compare"]["causes"]["nodes"]
            expected = sorted(nodes, key=value, reverse=direction == "DESC")
            assert [cause["id"] for cause in ordered] == [cause["id"] for cause in expected]


def test_number_of_dimensions_is_limited(world: World) -> None:
    """Hundreds of them would return hundreds of values per cell."""
    query = """query($by: [CoverageDimension!]!) {
      compare(base: "develop~1", head: "develop") { coverage(by: $by) { totalCount } } }"""
    assert world.data(query, by=["STACK"] * 7)
    assert "by: more than 7 dimensions" in world.error(query, by=["STACK"] * 8)["message"]


@pytest.mark.parametrize(
    ("field", "is_permanent"),
    [
        ("causes { nodes { title } }", True),
        ("coverage(by: []) { totalCount }", True),
        ("specs { nodes { path { name } } }", True),
        ("specs { nodes { reason } }", False),
        ("specs(reasons: [FACTS]) { totalCount }", False),
    ],
)
def test_answers_by_refs_of_revisions_are_permanent(
    world: World, field: str, is_permanent: bool
) -> None:
    """Except reasons, which can become RETURNED."""
    base, head = (world.catalog.history.resolve(ref).ref for ref in ("develop~1", "develop"))
    query = f'{{ compare(base: "{base}", head: "{head}") {{ {field} }} }}'
    assert world.is_permanent(query) is is_permanent
    digest = world.catalog.history.resolve("develop").digest
    assert not world.is_permanent(query.replace(head, digest)), "another revision may have it"


def test_sources_without_dependencies(tmp_path: Path) -> None:
    """Causes are UNKNOWN, and the reason is stated."""
    world = published(tmp_path, as_pages_tell(BASE), as_pages_tell(HEAD))
    answer = world.data(questions.CAUSES, base="develop~1", head="develop", by=BY)["compare"]
    unknown = [node for node in answer["causes"]["nodes"] if node["kind"] == "UNKNOWN"]
    assert unknown
    assert all("dependencies" in unexplained["whyUnknown"] for unexplained in [*unknown, answer])


def test_specs_of_a_cause_are_computed_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all specs with the cause, and only if a field needs them."""
    rows_of = create_autospec(Causes.rows_of, side_effect=Causes.rows_of)
    monkeypatch.setattr(Causes, "rows_of", rows_of)
    text = (
        '{ compare(base: "develop~1", head: "develop") { specs { nodes { mainCause { %s } } } } }'
    )
    world.data(text % "title kind numSpecs facts { path }")
    assert not rows_of.called
    specs = world.data(text % "id packageNames")["compare"]["specs"]["nodes"]
    ids = {spec["mainCause"]["id"] for spec in specs if spec["mainCause"]}
    assert rows_of.call_count == len(ids) < len(specs)
