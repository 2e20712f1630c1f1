"""``cachelog demo``: a made-up history, as a catalog or as pages."""

from pathlib import Path

from snapshots.demo import develop_history, history
from tests.server.cache_pages import as_pages_tell, history_of
from tests.server.commands import cachelog, succeed


def test_the_demo_fills_a_catalog(tmp_path: Path) -> None:
    """Also at the URL of a folder. Its options set the size, and all is marked as synthetic."""
    options = ("demo", "--revisions", "3", "--packages", "5", "--specs", "20", "--seed", "7")
    done = succeed(*options, catalog=f"file://{tmp_path / 'a'}")
    assert len(done.lines) == 2 * 3
    assert all(line.endswith(" (synthetic)") for line in done.lines)
    made = history_of(tmp_path / "a").revisions
    expected = develop_history(revisions=3, packages=5, specs=20, seed=7)
    assert {(it.tag, it.taken_at, it.digest) for it in made} == {
        (it.tag, it.taken_at, it.content.digest) for it in expected
    }
    assert all(it.source.synthetic for it in made)


def test_the_demo_can_be_written_as_pages(tmp_path: Path) -> None:
    """An import of them has the demo's contents, as far as pages can hold them."""
    options = ("--revisions", "2", "--packages", "5", "--specs", "20")
    done = succeed("demo", *options, "--pages", tmp_path / "pages", catalog=tmp_path / "c")
    assert done.lines == [
        f"{tag}: wrote 5 pages below {tmp_path / 'pages' / tag}"
        for tag in ("develop-2025-01-05", "develop")
    ]
    assert not (tmp_path / "c").exists()
    cachelog("import", tmp_path / "pages", catalog=tmp_path / "c")
    imported = {it.tag: it.digest for it in history_of(tmp_path / "c").revisions}
    assert imported == {
        it.tag: as_pages_tell(it.content).digest
        for it in history(revisions=2, packages=5, specs=20)
    }
