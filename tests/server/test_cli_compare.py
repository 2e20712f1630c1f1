"""``cachelog diff`` and ``cachelog notes``: changes between revisions, and between two specs."""

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from tests.schema.worlds import World
from tests.server.commands import cachelog, run_in, succeed, succeed_in
from tests.server.known_catalogs import a_linked_spec
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file, small_lock_file
from tests.snapshots.templates import catalog_of

BASE, HEAD = "develop-2025-01-05", "develop"


def test_diff_lists_specs(world: World) -> None:
    """By package: + added, - removed, ~ replaced, ≠ other facts; ``--stat`` omits specs."""
    result = succeed_in(world, "diff", BASE, HEAD)
    assert {line[2] for line in result.lines if re.match("  [^ ]", line)} == {*"+-≠~"}
    specs = succeed_in(world, "diff", BASE, HEAD, "--json").json["compare"]["specs"]["nodes"]
    hashes = [spec["hash"] for spec in specs]
    printed = re.findall(r"^  [-+≠~] ([a-z2-7]+)", result.out, re.MULTILINE)
    assert printed
    assert all(any(digest.startswith(text) for digest in hashes) for text in printed)
    stacks = [line for line in result.lines[1:] if re.match("[-+] stack ", line)]
    assert result.lines[1 : 1 + len(stacks)] == stacks != []
    rest = result.lines[1 + len(stacks) : -1]
    heads = [line.partition(":")[0] for line in rest if not line.startswith(" ")]
    assert heads == sorted({spec["name"] for spec in specs})
    paired = sum(spec["reason"] in ("REBUILT", "REPLACES") for spec in specs)
    counts = [int(text) for text in re.findall(r"[0-9]+", result.lines[-1])]
    assert sum(counts) == len(specs) - paired
    by_package = [
        re.findall(r"[0-9]+ [a-z ]+", line.rpartition("(")[2])
        for line in result.lines
        if heads and line.partition(":")[0] in heads
    ]
    assert sum(int(text.split()[0]) for texts in by_package for text in texts) == sum(counts)
    fields = [
        change["path"] for spec in specs if spec["kind"] == "CHANGED" for change in spec["fields"]
    ]
    assert re.findall("^      (\\w+): ", result.out, re.MULTILINE) == fields
    totals_alone = [line for line in result.lines if not line.startswith(" ")]
    assert succeed_in(world, "diff", BASE, HEAD, "--stat").lines == totals_alone


def test_scope_restricts_changes(world: World) -> None:
    """Changes in a stack, also with replacements outside, or of specs that match a query."""
    result = succeed_in(world, "diff", BASE, HEAD, "--stack", "hep")
    assert len(result.lines) < len(succeed_in(world, "diff", BASE, HEAD).lines)
    assert re.search("^  - .*: replaced by [a-z2-7]{7}$", result.out, re.MULTILINE)
    query = "hdf5 target=x86_64_v3"
    report = succeed_in(world, "diff", BASE, HEAD, "--matching", query, "--json").json
    assert {spec["name"] for spec in report["compare"]["specs"]["nodes"]} == {"hdf5"}


def test_differences_exit_with_1(world: World) -> None:
    """1 with ``--exit-code``, otherwise 0; an error exits with 2, otherwise with 1."""
    for arguments, code in (((BASE, HEAD, "--stat"), 1), ((HEAD, "develop~0", "--json"), 0)):
        assert run_in(world, "diff", *arguments, "--exit-code").code == code
        assert run_in(world, "diff", *arguments).code == 0
    for wrong in (("nope", HEAD), (BASE, HEAD, "--package", "nope")):
        error = run_in(world, "diff", *wrong, "--exit-code")
        assert (error.code, error.out) == (2, "")
        assert run_in(world, "diff", *wrong) == error._replace(code=1)


