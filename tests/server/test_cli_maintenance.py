"""``cachelog remove``, ``prune``, ``vacuum``, ``verify`` and ``backup``."""

import re
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.cache_pages import page, write_page
from tests.server.commands import CommandResult, cachelog, fail, succeed
from tests.snapshots import removal_catalogs
from tests.snapshots.sources.buildcache.folders import put_layout_3, put_specs, text
from tests.snapshots.sources.buildcache.indexes import LIBELF, database, node, small_database
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with the revisions; tests only read it."""
    folder = removal_catalogs.published(tmp_path_factory.mktemp("template"), 4)
    removal_catalogs.publish(Catalog(str(folder)), 1, 1, "v1.0")
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog of four days of develop, and a release with the content of the second."""
    return copied(template, tmp_path / "catalog")


def run(catalog: Catalog, *arguments: object, code: int = 0, err: str = "") -> CommandResult:
    """Run a command with this exit code and start of the standard error."""
    result = cachelog(*arguments, catalog=catalog.location)
    assert (result.code, result.err[: len(err) or None]) == (code, err)
    return result


def days(catalog: Catalog, tag: str = "develop") -> list[int]:
    """Return the days of the rows of a tag."""
    return sorted(number for name, number, _ in removal_catalogs.rows(catalog) if name == tag)


def damage(catalog: Catalog, ref: str) -> str:
    """Overwrite the content of a revision; return its digest."""
    digest = catalog.history.resolve(ref).digest
    for name in removal_catalogs.stored(catalog):
        if digest in name:
            Path(catalog.location, "specs", name).write_bytes(b"nothing")
    return digest


def test_remove_prints_unused_contents(catalog: Catalog) -> None:
    """The last line describes the unused contents; an unknown ref removes nothing."""
    fail("remove", "develop", "nope", catalog=catalog.location)
    assert days(catalog) == [0, 1, 2, 3]
    result = run(catalog, "remove", "develop~1", "develop@2025-01-06")
    removed = [line.split()[0].partition("@")[0] for line in result.lines[:-1]]
    assert removed == ["revision", "develop", "develop"]
    assert result.lines[-1].startswith(
        "2 revisions removed; 'cachelog vacuum' deletes 1 content after some time, "
    )
    assert days(catalog) == [0, 3]
    assert days(catalog, "v1.0") == [1]
    result = run(catalog, "remove", "v1.0")
    assert result.lines[-1].startswith("1 revision removed; 'cachelog vacuum' deletes 1 content")


@pytest.mark.parametrize(
    "arguments",
    [("remove", "develop~1"), ("prune", "--keep", "1 last"), ("vacuum",)],
    ids=" ".join,
)
def test_dry_run_changes_nothing(catalog: Catalog, arguments: tuple[str, ...]) -> None:
    """It prints the changes without making them."""
    removal_catalogs.grow_old(catalog)

    def times() -> dict[Path, float]:
        return {path: path.stat().st_mtime for path in Path(catalog.location).rglob("*")}

    before = times()
    assert run(catalog, *arguments, "--dry-run", "--json").json
    text = run(catalog, *arguments, "--dry-run").out
    assert "would be removed" in text or arguments == ("vacuum",)
    assert times() == before


def test_prune_prints_remaining_revisions(catalog: Catalog) -> None:
    """The output has the remaining revisions by series; a dry run, each revision with reasons."""
    command = ("prune", "--keep", "2 last, all releases")
    result = run(catalog, *command, "--dry-run")
    reasons = [line.split(maxsplit=1)[1] for line in result.lines[1:6]]
    assert reasons == ["2 last"] * 2 + ["2 last, all releases"] + ["none: removed"] * 2
    result = run(catalog, *command)
    assert result.lines[:2] == ["develop: 2 of 4 revisions kept", "vX.Y.Z: 1 of 1 revision kept"]
    assert result.lines[2].startswith("2 revisions removed; 'cachelog vacuum' deletes 1 content")
    assert days(catalog) == [2, 3]
    assert run(catalog, "prune", "--keep", "2 last").lines[-1] == "nothing to remove"
    report = run(catalog, "prune", "--keep", "1 last", "--json").json
    assert [ref.partition("@")[0] for ref in report["revisions"]] == ["develop"]


