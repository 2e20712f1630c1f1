"""Locations of catalogs, and those that are refused before anything is read."""

import os
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.locations import parse_location
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
    """Kinds of object storage are named by their schemes."""
    location = parse_location(text)
    assert (location.uri("specs"), location.is_folder) == (f"{root}/specs", False)


@pytest.mark.parametrize("place", ["", "deep/c"])
def test_folder_that_cannot_be_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the folder of the catalog, or the one in which it would be created."""
    modes = []

    def refused(path: Path, mode: int) -> bool:
        modes.append(mode)
        return path != tmp_path

    monkeypatch.setattr("snapshots.catalog.locations.os.access", refused)
    location = parse_location(str(tmp_path / place))
    with pytest.raises(CatalogError, match=f": {tmp_path} cannot be written: Permission denied$"):
        location.require_writable()
    assert modes == [os.W_OK | os.X_OK]
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
def test_invalid_locations(text: str, reason: str) -> None:
    """They are refused, and the error states what is allowed."""
    with pytest.raises(InvalidArgument, match=reason) as caught:
        Catalog(text)
    assert "A catalog is a folder, or a URL that begins with file://, s3://" in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ({"AWS_ACCESS_KEY_ID": "a"}, "AWS_SECRET_ACCESS_KEY"),
        ({"AWS_EC2_METADATA_DISABLED": "true"}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, None),
        ({"AWS_EC2_METADATA_DISABLED": "false"}, None),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token"}, None),
    ],
)
def test_credentials_of_s3(
    variables: dict[str, str], missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without credentials no request is sent; the error names the variables."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if missing is None:
        assert Catalog("s3://bucket/catalog").location == "s3://bucket/catalog"
        return
    with pytest.raises(CatalogError, match=f"S3 needs {missing} in the environment"):
        Catalog("s3://bucket/catalog")
