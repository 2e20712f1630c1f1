"""The readers of external input, each with valid inputs to mutate."""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import yaml

from snapshots.changes.rules.rule_files import read_rules
from snapshots.contents import Content
from snapshots.errors import CachelogError
from snapshots.history import History
from snapshots.models import Spec
from snapshots.refs import parse_moment, parse_ref, parse_side, split_range
from snapshots.sources import lock_files, side_files
from snapshots.sources.buildcache.database import SpecDocuments, decode
from snapshots.sources.buildcache.layouts import parse_manifest
from snapshots.sources.buildcache.oci import Image
from snapshots.sources.downloads import user_file
from snapshots.sources.git import page_history
from snapshots.sources.inputs import decode_json
from snapshots.sources.pages.cache_page import parse_page
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.spack.names import checked_hash, checked_items, checked_variant, checked_version
from snapshots.spack.query import parse
from tests.fuzz.mutations import mutated_bytes, mutated_json, written
from tests.snapshots.factories import hash_of
from tests.snapshots.records import check_facts
from tests.snapshots.sources.buildcache.folders import (
    blob,
    manifest,
    put,
    put_documents,
    put_specs,
    signed,
)
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    database,
    documents_of,
    installation,
    node,
    small_database,
    spec_document,
)
from tests.snapshots.sources.buildcache.registries import index_image, spec_image
from tests.snapshots.sources.git.repositories import HDF5, ZLIB, Repository, page
from tests.snapshots.sources.lockfiles.locks import small_lock_file
from tests.snapshots.sources.readings import read_locations

Case = Callable[[Random, Path], None]
"""Reads one input in a folder; raises CachelogError, or another error if there is a bug."""

MANIFEST = manifest(blob("application/vnd.spack.db.v8+json"))
OLD_INDEX = database(
    node(
        "libelf",
        LIBELF,
        compiler={"name": "gcc", "version": "10.2.1"},
        dependencies=[{"name": "zlib", "hash": hash_of("zlib"), "type": ["build", "link"]}],
    ),
    version="7",
)
NESTED_NODE = {
    "version": "1.0",
    "arch": {"platform": "test", "platform_os": "debian6", "target": "m1"},
    "compiler": {"name": "gcc", "version": "10.2.1"},
    "namespace": "builtin",
    "parameters": {"cflags": ["-O2", "-g"]},
    "dependencies": {"zlib": {"hash": hash_of("zlib"), "type": ["build", "link"]}},
}
NESTED_INDEX = {
    "database": {
        "version": "5",
        "installs": {LIBELF: {"spec": {"libelf": NESTED_NODE}, "in_buildcache": True}},
    }
}
NESTED_LOCK_FILE = {
    "_meta": {"file-type": "spack-lockfile", "lockfile-version": 3},
    "roots": [{"hash": LIBELF, "spec": "libelf"}],
    "concrete_specs": {LIBELF: {"libelf": NESTED_NODE}},
}
NEW_INDEX = database(
    node(
        "openmpi",
        LIBELF,
        annotations={"original_specfile_version": 6},
        provided_virtuals=["mpi@3.1", "libgfortran@5"],
        external={"path": "/usr", "module": ["openmpi/5"], "extra_attributes": {}},
        build_spec={"name": "openmpi", "hash": hash_of("openmpi")},
    ),
    version="9",
)
IMAGES = [index_image(small_database()), *map(spec_image, documents_of(small_database()).values())]
RULES = """# Before publishing.
[[rule]]
name = "Users of e4s lose nothing"
forbid = "package-removed"
stack = "e4s"
except = [
  "py-*", # Python's own
]

[[rule]]
name = 'MPI'
require = "hdf5+mpi ^openmpi"
for-each = ["target", "stack"]

[[rule]]
name = "Flood"
level = "warning"
limit = "specs-removed"
at-most = "5 %"
"""
QUERIES = (
    "hdf5@1.12:1.14,=2 +mpi~cxx build_type=Release %gcc@13 target=x86_64_v3 ^zlib@1.3: /abc",
    'builtin.hdf5 cflags="-O2 -g" patches=abc os=ubuntu22.04 ^mpi',
)
SIDES = (
    "develop~1:e4s..develop:e4s",
    "develop@2025-03-30T12:00:00Z:e4s..../spack.lock",
    "../../a/../spack.lock..0a1b2c3d4e5f:hep",
    "/opt/spack/.spack-db...../index.json",
)
REFS = ("develop~3", "develop@2025-03-30", "v0.22.0@2025-03-30T12:00:00Z~1", "0a1b2c3d4e5f")


