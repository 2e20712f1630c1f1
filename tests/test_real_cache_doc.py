"""docs/real-cache.md: its examples run unchanged, and its errors occur."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapshots.models import UnprovenReason
from snapshots.sources.buildcache.layouts import LAYOUT_3_INDEX
from tests import real_data
from tests.consoles import examples, shell
from tests.server.commands import cachelog
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_blob_index,
    put_installation,
    put_layout_3,
    put_specs,
    text,
)
from tests.snapshots.sources.buildcache.indexes import database, node, small_database
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, serving, status
from tests.snapshots.sources.buildcache.registries import (
    PASSWORD,
    USER,
    Tokens,
    basic,
    index_image,
    serve,
)

TEXT = (Path(__file__).parents[1] / "docs" / "real-cache.md").read_text("utf-8")


def real_index(week: str, stack: str) -> dict[str, Any]:
    """Return an index that Spack wrote."""
    file = real_data.folder() / "spack-history" / week / stack / "index.json"
    index: dict[str, Any] = json.loads(file.read_bytes())
    return index


def rows(section: str) -> list[str]:
    """Return the first column of the table below a heading."""
    below = TEXT[TEXT.index(f"## {section}\n") :].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", below, re.MULTILINE)


@pytest.mark.long
def test_examples_print_the_documented_output(tmp_path: Path) -> None:
    """Each command prints the documented output."""
    mirror = tmp_path / "mirror"
    for week in ("2026-06-20", "2026-06-27"):
        for stack, name in (("e4s", "e4s"), ("developer-tools", "tools")):
            put_layout_3(mirror / week / name, text(real_index(week, stack)))
    view = mirror / "2026-06-27/e4s" / Path(LAYOUT_3_INDEX).parent / "tools" / "index.manifest.json"
    tools = mirror / "2026-06-27/tools"
    put(view, (tools / LAYOUT_3_INDEX).read_bytes())
    for blob in (tools / "blobs").rglob("*"):
        if blob.is_file():
            put(mirror / "2026-06-27/e4s" / blob.relative_to(tools), blob.read_bytes())
    index = real_index("2026-06-27", "e4s")
    put_specs(mirror / "listed", index)
    for install in index["database"]["installs"].values():
        install["installed"] = install.pop("in_buildcache")
    put_installation(tmp_path / "spack", index)
    commands = [*examples(TEXT)]
    assert len(commands) == 10
    with shell(tmp_path) as opened:
        for command, expected in commands:
            opened.assert_prints(command, expected)


def test_reasons_of_unproven_hashes_are_explained() -> None:
    """Each is explained once."""
    assert sorted(rows("What is proven")) == sorted(reason.value for reason in UnprovenReason)


def registry(server: Server) -> str:
    """Serve a registry with a login; return the location of its repository."""
    location = serve(server, "site/cache", [index_image(small_database())])
    Tokens(server, basic(USER, PASSWORD)).guard("site/cache")
    return location


def index_file(index: dict[str, Any], folder: Path) -> Path:
    """Write an index to a file."""
    return put(folder / "index.json", text(index))


def a_tag_list(folder: Path, index: dict[str, Any] | None = None) -> Path:
    """Write a public list of one tag; without an index, its blob contradicts its name."""
    path = put_blob_index(folder, index or small_database())
    if index is None:
        put(folder / path, text({}))
    stack = {"label": "e4s", "url": path}
    return put(folder / "list.json", text({"develop": [stack]}))


def a_listed_cache(server: Server) -> str:
    """Serve a build cache of layout 3 without an index."""
    server["/v3/layout.json"] = status(200)
    return server.url


def forbidden(server: Server) -> str:
    """Serve a file with restricted access."""
    server["/index.json"] = status(403)
    return server.at("/index.json")


GENERIC = {"platform": "linux", "platform_os": "debian12", "target": "x86_64_v3"}
NEWER = {"original_specfile_version": 7}
TAG = ("--tag", "mine")
LOGIN = {"oci_user": USER, "oci_password": f"not {PASSWORD}"}

ERRORS: dict[str, Callable[[Path, Server], tuple[object, ...]]] = {
    "does not name a tag": lambda folder, _: (put_layout_3(folder).parents[3],),
    "matches no tag of": lambda folder, _: (a_tag_list(folder, small_database()), *TAG),
    "does not exist": lambda folder, _: (folder / "nothing", *TAG),
    "has no cache pages": lambda folder, _: (folder, *TAG),
    "has no build cache": lambda _, server: (server.url, *TAG),
    "without an index, and HTTP lists no specs": lambda _, server: (a_listed_cache(server), *TAG),
    "HTTP 403 Forbidden": lambda _, server: (forbidden(server), *TAG),
    "set CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD": lambda _, server: (registry(server), *TAG),
    "does not accept the login": lambda _, server: (registry(server), *TAG),
    "but its name says": lambda folder, _: (a_tag_list(folder),),
    "its content has another hash": lambda folder, _: (
        index_file(database(node("zlib", "a" * 32, arch=GENERIC)), folder),
        *TAG,
    ),
    "newer ones need a newer cachelog": lambda folder, _: (
        index_file(database(version="10"), folder),
        *TAG,
    ),
    "is not a format of specs that can be read": lambda folder, _: (
        index_file(database(node("zlib", "b" * 32, annotations=NEWER), version="9"), folder),
        *TAG,
    ),
    "names no location": lambda *_: ("e4s=", *TAG),
    "has no view": lambda folder, _: (put_layout_3(folder).parents[3], "--view", "tools", *TAG),
}


@pytest.mark.parametrize("reason", ERRORS)
def test_documented_errors_occur(reason: str, tmp_path: Path) -> None:
    """Each is one line, and no revision is published."""
    settings: dict[str, Any] = dict(LOGIN) if reason == "does not accept the login" else {}
    with serving() as server:
        words = ERRORS[reason](tmp_path, server)
        result = cachelog("import", *words, catalog=tmp_path / "catalog", cache_dir="", **settings)
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert reason in result.err
    assert not (tmp_path / "catalog").exists()


def test_all_errors_are_tested() -> None:
    """Except for an unreachable host, which takes as long as the timeout of an import."""
    assert {*rows("Errors")} == {*ERRORS, "the connection failed"}
