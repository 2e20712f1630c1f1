"""Dependencies, and queries in Spack's language, through GraphQL."""

from typing import Any

import pytest

from schema.execution import budget
from snapshots.contents import Content, Snapshot
from snapshots.models import Dependency, Spec
from tests.schema.worlds import SOURCE, World, published
from tests.snapshots.factories import a_spec, hash_of


def spec(name: str, *dependencies: tuple[str, str], **facts: Any) -> Spec:
    """Return a spec; dependencies are names with types and, after a colon, virtuals."""
    edges = []
    for other, kinds in dependencies:
        types, _, virtuals = kinds.partition(":")
        edges.append(Dependency(other, hash_of(other), (*types.split(),), (*virtuals.split(),)))
    return a_spec(name, **{"name": name, "version": "1.0", "dependencies": tuple(edges)} | facts)


SPECS = (
    spec("app", ("gcc", "build:c cxx"), ("lib", "build link"), ("tool", "build"), version="2.0"),
    # lib and core form a cycle.
    spec("lib", ("core", "link run:mpi"), ("gcc", "build:c")),
    spec("core", ("lib", "test"), variants=("~shared",), stacks=("hep", "root")),
    spec("tool", compiler=None),
)
"""gcc is outside the revision."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog with tags that list dependencies and one, ``bare``, that does not."""
    bare = [spec("app", dependencies=None), spec("lib", dependencies=None)]
    mixed = [spec("app", ("lib", "link")), spec("lib", dependencies=None)]
    gcc = spec("gcc", version="13.2.0", compiler=None, external_path="/usr")
    stated = Content.of(SPECS, [gcc])
    contents = {"full": Content.of(SPECS), "stated": stated}
    contents |= {"bare": Content.of(bare), "mixed": Content.of(mixed)}
    snapshots = (Snapshot(tag=tag, content=contents[tag], source=SOURCE) for tag in contents)
    return published(tmp_path_factory.mktemp("catalog"), *snapshots)


def of_spec(world: World, name: str, selection: str, ref: str = "full") -> Any:
    """Return fields of a spec."""
    query = f'{{ revision(ref: "{ref}") {{ spec(hash: "{hash_of(name)}") {{ {selection} }} }} }}'
    return world.data(query)["revision"]["spec"]


def names(connection: dict[str, Any]) -> list[str]:
    """Return the names of a page's nodes."""
    return [node["name"] for node in connection["nodes"]]


def test_external_dependencies(world: World) -> None:
    """With a version and path if the source states them."""
    selection = "dependencies { nodes { name version externalPath spec { hash } } }"
    for ref, version, path in (("full", None, None), ("stated", "13.2.0", "/usr")):
        nodes = of_spec(world, "app", selection, ref)["dependencies"]["nodes"]
        assert {"name": "gcc", "version": version, "externalPath": path, "spec": None} in nodes
        assert [node["externalPath"] for node in nodes if node["spec"]] == [None, None]


def test_transitive_dependencies(world: World) -> None:
    """Each once, nearest first; a cycle ends, and does not include the spec itself."""
    selection = "dependencies(transitive: true) { nodes { name } edges { types virtuals } }"
    connection = of_spec(world, "app", selection)["dependencies"]
    assert names(connection) == ["lib", "tool", "gcc", "core"]
    assert connection["edges"][-1] == {"types": ["LINK", "RUN"], "virtuals": ["mpi"]}
    assert names(of_spec(world, "lib", selection)["dependencies"]) == ["core", "gcc"]
    assert names(of_spec(world, "tool", selection)["dependencies"]) == []


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("app", "dependencies(types: [LINK])", ["lib"]),
        ("app", "dependencies(types: [LINK], transitive: true)", ["lib", "core"]),
        ("app", "dependencies(types: [])", []),
        ("app", "dependencies(types: null)", ["lib", "tool", "gcc"]),
        ("lib", "dependents(types: [LINK])", ["app"]),
        ("tool", "dependents(types: [LINK])", []),
    ],
)
def test_types_of_dependencies(world: World, name: str, field: str, expected: list[str]) -> None:
    """Each edge of a path has one of the types; an empty list matches none, null all."""
    page = of_spec(world, name, f"page: {field} {{ nodes {{ name }} }}")["page"]
    assert names(page) == expected


