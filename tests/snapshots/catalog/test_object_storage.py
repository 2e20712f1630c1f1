"""A catalog on object storage: an emulator of S3 on this machine."""

import os
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from deltalake.fs import DeltaStorageHandler

from snapshots.catalog import revisions_table, storage
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.locations import parse_location
from snapshots.catalog.past import missing_pairs
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.storage import Storage
from snapshots.catalog.vacuum import vacuum
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError, NoCatalog
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import TAGS, publish_state, publish_together, specs_of
from tests.snapshots.keeping import hours_ago

LOADING_REQUESTS = 4
"""How many requests a revision may take to load, once its catalog has been read."""

HISTORY_REQUESTS = 8
"""How many requests a package's past may take: the state of the table, and a file of each run."""


@pytest.fixture
def variables(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set the variables that S3 needs, and return them."""
    wanted = emulator.variables()
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    return wanted


def test_a_catalog_in_a_bucket(emulator: Emulator, variables: dict[str, str]) -> None:
    """It is published, read by others, and loaded with few requests, however many contents."""
    assert variables
    location = "s3://bucket/some/catalog"
    with pytest.raises(NoCatalog, match=f"there is no catalog at {location}"):
        Catalog(location).refresh()
    catalog = Catalog(location)
    for number in range(3):
        publish_state(catalog, number)
    reader = Catalog(location)
    history = reader.require_history()
    assert [it.num_specs for it in history.of_tag(TAGS[0])] == [12, 11, 10]
    before = emulator.num_requests()
    digest = history.resolve(TAGS[0]).digest
    assert len(reader.load(digest)) == 12
    asked = emulator.requests()[before:]
    assert 0 < len(asked) <= LOADING_REQUESTS
    own = f"GET /bucket/some/catalog/specs/digest={digest}/"
    assert all(it.startswith(own) for it in asked)  # and so the bytes of no other content


@pytest.mark.usefixtures("variables", "laid_always")
def test_a_content_that_is_laid_over_another(emulator: Emulator) -> None:
    """It takes two requests, its dependencies among it: its base's file and its own, no log."""
    location = "s3://bucket/laid"
    for number in range(3):
        publish_state(Catalog(location), number)
    reader = Catalog(location)
    newest, _, oldest = reader.require_history().of_tag(TAGS[0])
    before = emulator.num_requests()
    assert len(reader.load_side(newest.digest).frame) == 12
    asked = emulator.requests()[before:]
    folders = {it.partition("digest=")[2].partition("/")[0] for it in asked}
    assert folders == {oldest.digest, newest.digest}
    assert len(asked) == 2
    assert verify(location).is_sound


def test_the_history_in_a_bucket(emulator: Emulator, variables: dict[str, str]) -> None:
    """It is kept, merged, filled and asked as in a folder, with few requests a question."""
    assert variables
    catalog = Catalog("s3://bucket/history")
    for number in range(5):
        publish_state(catalog, number)
    reader = Catalog(catalog.location)
    library, history = Library(reader), reader.require_history()
    assert missing_pairs(reader, history) == []
    newest = reader.load(history.of_tag(TAGS[0])[0].digest)
    found = library.past.hash_history(history, newest.hashes.at(0))
    assert found is not None
    assert [(it.series, it.first.taken_at) for it in found.spans] == [(it, day(4)) for it in TAGS]
    before = emulator.num_requests()
    timeline = library.package_timeline(history, TAGS[0], found.name)
    assert timeline is not None
    assert len(timeline.entries) == 5
    assert emulator.num_requests() - before <= HISTORY_REQUESTS


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("is_bucket", [False, True])
def test_a_file_is_read_from_its_end(is_bucket: bool, tmp_path: Path) -> None:
    """The bytes from a place on stand where they do in the file, in a folder as in a bucket."""
    files = Storage(parse_location("s3://bucket/ends" if is_bucket else str(tmp_path)))
    files.write("table/file", pa.py_buffer(b"0123456789"))
    assert files.read_end("table/file", 10, 6).to_pybytes()[6:] == b"6789"
    assert files.read_end("table/file", 10, 0).to_pybytes() == b"0123456789"
    with pytest.raises(FileNotFoundError):
        files.read("table/none")


@pytest.mark.usefixtures("variables")
def test_connections_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads objects is made once for each table, not for each look and question."""
    importer, reader = (Catalog("s3://bucket/kept") for _ in range(2))
    for number in range(2):
        publish_state(importer, number)
    reader.require_history()
    reader.refresh()
    library, name = Library(reader), specs_of(0)[0].name
    assert library.package_timeline(reader.history, TAGS[0], name) is not None
    publish_state(importer, 2)
    made: list[object] = []

    class Recording(DeltaStorageHandler):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(storage, "DeltaStorageHandler", Recording)
    assert reader.refresh()
    assert library.package_timeline(reader.history, TAGS[0], name) is not None
    assert not made
    reader.load(reader.history.resolve(TAGS[0]).digest)
    assert made  # to load a content, the table of contents is not opened


def test_imports_at_once(variables: dict[str, str], processes: ForkServerContext) -> None:
    """Imports that commit at the same moment both succeed: the store refuses to overwrite."""
    location = "s3://bucket/raced"
    barrier = processes.Barrier(3)
    running = []
    for number in range(3):
        told, signal = processes.Pipe(duplex=False)
        arguments = (variables, location, number, barrier, signal)
        importer = processes.Process(target=publish_in_bucket, args=arguments)
        importer.start()
        running.append((importer, told))
    assert [told.recv() for _, told in running] == [None] * 3
    for importer, _ in running:
        importer.join()
        assert importer.exitcode == 0
    catalog = Catalog(location)
    for tag in TAGS:
        found = catalog.require_history().of_tag(tag)
        assert [it.num_specs for it in found] == [12, 11, 10]
        assert [len(catalog.load(it.digest)) for it in found] == [12, 11, 10]


def publish_in_bucket(variables: dict[str, str], *arguments: Any) -> None:
    """Publish where these variables lead; a process has those of when its like was first made."""
    os.environ.update(variables)
    publish_together(*arguments)


@pytest.mark.usefixtures("variables")
def test_a_store_that_lets_writes_replace_others(emulator: Emulator) -> None:
    """It is found out before anything is written, also where a catalog was copied there."""
    location = "s3://bucket/unconditional"
    with (
        emulator.unconditional(),
        pytest.raises(CatalogError, match=r"ignores If-None-Match.*nothing is imported; use a"),
    ):
        publish_state(Catalog(location), 0)
    assert not Storage(parse_location("s3://bucket")).find("unconditional")

    publish_state(Catalog(location), 0)
    there = Catalog("s3://bucket/moved-to-it")
    storage = Storage(parse_location("s3://bucket"))
    for path, found in storage.find("unconditional").items():
        storage.write(f"moved-to-it/{path}", storage.read(f"unconditional/{path}", found.size))
    there.refresh()
    before = there.history
    with emulator.unconditional(), pytest.raises(CatalogError, match="ignores If-None-Match"):
        publish_state(there, 1)
    there.refresh()
    assert there.history.revisions == before.revisions


@pytest.mark.usefixtures("variables")
def test_a_store_is_probed_once(emulator: Emulator) -> None:
    """The catalog remembers that it was, also one that was written before stores were."""
    location = "s3://bucket/probed"
    with patch.object(revisions_table.RevisionsTable, "require_conditional_writes"):
        publish_state(Catalog(location), 0)
    for number, is_probed in ((1, True), (2, False), (3, False)):
        before = emulator.num_requests()
        publish_state(Catalog(location), number)
        assert any("_probe-" in it for it in emulator.requests()[before:]) == is_probed
    paths = Storage(parse_location("s3://bucket")).find("probed")
    assert {path.partition("/")[0] for path in paths} == {
        "revisions",
        "specs",
        "comparisons",
        "changes",
        "hashes",
    }
    assert len(Catalog(location).require_history().of_tag(TAGS[0])) == 4


def test_a_bucket_that_is_not_there(variables: dict[str, str]) -> None:
    """What the store says is told in one line, the same each time."""
    assert variables
    messages = set()
    for _ in range(2):
        with pytest.raises(CatalogError) as caught:
            Catalog("s3://nobody/catalog").refresh()
        messages.add(str(caught.value))
    (message,) = messages
    assert message.startswith("catalog s3://nobody/catalog: ")
    assert "NoSuchBucket" in message
    assert "\x1b" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("AWS_ALLOW_HTTP", "URL scheme is not allowed"),
        ("AWS_ACCESS_KEY_ID", "S3 needs AWS_ACCESS_KEY_ID in the"),
        ("AWS_SECRET_ACCESS_KEY", "S3 needs AWS_SECRET_ACCESS_KEY in the"),
    ],
)
def test_variables(
    missing: str, reason: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one of the variables that S3 needs the reason is told."""
    assert missing in variables
    monkeypatch.delenv(missing)
    with pytest.raises(CatalogError, match=reason):
        Catalog("s3://bucket/variables").refresh()


def test_a_broken_log(variables: dict[str, str]) -> None:
    """The file of a bucket that is at fault is named."""
    assert variables
    location = "s3://bucket/broken"
    publish_state(Catalog(location), 0)
    broken = f"revisions/_delta_log/{1:020}.json"
    Storage(parse_location(location)).write(broken, pa.py_buffer(b"garbage"))
    with pytest.raises(CatalogError, match=r": revisions/_delta_log/0+1\.json is no commit"):
        Catalog(location).refresh()


def flipped(data: bytes) -> bytes:
    """Change one bit."""
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes] | None] = {
    "a flipped bit": flipped,
    "cut": lambda data: data[:-9],
    "empty": lambda _: b"",
    "gone": None,
}