def _checked(specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> None:
    """Assert that the specs follow the rules, and can be stored."""
    specs, outside = list({spec.hash: spec for spec in specs}.values()), list(outside)
    for spec in (*specs, *outside):
        check_facts(spec)
    content = Content.of(specs, outside)
    if content:
        content.table()


def _report(random: Random) -> Report:
    return Report(skip_bad=random.random() < 0.5)


def _damaged(value: Any, random: Random) -> bytes:
    """Return a JSON value as bytes, with changed values or with changed bytes."""
    if random.random() < 0.65:
        return written(mutated_json(value, random), random)
    return mutated_bytes(json.dumps(value).encode(), random)


def _page(random: Random, _: Path) -> None:
    data = mutated_bytes(page("zlib", "a", "b"), random)
    _checked(parse_page(data, "specs.md", _report(random)).specs)


def _page_of_values(random: Random, _: Path) -> None:
    details = json.loads(page("zlib", "a", "b").split(b"spec_details: ")[1].split(b"\n")[0])
    details[0] |= {"tarball": "https://example.org/a.spack", "size": "17"}
    values: dict[str, Any] = {
        "title": "zlib",
        "categories": ["package", "develop"],
        "meta": {"num_specs": 2, "versions": ["1.0"], "num_specs_by_stack": {"root": 2}},
        "spec_details": details,
    }
    values = mutated_json(values, random)
    if (
        random.random() < 0.2 and json.dumps(values).count("{") < 100
    ):  # PyYAML writes nothing deeper
        text = yaml.safe_dump(values).encode(errors="surrogatepass")
    elif isinstance(values, dict):
        lines = (
            str(key).encode(errors="replace") + b": " + written(value, random)
            for key, value in values.items()
        )
        text = b"\n".join(lines) + b"\n"
    else:
        text = written(values, random)
    _checked(parse_page(b"---\n" + text + b"---\n", "specs.md", _report(random)).specs)


def _index(random: Random, _: Path) -> None:
    indexes = (small_database(), OLD_INDEX, NEW_INDEX, NESTED_INDEX, installation())
    index = random.choice(indexes)
    older = [json.dumps(small_database()).encode()] if random.random() < 0.2 else []
    data, report = _damaged(index, random), _report(random)
    specs = decode(data, "index.json", report, older=older, proof=random.random() < 0.5)
    _checked(specs.in_cache.values(), specs.outside.values())


def _spec_document(random: Random, _: Path) -> None:
    documents = documents_of(small_database())
    spec_documents = SpecDocuments("cache", _report(random), proof=random.random() < 0.5)
    last = random.choice(sorted(documents))
    for digest in sorted(documents, key=lambda digest: digest == last):
        document = documents[digest]
        is_last = digest == last
        data = _damaged(document, random) if is_last else json.dumps(document).encode()
        spec_documents.add(digest, data, digest)
    specs = spec_documents.specs()
    _checked(specs.in_cache.values(), specs.outside.values())


def _image(random: Random, _: Path) -> None:
    image = json.loads(random.choice(IMAGES).manifest)
    manifest_of_image = decode_json(_damaged(image, random), Image, "manifest")
    for layer in (*manifest_of_image.layers, *manifest_of_image.manifests):
        hashlib.new(layer.checksum[0])


def _lock_file(random: Random, _: Path) -> None:
    version = random.choice((4, 5, 6, 8))
    lock = small_lock_file(version)
    lock["roots"][0]["group"] = "apps"
    lock["include_concrete"] = {"/other": small_lock_file(version)}
    nodes = [*lock["concrete_specs"].values()]
    data = _damaged(random.choice((lock, NESTED_LOCK_FILE, spec_document(*nodes), nodes)), random)
    for spec in lock_files.parse(data * random.choice((1, 1, 2)), "spack.lock").specs:
        checked_hash(spec.hash)
        checked_version(spec.version or "")
        checked_items(spec.variants or (), checked_variant)


def _side(random: Random, folder: Path) -> None:
    """Read a file of any kind, perhaps in another form, with all facts of its specs."""
    value: Any = random.choice((small_lock_file(), small_database(), installation()))
    data = page("zlib", "a") if random.random() < 0.2 else _damaged(value, random)
    form = random.randrange(5)
    if form == 0:
        data = mutated_bytes(gzip.compress(data), random)
    elif form == 1:
        data = mutated_bytes(data.decode(errors="replace").encode("utf-16"), random)
    elif form == 2:
        data = mutated_bytes(signed(data.decode(errors="replace")), random)
    path = put(folder / random.choice(("spack.lock", "side")), data)
    content = side_files.read(str(path), ReadSettings(proof=False)).content
    _checked(content.specs(), content.outside.specs)


def _manifest(random: Random, _: Path) -> None:
    data = _damaged(MANIFEST, random)
    if random.random() < 0.5:
        data = mutated_bytes(signed(data.decode(errors="replace")), random)
    parse_manifest(data, "m.json")


def _gzip(random: Random, folder: Path) -> None:
    data = gzip.compress(json.dumps(small_database()).encode()) * random.randint(1, 3)
    file = put(folder / "body", mutated_bytes(data, random))
    user_file(str(file), 1 << 20).load(limit=1 << 16, compression="gzip")


def _location(random: Random, folder: Path) -> None:
    """Read pages, a list of tags, an index, or single specs, as ``cachelog import`` does."""
    index = put(folder / "index.json", json.dumps(small_database()).encode())
    tags = {
        "develop": [{"label": "root", "url": "index.json"}, {"label": "e4s", "url": str(index)}]
    }
    form = random.randrange(5)
    location = folder / "input"
    if form == 0:
        put(location / "develop/zlib/specs.md", mutated_bytes(page("zlib", "a"), random))
        put(location / "develop/hdf5/specs.md", page("hdf5", "b"))
    elif form == 1:
        location = put(folder / "tags.json", written(mutated_json(tags, random), random))
    elif form == 2:
        location = put(folder / "build_cache/index.json", mutated_bytes(index.read_bytes(), random))
    else:
        (put_specs if form == 3 else put_documents)(location, small_database())
        file = random.choice(sorted(path for path in location.rglob("*") if path.is_file()))
        file.write_bytes(mutated_bytes(file.read_bytes(), random))
    # No request leaves the machine: connections fail after a short time.
    settings = ReadSettings(attempts=1, timeout=0.2, deadline=0.2)
    snapshots = read_locations(
        [str(location)],
        tags=[] if form < 2 else ["develop"],
        settings=settings,
        report=_report(random),
    )
    for snapshot in snapshots:
        _checked(snapshot.content.specs(), snapshot.content.outside.specs)


def _rules(random: Random, folder: Path) -> None:
    file = put(folder / "rules.toml", mutated_bytes(RULES.encode(), random))
    for rule in read_rules(str(file)):
        assert rule.line is not None
        assert file.read_bytes().split(b"\n")[rule.line - 1].strip()


def _query(random: Random, _: Path) -> None:
    text = mutated_bytes(random.choice(QUERIES).encode(), random).decode(errors="replace")
    parse(text)


def _ref(random: Random, _: Path) -> None:
    text = mutated_bytes(random.choice(REFS).encode(), random).decode(errors="replace")
    parse_moment(text) if random.random() < 0.5 else parse_ref(text)


def _side_words(random: Random, _: Path) -> None:
    text = mutated_bytes(random.choice(SIDES).encode(), random).decode(errors="replace")
    both = split_range(text) or (text,)
    for words in map(parse_side, both):
        if not words.is_path:
            parse_ref(words.text)


def _repository(random: Random, folder: Path) -> None:
    """Damage one file of a repository."""
    template = folder.parent / "template"
    if not template.exists():
        repository = Repository(template)
        repository.commit({ZLIB: page("zlib", "a")})
        repository.commit({HDF5: page("hdf5", "b"), ZLIB: None})
    copy = folder / "repository"
    copytree(template, copy)
    file = random.choice(sorted(path for path in (copy / ".git").rglob("*") if path.is_file()))
    data = mutated_bytes(file.read_bytes(), random)
    file.unlink()  # objects are read-only
    put(file, data)
    snapshots = page_history.read(
        str(copy), history=History(), settings=ReadSettings(), report=_report(random)
    )
    for snapshot in snapshots:
        _checked(snapshot.content.specs())


READERS: Mapping[str, Case] = {
    "pages": _page,
    "pages of values": _page_of_values,
    "indexes": _index,
    "documents of specs": _spec_document,
    "images": _image,
    "lock files": _lock_file,
    "sides": _side,
    "manifests": _manifest,
    "gzip": _gzip,
    "locations": _location,
    "rules": _rules,
    "queries": _query,
    "refs": _ref,
    "words of sides": _side_words,
    "repositories": _repository,
}


def attempt(reader: str, seed: int, folder: Path) -> bool:
    """Run a reader's case with a seed; return whether the input was accepted.

    False means that it was refused with a short CachelogError. Other errors are raised.
    """
    random = Random(f"{reader} {seed}")
    try:
        READERS[reader](random, folder)
    except CachelogError as error:
        message = str(error)
    else:
        return True
    message.encode()
    assert len(message) < 10_000, "an error must not repeat its input"
    return False
