"""``cachelog import`` of a site's own registry and installation."""

from pathlib import Path
from typing import Any

from tests.server.commands import cachelog
from tests.snapshots.sources.buildcache.folders import put_installation
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    documents_of,
    installation,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import serving
from tests.snapshots.sources.buildcache.registries import (
    PASSWORD,
    USER,
    Tokens,
    basic,
    serve,
    spec_image,
)


def test_a_registry_with_a_login(tmp_path: Path) -> None:
    """Variables set it; neither output, catalog nor cached files have the password."""
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


def test_an_installation_night_by_night(tmp_path: Path) -> None:
    """Changes are printed as those of a build cache, and only where something changed."""
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
