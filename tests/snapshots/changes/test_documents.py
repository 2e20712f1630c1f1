"""Tests that whatever the hash of a spec covers is named as a cause."""

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snapshots.changes.causes import Causes
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.plans import side_of
from snapshots.changes.sides import Side
from snapshots.changes.vocabulary import cause_title
from snapshots.contents import Content
from snapshots.errors import SourceError
from snapshots.models import CauseKind
from snapshots.sources.buildcache import database
from snapshots.sources.reports import Report
from tests.expensive import FEWER_EXAMPLES

Node = dict[str, Any]

EXTERNAL: Node = {
    "name": "mpich",
    "version": "4.1",
    "arch": {"platform": "linux", "platform_os": "rhel9", "target": "x86_64_v3"},
    "namespace": "builtin",
    "parameters": {"cflags": [], "cppflags": [], "cxxflags": []}
    | {"fflags": [], "ldflags": [], "ldlibs": []},
    "external": {"path": "/usr", "module": None, "extra_attributes": {}},
    "package_hash": "mpichrecipe====",
    "annotations": {"original_specfile_version": 5},
}
APP: Node = {
    "name": "app",
    "version": "2.0",
    "arch": {
        "platform": "linux",
        "platform_os": "rhel9",
        "target": {
            "name": "skylake",
            "vendor": "GenuineIntel",
            "features": ["adx", "aes"],
            "generation": 0,
            "parents": ["broadwell"],
        },
    },
    "namespace": "builtin",
    "parameters": {"build_system": "generic", "langs": ["c"], "patches": ["a" * 64, "b" * 64]}
    | {"shared": True, "cflags": [], "cppflags": [], "cxxflags": []}
    | {"fflags": [], "ldflags": ["-g", "-O2"], "ldlibs": []},
    "patches": ["b" * 64, "a" * 64],
    "package_hash": "apprecipe====",
    "dependencies": [
        {"name": "mpich", "parameters": {"deptypes": ["build", "link"], "virtuals": ["mpi"]}}
    ],
    "annotations": {"original_specfile_version": 5},
}
TOOL: Node = APP | {"name": "tool", "dependencies": [], "parameters": EXTERNAL["parameters"]}
OLD_APP: Node = {
    name: value for name, value in APP.items() if name not in ("dependencies", "annotations")
} | {"compiler": {"name": "gcc", "version": "13.2.0"}}


def side(nodes: list[Node]) -> Side:
    """Return a side of nodes; each is hashed with those before it that it depends on."""
    hashes: dict[str, str] = {}
    installs = {}
    for node in deepcopy(nodes):
        for edge in node.get("dependencies", []):
            edge["hash"] = hashes[edge["name"]]
            edge["parameters"] = edge.pop("parameters")  # after the hash
        text = json.dumps(node, separators=(",", ":")).encode()
        digest = hashes[node["name"]] = database.dag_hash(text)
        node["hash"] = digest
        installs[digest] = {"spec": node, "in_buildcache": "external" not in node}
    document = {"database": {"version": "8", "installs": installs}}
    specs = database.decode(json.dumps(document).encode(), "index.json", Report())
    content = Content.of(specs.in_cache.values(), specs.outside.values())
    return side_of(content.table(), content.digest)


def causes(base: list[Node], head: list[Node]) -> Causes:
    """Return the causes of a comparison of two lists of nodes."""
    before, after = side(base), side(head)
    return explain(Comparison(before.frame, after.frame), before.graph, after.graph).causes


def titles(base: list[Node], head: list[Node]) -> dict[str, tuple[int, int]]:
    """Return the specs that each cause accounts for and reaches, by title."""
    compared = causes(base, head)
    return {
        cause_title(compared.name_of(count.number)): (count.num_specs, count.num_involved)
        for count in compared.counted()
    }


def changed(node: Node, path: str, value: Any) -> Node:
    """Return a node with another value at a path."""
    node = deepcopy(node)
    *above, last = path.split("/")
    place = node
    for name in above:
        place = place[name]
    place[last] = value
    return node


@pytest.mark.parametrize(
    ("path", "value", "title"),
    [
        ("external/path", "/opt", "external mpich: /usr → /opt"),
        ("external/module", ["cray/8"], "external mpich: ? → module cray/8"),
        (
            "external/extra_attributes",
            {"compilers": {"c": "/bin/cc"}},
            "external mpich: ? → compilers.c=/bin/cc",
        ),
        ("version", "4.2", "mpich 4.1 → 4.2"),
        ("namespace", "mine", "mpich comes from mine, before from builtin"),
        ("provided_virtuals", ["mpi"], "recipe of mpich changed"),
    ],
)
def test_an_external_below(path: str, value: Any, title: str) -> None:
    """What changes of an external is the cause of the specs above it."""
    assert titles([EXTERNAL, APP], [changed(EXTERNAL, path, value), APP]) == {title: (1, 1)}


@pytest.mark.parametrize(
    ("path", "value", "title"),
    [
        ("patches", ["a" * 64, "b" * 64], "order of patches of app"),
        ("parameters/langs", "c", 'app is written otherwise: langs=["c"] → langs="c"'),
        ("parameters/langs", ["d"], "app langs=c → langs=d"),
        (
            "arch/target/features",
            ["abm", "adx", "aes"],
            "target skylake is described otherwise (another archspec; features: abm)",
        ),
        ("namespace", "mine", "app comes from mine, before from builtin"),
        ("note", 1, "app is written otherwise: as usual → note=1"),
    ],
)
def test_a_spec_itself(path: str, value: Any, title: str) -> None:
    """Whatever differs in a document is named, with both sides."""
    assert titles([EXTERNAL, APP], [EXTERNAL, changed(APP, path, value)]) == {title: (1, 1)}