def test_unknown_dependencies(world: World) -> None:
    """Null rather than an empty list."""
    selection = "dependencies { totalCount } dependents { totalCount }"
    none, one = {"totalCount": 0}, {"totalCount": 1}
    for name, ref, expected in (
        ("app", "bare", [None, None]),
        ("app", "mixed", [one, none]),
        ("lib", "mixed", [None, one]),
    ):
        assert [*of_spec(world, name, selection, ref).values()] == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('matching: "app %c=gcc %lib"', ["app"]),
        ('matching: "* ^gcc@13"', []),  # only an edge names it
        ('matching: "* ^gcc", filter: {stacks: ["hep"]}', []),
        ('matching: "* ^gcc", orderBy: {field: PACKAGE, direction: DESC}, first: 1', ["lib"]),
        ("matching: null", ["app", "core", "lib", "tool"]),
    ],
)
def test_matching(world: World, arguments: str, expected: list[str]) -> None:
    """A query in Spack's language combines with all other arguments."""
    query = f'{{ revision(ref: "full") {{ specs({arguments}) {{ nodes {{ name }} }} }} }}'
    assert names(world.data(query)["revision"]["specs"]) == expected


def test_matching_in_packages_and_stacks(world: World) -> None:
    """In lists as well as in single objects."""
    revision = world.data(
        """{ revision(ref: "full") {
          package(name: "lib") { specs(matching: "* ^gcc") { totalCount } }
          packages { nodes { name specs(matching: "* ^gcc") { totalCount nodes { name } } } }
          stack(name: "e4s") { specs(matching: "* ^gcc") { nodes { name } } }
        } }"""
    )["revision"]
    assert revision["package"]["specs"]["totalCount"] == 1
    assert [node["specs"]["totalCount"] for node in revision["packages"]["nodes"]] == [1, 0, 1, 0]
    assert names(revision["stack"]["specs"]) == ["app", "lib"]


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("app@999", []),
        ("app ^lip", [{"name": "lip", "nearestNames": ["lib"]}]),
        ("app %quite-another", [{"name": "quite-another", "nearestNames": []}]),
    ],
)
def test_unknown_names(world: World, query: str, unknown: list[Any]) -> None:
    """Nothing matches a name that no spec has; the nearest names are listed."""
    revision = world.data(
        """query($matching: String) { revision(ref: "full") {
          specs(matching: $matching) { totalCount unknownNames { name nearestNames } }
          package(name: "app") { specs(matching: $matching) { unknownNames { name nearestNames } } }
        } }""",
        matching=query,
    )["revision"]
    assert revision["specs"]["unknownNames"] == unknown
    assert not unknown or revision["specs"]["totalCount"] == 0
    assert revision["package"]["specs"]["unknownNames"] == unknown


@pytest.mark.parametrize(
    ("ref", "query", "message", "position"),
    [
        ("full", "app@@", "unexpected '@' at character 5", 4),
        ("full", "ap", "in this revision or in the newest of any tag; nearest: app", None),
        ("mixed", "app ^lib", "does not list the dependencies of 1 of 2 specs", None),
    ],
)
def test_bad_queries(world: World, ref: str, query: str, message: str, position: Any) -> None:
    """The error states the reason and the position in the query."""
    specs = f'specs(matching: "{query}") {{ totalCount }}'
    error = world.error(f'{{ revision(ref: "{ref}") {{ {specs} }} }}')
    assert message in error["message"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"].get("position") == position


def test_levels_are_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Per request, however cheap its document appears."""
    lists = "dependencies(transitive: true) { totalCount }"
    text = f'{{ revision(ref: "full") {{ specs(first: 9) {{ nodes {{ {lists} }} }} }} }}'
    assert "errors" not in world.ask(text)
    monkeypatch.setattr(budget, "MAX_LEVELS", 4)
    response = world.ask(text)
    (error,) = response["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 4 levels of dependencies" in error["message"]
    assert response["data"] is None
