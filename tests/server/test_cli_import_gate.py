"""``cachelog import --gate``: what breaks rules is not published."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import judge_planned
from snapshots.catalog.publication import Planned
from snapshots.changes.rules.rule_files import parse_rules
from snapshots.errors import RefusedByRules
from snapshots.models import Spec
from tests.server.cache_pages import detail, history_of, page, written
from tests.server.commands import Done, cachelog
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

RULES = """\
[[rule]]
name = "No package goes"
forbid = "package-removed"

[[rule]]
name = "There is zlib"
require = "zlib"

[[rule]]
name = "Told only"
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


def import_pages(tmp_path: Path, rules: Path, *packages: str) -> Done:
    """Import pages of packages, as the state that the cache has now."""
    folder = tmp_path / f"pages of {' '.join(packages)}"
    for name in packages:
        written(
            folder, page(name, spec_details=[detail(hash_of(name))]), f"develop/{name}/specs.md"
        )
    return cachelog("import", folder, "--gate", rules, catalog=tmp_path / "catalog")


def digests(tmp_path: Path) -> list[str]:
    """Return the contents of all revisions."""
    return [it.digest for it in history_of(tmp_path / "catalog").revisions]


def test_what_breaks_a_rule_is_not_published(tmp_path: Path, rules: Path) -> None:
    """The verdict is printed, and the catalog is unchanged; what keeps the rules is published."""
    done = import_pages(tmp_path, rules, "hdf5", "zlib")
    assert (done.code, done.err) == (0, "")
    before = digests(tmp_path)
    assert len(before) == 1

    done = import_pages(tmp_path, rules, "zlib")
    assert (done.code, done.out) == (1, "")
    assert "\nerror: No package goes: 1 package removed\n" in done.err
    assert "\n  hdf5 is gone: " in done.err
    assert done.err.endswith(f"cachelog: {rules}: rules are broken, so nothing was published\n")
    assert digests(tmp_path) == before

    done = import_pages(tmp_path, rules, "hdf5", "zlib", "zstd")
    assert (done.code, done.err) == (0, "")
    assert len(digests(tmp_path)) == 2


def test_the_first_of_a_series_is_judged_alone(tmp_path: Path, rules: Path) -> None:
    """By the rules that need no base."""
    done = import_pages(tmp_path, rules, "hdf5")
    assert done.code == 1
    assert "error: There is zlib: no package 'zlib'" in done.err
    assert "No package goes" not in done.err
    done = cachelog("revisions", "--json", catalog=tmp_path / "catalog")
    assert done.code == 1
    assert "there is no catalog" in done.err


def test_a_bad_file_of_rules(tmp_path: Path, rules: Path) -> None:
    """It is refused before anything is read; so is a rule that cannot be judged, by its line."""
    rules.write_text("[[rule]]\nname = 'a'\n", "utf-8")
    done = cachelog("import", tmp_path / "none", "--gate", rules, catalog=tmp_path / "catalog")
    assert (done.code, done.out) == (1, "")
    assert f"{rules}, line 1: the rule asks for nothing" in done.err
    assert "none" not in done.err.replace(str(rules), "")
    assert import_pages(tmp_path, _only(rules, "There"), "zlib").code == 0
    rules.write_text("[[rule]]\nname = 'a'\nforbid = 'spec-removed'\nstack = 'x'", "utf-8")
    done = import_pages(tmp_path, rules, "hdf5")
    assert done.code == 1
    assert f"{rules}, line 1, stack: rule 'a': neither revision has 'x'" in done.err
    assert len(digests(tmp_path)) == 1


def _only(rules: Path, name: str) -> Path:
    start = RULES.index(f'[[rule]]\nname = "{name}')
    rules.write_text(RULES[start : RULES.index("[[rule]]", start + 1)], "utf-8")
    return rules


ALL = [a_spec("a", name="zlib"), a_spec("b", name="hdf5"), a_spec("c", name="zstd")]


def publish(catalog: Catalog, *states: tuple[int, Sequence[Spec]], text: str = RULES) -> list[str]:
    """Publish states by their days; return what was judged, rule by broken rule."""
    broken: list[str] = []

    def approve(planned: Planned) -> None:
        for judgement in judge_planned(parse_rules(text, "f"), planned, lambda: ()):
            verdict = judgement.verdict
            days = [it.taken_at.day if it else 0 for it in (judgement.base, judgement.head)]
            broken.extend(f"{days} {it.rule.name}" for it in verdict.results if not it.passed)
            if not verdict.passed:
                raise RefusedByRules("f")

    snapshots = [a_snapshot(specs, taken_at=day(number)) for number, specs in states]
    catalog.publish(snapshots, approve=approve)
    return broken


def test_each_is_compared_with_the_revision_before_it(tmp_path: Path) -> None:
    """Among those of one import too, and where one is inserted between others."""
    catalog = Catalog(str(tmp_path))
    assert publish(catalog, (0, ALL), (9, [*ALL, a_spec("d", name="new")])) == []
    assert publish(catalog, (4, [*ALL, a_spec("e", name="zlib", version="2")])) == []
    assert publish(catalog, (5, [*ALL[1:], a_spec("f", name="zlib")])) == [
        f"[{day(4).day}, {day(5).day}] Told only"
    ]
    with pytest.raises(RefusedByRules):
        publish(catalog, (20, ALL), (21, ALL[:2]))
    assert [it.taken_at for it in catalog.history.revisions] == [day(9), day(5), day(4), day(0)]


def test_an_unchanged_revision_is_not_judged(tmp_path: Path) -> None:
    """There is nothing to refuse."""
    catalog = Catalog(str(tmp_path))
    publish(
        catalog, (0, ALL), (1, ALL[:2]), text=RULES.replace('"package-removed"', '"stack-removed"')
    )
    assert publish(catalog, (2, ALL[:2])) == []


def test_rebuilt_specs_are_counted_before_they_are_published(tmp_path: Path) -> None:
    """Their reasons need the graphs of contents that no revision names yet."""
    text = '[[rule]]\nname = "rebuilt"\nlimit = "specs-rebuilt"\nat-most = 1'
    catalog = Catalog(str(tmp_path))
    again = [a_spec(f"again {it.name}", name=it.name) for it in ALL]
    assert publish(catalog, (0, ALL), (1, [*again[:1], *ALL[1:]]), text=text) == []
    with pytest.raises(RefusedByRules):
        publish(catalog, (2, again), text=text)
