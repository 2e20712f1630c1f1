"""Which catalog a command opens: one that is there; only what fills a catalog makes one."""

from pathlib import Path

import pytest

from tests.server.commands import cachelog

READERS = (
    ("revisions",),
    ("packages",),
    ("stacks",),
    ("find", "x"),
    ("show",),
    ("log",),
    ("diff", "a..b"),
    ("notes", "a", "b"),
    ("history", "fill"),
)
WRITERS = (("demo", "--revisions", "1", "--packages", "2", "--specs", "4"), ("import", "pages"))


@pytest.mark.parametrize(
    ("arguments", "form"),
    [*((reader, "{}") for reader in READERS), (("revisions",), "file://{}")],
    ids=str,
)
def test_a_missing_catalog(arguments: tuple[str, ...], form: str, tmp_path: Path) -> None:
    """The error says how to make one; nothing is made."""
    location = form.format(tmp_path / "nowhere")
    done = cachelog(*arguments, "--catalog", location)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cachelog: there is no catalog at {location}; make one with ")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    without_catalog = cachelog(*arguments, catalog=tmp_path)
    assert without_catalog.err.startswith(f"cachelog: there is no catalog at {tmp_path}; ")


@pytest.mark.parametrize("arguments", [("revisions",), *WRITERS], ids=" ".join)
@pytest.mark.parametrize("location", ["s4://bucket", "http://host/x", "s3:/bucket", "s3:bucket"])
def test_a_mistyped_location(
    arguments: tuple[str, ...], location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what is allowed; nothing of that name is made, not even by an import."""
    monkeypatch.chdir(tmp_path)
    done = cachelog(*arguments, catalog=location)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cachelog: catalog: '{location}' is ")
    assert "A catalog is a folder, or a URL that begins with " in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [*READERS, *WRITERS], ids=" ".join)
def test_a_mistyped_variable(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command refuses it, before it opens a catalog that was not meant."""
    monkeypatch.chdir(tmp_path)
    done = cachelog(*arguments, catalogue=tmp_path / "other")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "cachelog: CACHELOG_CATALOGUE: is not a setting; the nearest is CACHELOG_CATALOG\n"
    )
    assert list(tmp_path.iterdir()) == []
