"""Where a catalog can be, and what is refused before anything is read."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.store.locations import parse_location
from snapshots.contents import Snapshot
from snapshots.errors import CatalogError, InvalidArgument


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("/data/catalog/", "/data/catalog"),
        ("file:///data/a%20b", "/data/a b"),
        ("file://localhost/data", "/data"),
        ("~/catalog", "/home/me/catalog"),
        ("catalog", "/here/catalog"),
        ("./s3:/bucket", "/here/s3:/bucket"),
        ("a:b", "/here/a:b"),
    ],
)
def test_folders(text: str, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is named by any path, or by a URL of it."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    root = root.replace("/here", str(tmp_path))
    location = parse_location(text)
    assert (location.text, location.root, location.is_folder) == (text, root, True)


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("s3://bucket/some/catalog/", "s3://bucket/some/catalog"),
        ("S3://Bucket", "s3://Bucket"),
        ("gs://bucket/catalog", "gs://bucket/catalog"),
        ("abfss://container@account.dfs.core.windows.net/c",) * 2,
    ],
)
def test_object_storage(text: str, root: str) -> None:
    """The kinds of object storage are named by their schemes."""
    location = parse_location(text)
    assert (location.uri("specs"), location.is_folder) == (f"{root}/specs", False)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Whoever publishes is told so before anything is read or made up."""

    def never() -> Iterator[Snapshot]:
        pytest.fail("something was read")
        yield

    (tmp_path / "file").write_text("")
    for text in (tmp_path / "file" / "c", tmp_path / "file" / "deep" / "c"):
        with pytest.raises(CatalogError, match=f"{tmp_path / 'file'} is no folder"):
            Catalog(str(text)).publish(never())


@pytest.mark.parametrize("place", ["", "deep/c"])
def test_a_folder_that_cannot_be_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named: that of the catalog, or that in which it would be made."""
    asked = []

    def refused(path: Path, mode: int) -> bool:
        asked.append(mode)
        return path != tmp_path

    monkeypatch.setattr("snapshots.catalog.store.locations.os.access", refused)
    location = parse_location(str(tmp_path / place))
    with pytest.raises(CatalogError, match=f": {tmp_path} cannot be written: Permission denied$"):
        location.require_writable()
    assert asked == [os.W_OK | os.X_OK]
    parse_location("s3://bucket/c").require_writable()
    parse_location(str(tmp_path.parent)).require_writable()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s4://bucket/catalog", r"of a kind that cannot hold a catalog \(s4://\)"),
        ("http://example.org/catalog", r"cannot hold a catalog \(http://\)"),
        ("gopher://x/y", r"\(gopher://\)"),
        ("s3:/bucket/catalog", "has :// after its scheme"),
        ("s3:bucket", "has :// after its scheme"),
        ("C:/catalog", "has :// after its scheme"),
        ("file:catalog", "has :// after its scheme"),
        ("file://catalog/x", "write file:///the/whole/path"),
        ("s3:///catalog", "names no bucket"),
        ("s3://[::1/catalog", "cannot be read"),
        ("~nobody-of-this-name/catalog", "a user who does not exist"),
        ("", "names nothing"),
        ("cata\0log", "names nothing"),
    ],
)
def test_what_is_no_location(text: str, reason: str) -> None:
    """Opening a catalog somewhere else is refused, and the error says what is allowed."""
    with pytest.raises(InvalidArgument, match=reason) as caught:
        Catalog(text)
    assert "A catalog is a folder, or a URL that begins with file://, s3://" in str(caught.value)