@pytest.fixture(scope="module")
def damaged(emulator: Emulator) -> str:
    """Return where a catalog is: it has a content for each damage, and another one."""
    location = "s3://bucket/damaged"
    states = range(len(DAMAGES) + 1)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in emulator.variables().items():
            patched.setenv(name, value)
        Catalog(location).publish([a_snapshot(specs_of(it), TAGS[0], day(it)) for it in states])
    return location


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_content(damaged: str, damage: str) -> None:
    """It is refused by name while the others are read, and the next import replaces it."""
    storage, catalog = Storage(parse_location(damaged)), Catalog(damaged)
    states = {"damaged": list(DAMAGES).index(damage), "other": len(DAMAGES)}
    history = catalog.require_history()
    digest, other = (
        it.digest
        for state in states.values()
        for it in history.of_tag(TAGS[0])
        if it.taken_at == day(state)
    )
    ((name, size),) = storage.sizes(f"specs/digest={digest}").items()
    damage_object(storage, f"specs/digest={digest}/{name}", size, DAMAGES[damage])

    reader = Catalog(damaged)
    reader.refresh()
    with pytest.raises(CatalogError, match=f"{digest[:12]} is (damaged|missing)") as caught:
        reader.load(digest)
    assert "import the same again to replace it" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(reader.load(other)) == states["other"] + 10

    made = Catalog(damaged).publish(
        [a_snapshot(specs_of(it), TAGS[0], day(it)) for it in states.values()]
    )
    assert [(it.is_new, it.is_mended) for it in made] == [(False, True), (False, False)]
    for each in (reader, Catalog(damaged)):
        each.refresh()
        found = [len(each.load(it)) - 10 for it in (digest, other)]
        assert found == list(states.values())