TWO_SPECS = Path(__file__).parents[2] / "docs" / "sides.md"
OLD_SPECS = [
    a_linked_spec("ssl:1", version="3.3"),
    a_linked_spec("cmake:1", "ssl:1"),
    a_linked_spec("zlib"),
    a_linked_spec("app:1", "cmake:1", "zlib", variants=("+mpi", "api=v1")),
]
NEW_SPECS = [
    a_linked_spec("ssl:2", version="3.4"),
    a_linked_spec("cmake:2", "ssl:2"),
    a_linked_spec("zlib"),
    a_linked_spec("aec"),
    a_linked_spec("app:2", "aec", "cmake:2", "zlib", variants=("api=v2", "~mpi")),
    a_spec("lone", name="lone", dependencies=None),
]
APP, NEW_APP = f"/{hash_of('app:1')}", f"/{hash_of('app:2')}"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two consecutive revisions."""
    snapshots = a_snapshot(OLD_SPECS, "develop", day(0)), a_snapshot(NEW_SPECS, "develop", day(1))
    return catalog_of(tmp_path_factory.mktemp("catalog"), *snapshots)


def test_differences_of_specs_and_causes_are_listed(catalog: Path) -> None:
    """Own differences, direct dependencies, causes with their paths, and indirect dependencies."""
    result = succeed("diff", APP[:9], NEW_APP[:9], catalog=catalog)
    assert result.lines[0].startswith(f"{APP} app@1.0 in develop@2025-01-05.")
    assert result.lines[1].startswith(f"{NEW_APP} app@1.0 in develop@2025-01-06.")
    expected = {
        "  api=v1 → api=v2",
        "  +mpi → ~mpi",
        f"  + aec@1.0 /{hash_of('aec')[:7]} (link)",
        f"  ~ cmake@1.0 /{hash_of('cmake:1')[:7]} → /{hash_of('cmake:2')[:7]} (link)"
        " because of ssl",
        "  ssl 3.3 → 3.4: app → cmake → ssl",
        "Below: 1 shared, 2 different, 1 only below the second",
        "  aec: only below the second",
        "  ssl: version 3.3 → 3.4",
    }
    assert expected <= {*result.lines}
    assert cachelog("diff", f"{APP}..{NEW_APP}", catalog=catalog).out == result.out


def test_documented_commands_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They run on the catalog of the tour, next to a lock file."""
    monkeypatch.chdir(tmp_path)
    Path("spack.lock").write_bytes(as_bytes(small_lock_file()))
    cachelog("demo", "--revisions", 3, "--packages", 60, "--specs", 600, catalog="tour")
    (block,) = re.findall(r"```console\n(.*?)```", TWO_SPECS.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines():
        result = cachelog(*shlex.split(line)[1:], catalog="tour")
        assert (result.code, result.err) == (int("--exit-code" in line), ""), line
        assert result.lines


def test_replaced_binaries(tmp_path: Path) -> None:
    """Another binary under the same hash is an event of its own: in diff, notes and JSON."""
    spec = a_spec("zlib", name="zlib", checksum=f"sha256:{'a' * 64}")
    other = msgspec.structs.replace(spec, checksum=f"sha256:{'b' * 64}")
    snapshots = (
        a_snapshot([state], "develop", day(number)) for number, state in enumerate((spec, other))
    )
    catalog = catalog_of(tmp_path / "catalog", *snapshots)
    result = cachelog("diff", "--binaries", "--exit-code", catalog=catalog)
    assert result.code == 1
    text = " ".join(" ".join(result.lines).split())
    assert f"≠ zlib {spec.hash[:7]}: {spec.checksum} → {other.checksum}" in text
    assert result.lines[-1] == "1 binary replaced under the same hash"
    document = cachelog("diff", "--binaries", "--json", catalog=catalog).json
    (node,) = document["compare"]["specs"]["nodes"]
    field = {"path": "checksum", "before": spec.checksum, "after": other.checksum}
    assert (node["hash"], node["fields"]) == (spec.hash, [field])
    notes = cachelog("notes", "develop~1", "develop", catalog=catalog).out
    assert "1 binary was replaced under the same hash." in notes
    past = cachelog("log", f"/{spec.hash}", catalog=catalog).lines
    assert f"2 binaries under this hash: {spec.checksum}, {other.checksum}" in past
    same = cachelog("diff", "develop", "develop", "--binaries", "--exit-code", catalog=catalog)
    assert (same.code, same.lines[-1]) == (0, "0 binaries replaced under the same hash")


def test_query_selects_a_spec_of_each_side(catalog: Path, tmp_path: Path) -> None:
    """The only match of a query on each side; a root takes precedence in a lock file."""
    result = cachelog("diff", "develop~1", "develop", "--spec", "app", catalog=catalog)
    assert result.out == cachelog("diff", APP, NEW_APP, catalog=catalog).out
    lock = tmp_path / "spack.lock"
    specs = [node("zlib", digest * 32, "1.2") for digest in "ab"]
    lock.write_bytes(as_bytes(lock_file(specs, ["a" * 32])))
    command = ("diff", lock, "develop", "--spec", "zlib")
    result = succeed(*command, catalog=catalog)
    assert result.lines[0].startswith(f"/{'a' * 32} zlib@1.2 in ")
    assert "  version 1.2 → 1.0" in result.lines
    report = cachelog(*command, "--json", catalog=catalog).json["compareSpecs"]
    assert report["base"]["revision"]["ref"] == str(lock)
    (compiler,) = [change for change in report["differences"] if change["path"] == "compiler"]
    assert compiler["after"] == "gcc@13.2.0"
    none = cachelog("diff", "develop~1", "develop", "--spec", "aec", catalog=catalog)
    assert none.err.startswith("cachelog: --spec: develop@2025-01-05.")
    assert "has no such spec" in none.err
    several = cachelog("diff", "develop~1", "develop", "--spec", "@1.0", catalog=catalog)
    assert "has 3 such specs: /" in several.err