def test_a_target_is_one_cause_of_all_packages() -> None:
    """Specs that changed themselves have it, too; it accounts for the others."""
    features = changed(APP, "arch/target/features", ["abm"])["arch"]
    head = [EXTERNAL, APP | {"arch": features}, TOOL | {"arch": features, "version": "3"}]
    assert titles([EXTERNAL, APP, TOOL], head) == {
        "target skylake is described otherwise "
        "(another archspec; features: adx,aes; features: abm)": (1, 2),
        "tool 2.0 → 3": (1, 1),
    }


@pytest.mark.parametrize("version", ["13.2.0", "14.1.0"])
def test_compilers_became_dependencies(version: str) -> None:
    """They are one cause, and another compiler keeps its own."""
    gcc = EXTERNAL | {"name": "gcc", "version": version}
    tools = [TOOL | {"name": name} for name in ("compiler-wrapper", "gcc-runtime")]
    edges = [
        {"name": "compiler-wrapper", "parameters": {"deptypes": ["build"], "virtuals": []}},
        {"name": "gcc", "parameters": {"deptypes": ["build"], "virtuals": ["c"]}},
        {"name": "gcc-runtime", "parameters": {"deptypes": ["link"], "virtuals": []}},
    ]
    head = [gcc, *tools, *(APP | {"name": name, "dependencies": edges} for name in ("a", "b"))]
    expected = {"compilers became dependencies": (2, 2)}
    if version != "13.2.0":
        expected = {"compiler gcc@13.2.0 → gcc@14.1.0": (2, 2)} | {
            "compilers became dependencies": (0, 2)
        }
    assert titles([OLD_APP | {"name": name} for name in ("a", "b")], head) == expected


def test_a_compiler_is_one_cause() -> None:
    """Where compilers are facts, another one is one cause for all packages."""
    newer = {"compiler": {"name": "gcc", "version": "14.1.0"}}
    base = [OLD_APP, OLD_APP | {"name": "b"}]
    head = [node | newer for node in base]
    assert titles(base, head) == {"compiler gcc@13.2.0 → gcc@14.1.0": (2, 2)}


def mutated(random: Random, value: Any) -> Any:
    """Return a value with one change anywhere in it."""
    if isinstance(value, dict) and value:
        key = random.choice([*value])
        match random.randrange(8):
            case 0:
                return {name: below for name, below in value.items() if name != key}
            case 1:
                return value | {"new": random.choice([1, "x", [], None])}
            case 2:
                names = [*value]
                random.shuffle(names)
                return {name: value[name] for name in names}
        return value | {key: mutated(random, value[key])}
    if isinstance(value, list) and value:
        place = random.randrange(len(value))
        match random.randrange(4):
            case 0:
                return [*value[:place], *value[place + 1 :]]
            case 1:
                return value[::-1]
            case 2:
                return [*value, value[place]]
        return [*value[:place], mutated(random, value[place]), *value[place + 1 :]]
    others = ["x", ["x"], [], True, False, 5, 6, None, "x,y", {"x": "y"}]
    return random.choice([*others, [value], str(value)])


@FEWER_EXAMPLES
@given(st.integers(0, 1 << 32), st.sampled_from([EXTERNAL, APP, TOOL, OLD_APP]))
def test_any_change_is_named(seed: int, node: Node) -> None:
    """Any one change of what the hash of a spec covers has a cause that is known."""
    random = Random(seed)
    other = mutated(random, node)
    assume(json.dumps(other) != json.dumps(node))
    assume(other.get("name") == node["name"] and ("external" in other) == ("external" in node))
    below = [] if node in (EXTERNAL, OLD_APP) else [EXTERNAL]
    above = [APP] if node is EXTERNAL else []
    try:
        compared = causes([*below, node, *above], [*below, other, *above])
    except (SourceError, KeyError, TypeError, AttributeError):
        assume(False)
    names = [compared.name_of(number) for number in range(len(compared))]
    # Without a counterpart, as for another architecture, there is no cause.
    assert all(name.kind is not CauseKind.UNKNOWN for name in names)
    assert all(name.kind is not CauseKind.FORMAT or name.before or name.after for name in names)


@pytest.mark.parametrize("flag", ['-DX="ab"', "-DX='a'", "-DX"])
def test_a_flag_with_quotes_written_as_a_text(flag: str) -> None:
    """The usual spelling that it is compared with has the quotes that are part of the flag."""
    base, head = (changed(APP, "parameters/ldflags", value) for value in ([flag], flag))
    title = f"app is written otherwise: ldflags={json.dumps([flag])} → ldflags={json.dumps(flag)}"
    assert titles([EXTERNAL, base], [EXTERNAL, head]) == {title: (1, 1)}


def test_flags_are_a_list() -> None:
    """One flag with a space is another value than two flags, though Spack prints both alike."""
    base, head = (changed(APP, "parameters/ldflags", value) for value in (["-a b"], ["-a", "b"]))
    title = 'app ldflags=["-a b"] → ldflags=["-a", "b"]'
    assert titles([EXTERNAL, base], [EXTERNAL, head]) == {title: (1, 1)}