def test_prune_removes_dated_tags(catalog: Catalog) -> None:
    """Also the newest revision of a tag, which a dry run lists, but not that of the series."""
    for state in range(3):
        removal_catalogs.publish(catalog, state, state, f"nightly-2025-01-0{state + 5}")
    command = ("prune", "--keep", "1 last", "--series", "nightly-DATE")
    lines = run(catalog, *command, "--dry-run").lines
    start = lines.index("2 tags would lose the newest revision:")
    assert lines[start + 1 : start + 3] == ["  - nightly-2025-01-06", "  - nightly-2025-01-05"]
    run(catalog, *command)
    catalog.refresh()
    assert [tag for tag in catalog.history.tags if tag.startswith("n")] == ["nightly-2025-01-07"]


def test_vacuum_counts_deleted_files(catalog: Catalog) -> None:
    """The output counts the deleted files by table; a second run deletes none."""
    with removal_catalogs.hours_ago(30):
        removal_catalogs.drop_unlisted(catalog, "develop")
    removal_catalogs.grow_old(catalog, 30)
    result = run(catalog, "vacuum")
    deleted = [line.rpartition(", ")[0] for line in result.lines if "deleted" in line]
    assert deleted[-1] == "specs: 1 file deleted"
    assert days(catalog) == [0, 1, 2]
    assert run(catalog, "vacuum", "--older-than", "168").lines == ["nothing to delete"]


def test_verify_reports_damaged_content(catalog: Catalog) -> None:
    """All contents are read; damage exits with 1 and advice, and others only warn of it."""
    result = run(catalog, "verify")
    assert result.lines == ["4 contents of 5 revisions read, 46 specs: no damage found"]
    report = run(catalog, "verify", "--json").json
    assert (report["findings"], report["numPairs"]) == ([], 5)
    digest = damage(catalog, "develop")
    result = run(catalog, "verify", code=1)
    assert result.lines[0].startswith(f"damaged: content {digest[:12]}: ")
    assert result.lines[0].endswith("import the same again to replace it")
    assert result.lines[1] == "4 contents of 5 revisions read, 33 specs: 1 damage found"
    report = run(catalog, "verify", "--json", code=1).json
    (finding,) = report["findings"]
    assert finding["isDamage"]
    assert finding.keys() == {"isDamage", "place", "reason", "advice"}
    run(catalog, "remove", "develop~1", err="warning: new neighbours were not compared yet: ")
    pages = Path(catalog.location).parent / "_cache"
    write_page(pages, page())
    result = cachelog("import", pages, "--json", catalog=catalog.location)
    (warning,) = result.json["warnings"]
    assert "what changed could not be stored now; it will be compared later: catalog" in warning
    assert f"warning: {warning}" in result.err


def test_backup_counts_copied_and_removed_files(catalog: Catalog, tmp_path: Path) -> None:
    """The output counts the copied and removed files; an error is one line."""
    target = str(tmp_path / "backup")
    copied_files, rows_held = run(catalog, "backup", target).lines
    assert re.fullmatch(r"\d+ files copied, .*B", copied_files)
    assert rows_held == f"{target} holds 5 rows of revisions"
    with removal_catalogs.hours_ago():
        removal_catalogs.drop(catalog, "develop~1")
    removal_catalogs.clean(catalog)
    second = run(catalog, "backup", target)
    assert re.fullmatch(r"\d+ files? removed, out of use", second.lines[1])
    report = cachelog("backup", tmp_path / "again", "--json", catalog=target).json
    assert (report["numRevisions"], report["numRemoved"]) == (4, 0)


def test_verify_compares_an_index_with_its_cache(tmp_path: Path) -> None:
    """No catalog is read; the numbers are those of the import's warnings, and exit with 1."""
    files = put_specs(tmp_path, small_database())
    put_layout_3(tmp_path, text(small_database()))
    assert succeed("verify", "--source", tmp_path).lines == [
        "3 specs listed, as the cache has them"
    ]
    files[LIBELF].unlink()
    put_specs(tmp_path, database(node("zlib", "b" * 32)))
    result = cachelog("verify", "--source", tmp_path, "--json")
    assert result.code == 1
    assert result.json["numSpecs"] == 3
    assert (result.json["unlisted"], result.json["gone"]) == (["b" * 32], [LIBELF])
    lines = cachelog("verify", "--source", tmp_path).lines
    advice = "'spack buildcache update-index' writes it again"
    assert [line.split(": ")[-1] for line in lines] == [
        f"lacks 1 spec of the cache; {advice}",
        f"lists 1 spec that the cache no longer has; {advice}",
        "3 specs listed",
    ]
