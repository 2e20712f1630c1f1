"""Build caches in the registry of the distribution project, on which many others are based."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from snapshots.errors import SourceError
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, document
from tests.snapshots.sources.buildcache.registries import (
    IMAGES,
    INDEX,
    USER,
    WITH_LOGIN,
    Image,
    index_image,
)
from tests.snapshots.sources.readings import snapshots

DISTRIBUTION = shutil.which("docker-registry", path=f"{os.environ['PATH']}{os.pathsep}/usr/bin")
"""The registry of the distribution project, if it is installed, as packaged by Debian."""

_HTPASSWD = f"{USER}:$2a$04$uArZ/ZEsTabEBLy/CBT0AeOy6iu.BRyJqxKhUvHr6W9O0OIi8NcaC\n"
_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")

pytestmark = pytest.mark.skipif(
    DISTRIBUTION is None and not os.environ.get("CI"), reason="docker-registry is not installed"
)


@contextmanager
def distribution(folder: Path, *, auth: str = "") -> Iterator[str]:
    """Run the registry of the distribution project within the context; yield HOST:PORT.

    Its data is below ``folder``; ``auth`` is a section of its configuration.
    """
    assert DISTRIBUTION is not None, "docker-registry is not installed"
    folder.mkdir(exist_ok=True)
    file, log = folder / "config.yml", folder / "log"
    storage = f"storage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}"
    file.write_text(f"version: 0.1\n{storage}\nhttp: {{addr: '127.0.0.1:0'}}\n{auth}\n")
    with log.open("wb") as written:
        process = subprocess.Popen([DISTRIBUTION, "serve", file], stdout=written, stderr=written)
    try:
        patience = time.monotonic() + 20
        while (listening := _LISTENING.search(log.read_text("utf-8"))) is None:
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < patience, log.read_text("utf-8")
            time.sleep(0.01)
        yield listening[1]
    finally:
        process.terminate()
        process.wait(20)


def push(host: str, name: str, images: Iterable[Image]) -> str:
    """Push images to a registry without authentication; return the repository's location."""
    with httpx.Client(base_url=f"http://{host}", timeout=20) as client:
        for tag, manifest, blobs in images:
            for digest, data in blobs.items():
                begun = client.post(f"/v2/{name}/blobs/uploads/").raise_for_status()
                url = httpx.URL(begun.headers["Location"]).copy_merge_params({"digest": digest})
                client.put(url, content=data).raise_for_status()
            headers = {"Content-Type": json.loads(manifest)["mediaType"]}
            url = httpx.URL(f"/v2/{name}/manifests/{tag}")
            client.put(url, content=manifest, headers=headers).raise_for_status()
    return f"oci+http://{host}/{name}"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a registry with a build cache with an index, one without, and other images."""
    with distribution(tmp_path_factory.mktemp("registry")) as running:
        push(running, "site/indexed", [index_image(INDEX), *IMAGES])
        push(running, "site/images", IMAGES)
        yield running


def test_with_and_without_an_index(host: str) -> None:
    """Both have the same contents, sizes included."""
    (indexed,) = snapshots(f"oci+http://{host}/site/indexed", "mysite", sizes=True)
    (images,) = snapshots(f"oci+http://{host}/site/images", "mysite")
    assert len(indexed.content) == len(IMAGES)
    tarballs = [spec.tarball or "" for spec in indexed.content.specs()]
    assert all(
        tarball.startswith(f"http://{host}/v2/site/indexed/blobs/sha256:") for tarball in tarballs
    )
    bare = [msgspec.structs.replace(spec, tarball=None) for spec in indexed.content.specs()]
    assert bare == [msgspec.structs.replace(spec, tarball=None) for spec in images.content.specs()]


def test_tags_page_by_page(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The links of this registry are followed to the last page."""
    monkeypatch.setattr("snapshots.sources.buildcache.oci._TAGS_A_PAGE", 1)
    (images,) = snapshots(f"oci+http://{host}/site/images", "mysite")
    assert len(images.content) == len(IMAGES)


def test_password(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The registry refuses access without the password."""
    folder = tmp_path_factory.mktemp("guarded")
    with distribution(folder) as running:
        push(running, "site/cache", [index_image(INDEX)])
    (folder / "htpasswd").write_text(_HTPASSWD)
    auth = f"auth: {{htpasswd: {{realm: tests, path: {folder / 'htpasswd'}}}}}"
    with distribution(folder, auth=auth) as running:
        location = f"oci+http://{running}/site/cache"
        (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert len(snapshot.content) == len(IMAGES)
        with pytest.raises(SourceError, match="CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD"):
            snapshots(location, "mysite")


def test_tokens(tmp_path_factory: pytest.TempPathFactory, server: Server) -> None:
    """The registry names a realm, and accepts its token."""
    folder = tmp_path_factory.mktemp("tokens")
    with distribution(folder) as running:
        push(running, "site/cache", [index_image(INDEX)])
    scope = "scope=repository%3Asite%2Fcache%3Apull&service=tests"
    server[f"/token?{scope}"] = document({"token": "any"})
    auth = f"auth: {{silly: {{realm: '{server.at('/token')}', service: tests}}}}"
    with distribution(folder, auth=auth) as running:
        (snapshot,) = snapshots(f"oci+http://{running}/site/cache", "mysite")
        assert len(snapshot.content) == len(IMAGES)
    assert server.requests == [f"GET /token?{scope}"]
