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

from tests.snapshots.sources.buildcache.registries import (
    IMAGES,
    INDEX,
    Image,
    index_image,
)
from tests.snapshots.sources.readings import snapshots

DISTRIBUTION = shutil.which("docker-registry", path=f"{os.environ['PATH']}{os.pathsep}/usr/bin")
"""The registry of the distribution project, if it is installed, as packaged by Debian."""

_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")

pytestmark = pytest.mark.skipif(
    DISTRIBUTION is None and not os.environ.get("CI"), reason="docker-registry is not installed"
)


@contextmanager
def distribution(folder: Path) -> Iterator[str]:
    """Run the registry of the distribution project below a folder; yield HOST:PORT."""
    assert DISTRIBUTION is not None, "docker-registry is not installed"
    folder.mkdir(exist_ok=True)
    file, log = folder / "config.yml", folder / "log"
    storage = f"storage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}"
    file.write_text(f"version: 0.1\n{storage}\nhttp: {{addr: '127.0.0.1:0'}}\n")
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


def test_with_and_without_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same contents, sizes included; links to more tags are followed."""
    monkeypatch.setattr("snapshots.sources.buildcache.oci._TAGS_A_PAGE", 1)
    with distribution(tmp_path) as host:
        with_index = push(host, "site/indexed", [index_image(INDEX), *IMAGES])
        (indexed,) = snapshots(with_index, "mysite", sizes=True)
        (images,) = snapshots(push(host, "site/images", IMAGES), "mysite")
    assert len(indexed.content) == len(IMAGES)
    start = f"http://{host}/v2/site/indexed/blobs/sha256:"
    assert all((spec.tarball or "").startswith(start) for spec in indexed.content.specs())
    with_size, without = (
        [msgspec.structs.replace(spec, tarball=None) for spec in each.content.specs()]
        for each in (indexed, images)
    )
    assert with_size == without