def damage_object(
    storage: Storage, path: str, size: int, damage: Callable[[bytes], bytes] | None
) -> pa.Buffer:
    """Damage an object, or remove it; return what it was."""
    whole = storage.read(path, size)
    storage.remove(path)
    if damage is not None:
        storage.write(path, pa.py_buffer(damage(bytes(whole))))
    return whole


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_of_revisions(damaged: str, damage: str) -> None:
    """The object is named, by readers and by importers, and nothing is written over it."""
    storage = Storage(parse_location(damaged))
    before = storage.find("specs").keys()
    ((name, size),) = storage.sizes("revisions").items()
    whole = damage_object(storage, f"revisions/{name}", size, DAMAGES[damage])
    try:
        with pytest.raises(CatalogError, match=f"{name}.*; restore it from a copy"):
            Catalog(damaged).refresh()
        with pytest.raises(CatalogError, match=f"{name}.*; restore it from a copy"):
            publish_state(Catalog(damaged), 20)
        assert storage.find("specs").keys() == before
        assert list(storage.sizes("revisions")) == ([name] if DAMAGES[damage] else [])
    finally:
        storage.remove(f"revisions/{name}")
        storage.write(f"revisions/{name}", whole)
    Catalog(damaged).refresh()


@pytest.mark.long
def test_what_is_forgotten_in_a_bucket(variables: dict[str, str]) -> None:
    """Revisions are removed, space is given back after some time, and what is left is sound."""
    assert variables
    catalog = Catalog("s3://bucket/forgetting")
    for number in range(4):
        publish_state(catalog, number)
    history = catalog.history
    going = [it for it in history.revisions if it.taken_at == day(1)]
    with hours_ago():
        removal = remove(catalog, plan(catalog, going))
    assert len(removal.contents) == 1
    assert {it.taken_at for it in catalog.history.revisions} == {day(0), day(2), day(3)}
    (file,) = catalog_files(removal.contents[0], catalog)
    done = vacuum(catalog, older_than=timedelta(hours=1))
    assert [len(done.files[name]) for name in ("revisions", "specs")] == [1, 1]
    assert done.files["specs"] == (file,)
    assert catalog_files(removal.contents[0], catalog) == []
    found = verify(catalog.location, deep=True)
    assert (found.is_sound, found.findings) == (True, ())
    publish_state(catalog, 1)
    vacuum(catalog, older_than=timedelta(0))
    found = verify(catalog.location, deep=True)
    assert (found.num_contents, found.findings) == (4, ())


def test_removals_and_imports_at_once_in_a_bucket(
    variables: dict[str, str], processes: ForkServerContext
) -> None:
    """No row of an import is lost."""
    location = "s3://bucket/forgetting-at-once"
    catalog = Catalog(location)
    for number in range(3):
        publish_state(catalog, number)
    barrier, importers = processes.Barrier(3), []
    for number in (10, 11):
        here, there = processes.Pipe()
        arguments = (variables, location, number, barrier, there)
        process = processes.Process(target=publish_in_bucket, args=arguments)
        process.start()
        importers.append((process, here))
    barrier.wait()
    for number in range(2):
        catalog.refresh()
        going = [it for it in catalog.history.revisions if it.taken_at == day(number)]
        remove(catalog, plan(catalog, going))
    for process, here in importers:
        assert here.recv() is None
        process.join()
    catalog.refresh()
    taken = {(it.tag, it.taken_at) for it in catalog.history.revisions}
    assert taken == {(tag, day(number)) for tag in TAGS for number in (2, 10, 11)}
    assert verify(location).is_sound


def catalog_files(digest: str, catalog: Catalog) -> list[str]:
    """Return the files of a content that are there."""
    storage = Storage(parse_location(catalog.location))
    return [path for path in storage.find("specs") if digest in path]
