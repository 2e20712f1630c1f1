"""``cachelog import`` of what a site has of its own: a registry, and what is installed."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.commands import cachelog
from tests.snapshots.sources.buildcache.folders import put_installation
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    documents_of,
    installation,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import serving, status
from tests.snapshots.sources.buildcache.registries import (
    PASSWORD,
    USER,
    Tokens,
    basic,
    index_image,
    serve,
    spec_image,
)


def test_a_registry_with_a_login(tmp_path: Path) -> None:
    """The variables hold it; it stands in no output, and nowhere in the catalog or what is kept."""
    settings: dict[str, Any] = {
        "catalog": tmp_path / "catalog",
        "cache_dir": tmp_path / "kept",
    }
    login: dict[str, Any] = {"oci_user": USER, "oci_password": PASSWORD}
    images = [spec_image(it) for it in documents_of(small_database()).values()]
    with serving() as server:
        location = serve(server, "site/cache", images)
        Tokens(server, login=basic(USER, PASSWORD)).guard("site/cache")
        refused = cachelog("import", "--no-proof", location, "--tag", "mysite", **settings)
        assert (refused.code, refused.out) == (1, "")
        assert "set CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD" in refused.err
        assert not (tmp_path / "catalog").exists()
        wrong = login | {"oci_password": "not-" + PASSWORD}
        done = cachelog("import", "--no-proof", location, "--tag", "mysite", **settings, **wrong)
        assert done.code == 1
        assert PASSWORD not in done.err
        done = cachelog("import", "--no-proof", location, "--tag", "mysite", **settings, **login)
        assert (done.code, done.err) == (0, "")
        assert "3 packages, 3 specs" in done.out
        half = cachelog(
            "import", "--no-proof", location, "--tag", "mysite", oci_user=USER, **settings
        )
        assert half.code == 1
        assert "CACHELOG_OCI_PASSWORD" in half.err
    shown = cachelog("show", "mysite", f"/{LIBELF}", "--json", **settings)
    assert shown.json["spec"]["size"] > 0
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes()
            assert b"token-1" not in file.read_bytes()


def test_a_registry_that_breaks_off(tmp_path: Path) -> None:
    """One image that cannot be read publishes nothing, and the next import reads only that one."""
    settings: dict[str, Any] = {
        "catalog": tmp_path / "catalog",
        "cache_dir": tmp_path / "kept",
    }
    images = [spec_image(it) for it in documents_of(small_database()).values()]
    with serving() as server:
        location = serve(server, "site/cache", images)
        path = f"/v2/site/cache/manifests/{sorted(it.tag for it in images)[-1]}"
        right, server[path] = server.replies[path], status(410)
        done = cachelog("import", "--no-proof", location, "--tag", "mysite", **settings)
        assert done.code == 1
        assert "HTTP 410" in done.err
        assert not (tmp_path / "catalog").exists()
        server[path] = right
        server.asked.clear()
        assert cachelog("import", "--no-proof", location, "--tag", "mysite", **settings).code == 0
        assert [it for it in server.asked if ".spack" in it and "index" not in it] == [
            f"GET {path}"
        ]


def test_registries_as_stacks(tmp_path: Path) -> None:
    """Each repository is the stack that it is named for, with an index or without."""
    settings: dict[str, Any] = {"catalog": tmp_path / "catalog"}
    index = small_database()
    with serving() as server:
        e4s = serve(server, "site/e4s", [index_image(index)])
        images = [spec_image(it) for it in documents_of(index).values()]
        ml = serve(server, "site/ml", images[:1])
        done = cachelog(
            "import", "--no-proof", f"e4s={e4s}", f"ml={ml}", "--tag", "mysite", **settings
        )
        assert (done.code, done.err) == (0, "")
        assert "3 specs, 2 stacks" in done.out
        view = cachelog(
            "import", "--no-proof", e4s, "--tag", "mysite", "--view", "small", **settings
        )
        assert "--view" in view.err
        assert "no index has views" in view.err


def test_an_installation_night_by_night(tmp_path: Path) -> None:
    """What changed is told like that of a build cache, and only where something did."""
    tree, settings = tmp_path / "tree", dict[str, Any](catalog=tmp_path / "catalog")

    def night(day: int, records: dict[str, dict[str, Any]] | None = None) -> str:
        put_installation(tree, installation(records))
        taken_at = f"2025-03-0{day}"
        done = cachelog(
            "import", "--no-proof", tree, "--tag", "mysite", "--taken-at", taken_at, **settings
        )
        assert (done.code, done.err) == (0, "")
        return done.out

    assert "4 packages, 4 specs" in night(1)
    assert "unchanged, nothing published" in night(2)
    night(3, {LIBELF: {"explicit": False}})
    diff = cachelog("diff", "mysite~1..mysite", **settings)
    assert "explicit: yes -> no" in diff.out
    night(4, {LIBELF: {"installed": False}})
    diff = cachelog("diff", "mysite~1..mysite", **settings)
    assert diff.lines[-1] == "0 added, 1 removed, 0 changed"
    shown = cachelog("show", "mysite~1", f"/{LIBELF}", **settings)
    assert "Explicit:" in shown.out
    assert "Installed at:" in shown.out
    found = cachelog("find", "libelf", "--in", "mysite~1", "--json", **settings)
    (spec,) = found.json["specs"]
    assert (spec["explicit"], spec["installed_at"]) == (False, "2025-03-30T12:00:00Z")


@pytest.mark.parametrize("content", ["{}", '{"database": {"version": "4", "installs": {}}}'])
def test_what_is_no_database(tmp_path: Path, content: str) -> None:
    """The error names the file, and nothing is published."""
    (tmp_path / ".spack-db").mkdir()
    (tmp_path / ".spack-db" / "index.json").write_text(content)
    catalog = tmp_path / "catalog"
    done = cachelog("import", "--no-proof", tmp_path, "--tag", "mysite", catalog=catalog)
    assert done.code != 0
    assert not catalog.exists()
