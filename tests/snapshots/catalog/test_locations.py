"""Where a catalog can be, and what is refused before anything is read."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.locations import parse_location
from snapshots.errors import InvalidArgument


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
