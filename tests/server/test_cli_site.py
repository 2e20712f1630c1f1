"""``cachelog import`` of a site's own registry and installation."""

from pathlib import Path
from typing import Any

from tests.server.commands import cachelog, succeed
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    documents_of,
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
        done = succeed("import", "--no-proof", location, "--tag", "mysite", **settings, **login)
        assert "3 packages, 3 specs" in done.out
    shown = cachelog("show", "mysite", f"/{LIBELF}", "--json", **settings)
    assert shown.json["spec"]["size"] > 0
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes()
            assert b"token-1" not in file.read_bytes()
