"""Build caches in the registry of the distribution project, on which many others are based."""

import os
from collections.abc import Iterator

import msgspec
import pytest

from snapshots.errors import SourceError
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, document
from tests.snapshots.sources.buildcache.readings import snapshots
from tests.snapshots.sources.buildcache.registries import (
    DISTRIBUTION,
    IMAGES,
    INDEX,
    WITH_LOGIN,
    distribution,
    index_image,
    push,
    with_password,
    with_tokens,
)

pytestmark = pytest.mark.skipif(
    DISTRIBUTION is None and not os.environ.get("CI"), reason="docker-registry is not installed"
)


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
    with distribution(folder, auth=with_password(folder)) as running:
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
    with distribution(folder, auth=with_tokens(server.at("/token"))) as running:
        (snapshot,) = snapshots(f"oci+http://{running}/site/cache", "mysite")
        assert len(snapshot.content) == len(IMAGES)
    assert server.requests == [f"GET /token?{scope}"]
