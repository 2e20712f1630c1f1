"""``cachelog demo``: a made-up history, as a catalog or as pages."""

from pathlib import Path

from snapshots.demo import develop_history, history
from tests.server.cache_pages import as_pages_tell, history_of
from tests.server.commands import cachelog


def test_the_demo_fills_a_catalog(tmp_path: Path) -> None:
    """Its options set the size; it is the same every time, and marked as synthetic."""
    options = ("demo", "--revisions", "3", "--packages", "5", "--specs", "20", "--seed", "7")
    done = cachelog(*options, catalog=tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    assert len(done.lines) == 2 * 3
    assert all(line.endswith(" (synthetic)") for line in done.lines)
    cachelog(*options, catalog=tmp_path / "b")
    made, again = (history_of(tmp_path / name).revisions for name in "ab")
    assert [it.digest for it in made] == [it.digest for it in again]
    expected = develop_history(revisions=3, packages=5, specs=20, seed=7)
    assert {(it.tag, it.taken_at, it.digest) for it in made} == {
        (it.tag, it.taken_at, it.content.digest) for it in expected
    }
    assert all(it.source.synthetic for it in made)
    assert cachelog(*options[:-1], "8", catalog=tmp_path / "c").out != done.out


def test_the_demo_can_be_written_as_pages(tmp_path: Path) -> None:
    """An import of them has the demo's contents, as far as pages can hold them."""
    options = ("--revisions", "2", "--packages", "5", "--specs", "20")
    done = cachelog("demo", *options, "--pages", tmp_path / "pages", catalog=tmp_path / "c")
    assert (done.code, done.err) == (0, "")
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
