"""``cachelog import --gate``: revisions that break rules are not published."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from server.terminal.printing.verdicts import gatekeeper
from snapshots.catalog.catalog import Catalog
from snapshots.errors import RefusedByRules
from snapshots.models import Spec
from tests.server.cache_pages import detail, history_of, page, write_page
from tests.server.commands import CommandResult, cachelog, fail
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

RULES = """\
[[rule]]
name = "No package is removed"
forbid = "package-removed"

[[rule]]
name = "There is zlib"
require = "zlib"

[[rule]]
name = "Only a warning"
level = "warning"
limit = "specs-removed"
at-most = 0
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a file of rules."""
    file = tmp_path / "rules.toml"
    file.write_text(RULES, "utf-8")
    return file


def import_pages(tmp_path: Path, rules: Path, *packages: str) -> CommandResult:
    """Import pages of packages as the current state of the cache."""
    folder = tmp_path / f"pages of {' '.join(packages)}"
    for package in packages:
        write_page(
            folder,
            page(package, spec_details=[detail(hash_of(package))]),
            f"develop/{package}/specs.md",
        )
    return cachelog("import", folder, "--gate", rules, catalog=tmp_path / "catalog")


def digests(tmp_path: Path) -> list[str]:
    """Return the digests of all revisions."""
    return [revision.digest for revision in history_of(tmp_path / "catalog").revisions]


def test_broken_rules_prevent_publication(tmp_path: Path, rules: Path) -> None:
    """The verdict is printed, and the catalog is unchanged; a revision that passes is published."""
    result = import_pages(tmp_path, rules, "hdf5", "zlib")
    assert (result.code, result.err) == (0, "")
    before = digests(tmp_path)
    assert len(before) == 1

    result = import_pages(tmp_path, rules, "zlib")
    assert (result.code, result.out) == (1, "")
    assert "\nerror: No package is removed: 1 package removed\n" in result.err
    assert "\n  hdf5 was removed: " in result.err
    assert result.err.endswith(f"cachelog: {rules}: rules are broken, so nothing was published\n")
    assert digests(tmp_path) == before

    result = import_pages(tmp_path, rules, "hdf5", "zlib", "zstd")
    assert (result.code, result.err) == (0, "")
    assert len(digests(tmp_path)) == 2


def test_first_revision_of_a_series_is_judged(tmp_path: Path, rules: Path) -> None:
    """Rules without a base judge it."""
    result = import_pages(tmp_path, rules, "hdf5")
    assert result.code == 1
    assert "error: There is zlib: no package 'zlib'" in result.err
    assert "No package is removed" not in result.err
    assert "there is no catalog" in fail("revisions", catalog=tmp_path / "catalog")


def test_invalid_rules_prevent_the_import(tmp_path: Path, rules: Path) -> None:
    """The file is rejected before anything is imported; a rule that does not apply, by its line."""
    rules.write_text("[[rule]]\nname = 'a'\n", "utf-8")
    error = fail("import", tmp_path / "none", "--gate", rules, catalog=tmp_path / "catalog")
    assert f"{rules}, line 1: the rule asks for nothing" in error
    assert "none" not in error.replace(str(rules), "")
    rules.write_text("[[rule]]\nname = 'a'\nrequire = 'zlib'", "utf-8")
    assert import_pages(tmp_path, rules, "zlib").code == 0
    rules.write_text("[[rule]]\nname = 'a'\nforbid = 'spec-removed'\nstack = 'x'", "utf-8")
    result = import_pages(tmp_path, rules, "hdf5")
    assert result.code == 1
    assert f"{rules}, line 1, stack: rule 'a': neither revision has 'x'" in result.err
    assert len(digests(tmp_path)) == 1


SPECS = [a_spec("a", name="zlib"), a_spec("b", name="hdf5"), a_spec("c", name="zstd")]


def publish(catalog: Catalog, rules: Path, *revisions: tuple[int, Sequence[Spec]]) -> None:
    """Publish revisions by their days; raises RefusedByRules."""
    snapshots = [a_snapshot(specs, taken_at=day(number)) for number, specs in revisions]
    catalog.publish(snapshots, approve=gatekeeper(str(rules), lambda: ()))


def test_base_is_the_preceding_revision(
    tmp_path: Path, rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also within one import, and if a revision is inserted between others."""
    catalog = Catalog(str(tmp_path / "catalog"))
    publish(catalog, rules, (0, SPECS), (9, [*SPECS, a_spec("d", name="new")]))
    publish(catalog, rules, (4, [*SPECS, a_spec("e", name="zlib", version="2")]))
    assert capsys.readouterr().err == ""
    publish(catalog, rules, (5, [*SPECS[1:], a_spec("f", name="zlib")]))
    sides, *_ = capsys.readouterr().err.splitlines()
    assert re.sub(r" \(\w+\)", "", sides) == "develop of 2025-01-09 -> develop of 2025-01-10"
    with pytest.raises(RefusedByRules):
        publish(catalog, rules, (20, SPECS), (21, SPECS[:2]))
    assert [revision.taken_at.day for revision in catalog.history.revisions] == [14, 10, 9, 5]


def test_unchanged_revision_is_not_judged(tmp_path: Path, rules: Path) -> None:
    """No revision would be published."""
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.publish([a_snapshot(SPECS[1:], taken_at=day(0))])
    publish(catalog, rules, (1, SPECS[1:]))


def test_rebuilt_specs_are_counted_before_publication(tmp_path: Path, rules: Path) -> None:
    """Their reasons need the graphs of contents that no revision names yet."""
    rules.write_text('[[rule]]\nname = "rebuilt"\nlimit = "specs-rebuilt"\nat-most = 1')
    catalog = Catalog(str(tmp_path / "catalog"))
    rebuilt = [a_spec(f"again {spec.name}", name=spec.name) for spec in SPECS]
    publish(catalog, rules, (0, SPECS), (1, [*rebuilt[:1], *SPECS[1:]]))
    with pytest.raises(RefusedByRules):
        publish(catalog, rules, (2, rebuilt))
