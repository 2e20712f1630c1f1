"""``cachelog import`` and ``cachelog demo``: what fills a catalog, and what must never get in."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.demo import history, write_pages
from snapshots.history import History
from tests.server.commands import Done, cachelog

HASHES = ["a" * 32, "b" * 32]


def demo_pages(folder: Path) -> list[Snapshot]:
    """Write three revisions of a small history as pages, and return them."""
    snapshots = list(history(revisions=3, packages=4, specs=12))
    for snapshot in snapshots:
        write_pages(snapshot, folder)
    return snapshots


def as_pages_tell(content: Content) -> Content:
    """Return a content without the facts that no page has."""
    return Content.of(
        replace(spec, size=None, namespace=None, package_hash=None, dependencies=None)
        for spec in content.specs()
    )


def history_of(catalog: Path) -> History:
    """Return what is published in a catalog."""
    opened = Catalog(str(catalog))
    opened.refresh(missing_ok=True)
    return opened.history


def page(name: str = "zlib", **facts: Any) -> bytes:
    """Return a cache page with two specs; facts replace or add to its front matter."""
    matter = {
        "title": name,
        "layout": "cache",
        "categories": ["package", "develop"],
        "spec_details": [detail(hash_) for hash_ in HASHES],
    } | facts
    lines = [f"{key}: {orjson.dumps(value).decode()}" for key, value in matter.items()]
    return "\n".join(("---", *lines, "---", "")).encode()


def detail(hash_: str, **facts: Any) -> dict[str, Any]:
    """Return a spec as a page has it."""
    spec = {
        "hash": hash_,
        "compiler": "gcc@=13.2.0",
        "versions": ["1.3.1"],
        "os": "ubuntu24.04",
        "platform": "linux",
        "target": "x86_64_v3",
        "variants": ["+shared"],
        "stacks": ["root", "e4s"],
        "size": "-",
    }
    return spec | facts


def written(folder: Path, content: bytes, path: str = "develop/zlib/specs.md") -> Path:
    """Write a page into a tree of pages, and return it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


# -- what gets in


def test_a_tree_of_pages_becomes_revisions(tmp_path: Path) -> None:
    """One a tag, with the very content that was written, and told in a line each."""
    snapshots, catalog = demo_pages(tmp_path / "pages"), tmp_path / "catalog"
    done = cachelog("import", tmp_path / "pages", catalog=catalog)
    assert (done.code, done.err) == (0, "")
    published = {it.tag: it for it in history_of(catalog).revisions}
    assert published.keys() == {snapshot.tag for snapshot in snapshots}
    for snapshot in snapshots:
        revision, content = published[snapshot.tag], as_pages_tell(snapshot.content)
        assert revision.digest == content.digest
        assert (revision.num_packages, revision.num_specs) == (len(content.packages), len(content))
        assert revision.source.kind == "pages"
        assert revision.source.synthetic
        told = f"{revision.tag}: published {revision.digest[:12]} of "
        (line,) = [line for line in done.lines if line.startswith(told)]
        assert f"{revision.num_specs} specs" in line
        assert line.endswith(" (synthetic)")


def test_dates_are_those_in_the_tags(tmp_path: Path) -> None:
    """A tag without a date was taken when it was imported."""
    demo_pages(tmp_path / "pages")
    before = datetime.now(UTC)
    cachelog("import", tmp_path / "pages", catalog=tmp_path / "catalog")
    taken = {it.tag: it.taken_at for it in history_of(tmp_path / "catalog").revisions}
    assert taken["develop-2025-01-05"] == datetime(2025, 1, 5, tzinfo=UTC)
    assert before <= taken["develop"] <= datetime.now(UTC)


def test_the_same_again_publishes_nothing(tmp_path: Path) -> None:
    """Whatever the order of lists and the spelling of compilers and variants."""
    file = written(tmp_path / "pages", page(spec_details=[detail(it) for it in HASHES]))
    catalog = tmp_path / "catalog"
    first = cachelog("import", tmp_path / "pages", "--json", catalog=catalog)
    file.write_bytes(
        page(
            spec_details=[
                detail(it, compiler="gcc@13.2.0", stacks=["e4s", "root"]) for it in HASHES[::-1]
            ]
        )
    )
    again = cachelog("import", tmp_path / "pages", "--json", catalog=catalog)
    assert [it["published"] for it in first.json["revisions"]] == [True]
    assert [it["published"] for it in again.json["revisions"]] == [False]
    assert first.json["revisions"][0]["digest"] == again.json["revisions"][0]["digest"]
    assert len(history_of(catalog).revisions) == 1
    told = cachelog("import", tmp_path / "pages", catalog=catalog)
    assert "develop: unchanged, nothing published" in told.out


@pytest.mark.parametrize(
    ("options", "tags"),
    [
        (("--tag", "develop"), ["develop"]),
        (("--tag", "develop-*"), ["develop-2025-01-12", "develop-2025-01-05"]),
        (("--tag", "develop", "--tag", "*-05"), ["develop", "develop-2025-01-05"]),
    ],
    ids=str,
)
def test_tags_are_chosen_by_name_or_glob(
    tmp_path: Path, options: tuple[str, ...], tags: list[str]
) -> None:
    """The others are left out."""
    snapshots = list(history(revisions=3, packages=4, specs=12))
    for snapshot, tag in zip(
        snapshots, ("develop-2025-01-05", "develop-2025-01-12", "develop"), strict=True
    ):
        write_pages(replace(snapshot, tag=tag), tmp_path / "pages")
    assert cachelog("import", tmp_path / "pages", *options, catalog=tmp_path / "c").code == 0
    assert history_of(tmp_path / "c").tags == tags


def test_a_page_is_published_under_another_tag(tmp_path: Path) -> None:
    """With a warning, where it says one of its own; at the time that is given."""
    file = written(tmp_path, page())
    options = ("--tag", "mine", "--taken-at", "2024-02-03T04:05:06+01:00")
    done = cachelog("import", file, *options, catalog=tmp_path / "catalog")
    assert done.code == 0
    assert done.err == f"warning: {file}: says tag develop; published as mine\n"
    (revision,) = history_of(tmp_path / "catalog").revisions
    assert (revision.tag, revision.taken_at) == ("mine", datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC))


def test_what_cannot_be_read_is_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    """Whole pages and single specs; each is listed, for people and for programs."""
    good = written(tmp_path / "pages", page())
    half = [detail("c" * 32), detail("no hash")]
    bad_spec = written(tmp_path / "pages", page("hdf5", spec_details=half), "develop/hdf5/specs.md")
    bad_page = written(tmp_path / "pages", b"---\n", "develop/cut/specs.md")
    done = cachelog("import", tmp_path / "pages", "--skip-bad", "--json", catalog=tmp_path / "c")
    assert done.code == 0
    assert [it["num_specs"] for it in done.json["revisions"]] == [3]
    skipped = {it["location"]: it for it in done.json["skipped"]}
    assert set(skipped) == {str(bad_spec), str(bad_page)}
    assert skipped[str(bad_spec)]["key"] == "spec_details[1].hash"
    assert skipped[str(bad_spec)]["line"] == 5
    for it in skipped.values():
        assert it["reason"] in done.err
        assert f"skipped: {it['location']}" in done.err
    assert str(good) not in done.err


def test_an_index_becomes_a_revision(tmp_path: Path) -> None:
    """The index of a build cache is read as well; it names no tag, so one is given."""
    spec = {
        "name": "zlib",
        "version": "1.3.1",
        "arch": {"platform": "linux", "platform_os": "ubuntu24.04", "target": "x86_64_v3"},
        "compiler": {"name": "gcc", "version": "13.2.0"},
        "namespace": "builtin",
        "parameters": {"shared": True, "build_system": "makefile", "cflags": []},
        "hash": HASHES[0],
    }
    install = {"spec": spec, "ref_count": 1, "in_buildcache": True}
    index = {"database": {"version": "7", "installs": {HASHES[0]: install}}}
    file = tmp_path / "index.json"
    file.write_bytes(orjson.dumps(index))
    done = cachelog("import", file, "--tag", "mine", "--json", catalog=tmp_path / "c")
    assert done.code == 0, done.err
    (revision,) = done.json["revisions"]
    assert (revision["tag"], revision["num_specs"]) == ("mine", 1)
    assert revision["source"]["kind"] == "index"


def test_a_history_of_pages_is_read_from_git(tmp_path: Path) -> None:
    """One revision a commit that changed something, at the commit's time; again, nothing new."""
    repository = tmp_path / "site"
    written(repository, page(), "_cache/develop/zlib/specs.md")
    git(repository, "init", "--quiet")
    commit(repository, "2025-03-01T10:00:00Z")
    written(repository, page(spec_details=[detail("c" * 32)]), "_cache/develop/zlib/specs.md")
    commit(repository, "2025-03-02T10:00:00Z")
    options = ("import", "--git", repository, "--json")
    settings: dict[str, Any] = {
        "catalog": tmp_path / "catalog",
        "cache_dir": tmp_path / "cache",
    }
    done = cachelog(*options, **settings)
    assert done.code == 0, done.err
    taken = [(it["taken_at"], it["num_specs"]) for it in done.json["revisions"]]
    assert taken == [("2025-03-01T10:00:00Z", 2), ("2025-03-02T10:00:00Z", 1)]
    assert len(history_of(tmp_path / "catalog").revisions) == 2
    assert not any(it["published"] for it in cachelog(*options, **settings).json["revisions"])


def git(repository: Path, *arguments: str, **variables: str) -> None:
    """Run git as somebody whom nothing else is known of."""
    who = {f"GIT_{it}_{fact}": "x" for it in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(repository), **who, **variables}
    subprocess.run(["git", *arguments], cwd=repository, env=environ, check=True)


def commit(repository: Path, date: str) -> None:
    """Commit all that is there."""
    git(repository, "add", "_cache")
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    git(repository, "commit", "--quiet", "--message", date, **dates)


# -- what does not get in

BAD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("is empty",)),
    "no front matter": (b"# zlib\n", ("line 1", "does not begin with")),
    "cut": (page()[:-5], ("is cut",)),
    "text behind": (page() + b"more", ("has text after",)),
    "no UTF-8": (page().replace(b"shared", b"\xff\xff"), ("is not UTF-8",)),
    "no YAML": (b"---\na: [\n---\n", ("is not YAML",)),
    "a bomb": (b"---\na: &a [x, x]\nb: [*a, *a]\n---\n", ("anchors",)),
    "a page of 2022": (
        b"---\ncategory: package\nspec_files:\n- x\nspec_names:\n- zlib@1\n---\n",
        ("the layout of 2022",),
    ),
    "no cache page": (b"---\ntitle: About\n---\n", ("is no cache page",)),
    "a name that is none": (page("../etc"), ("'../etc' cannot name a package",)),
    "a name that is no text": (page(title=1), ("title", "a text is expected")),
    "a tag that is none": (page(categories=["package", "a b"]), ("categories", "is no tag")),
    "specs that are no list": (page(spec_details={}), ("spec_details", "is no list")),
    "a spec that is no object": (page(spec_details=[1]), ("spec_details[0]", "is no object")),
    "no hash": (
        page(spec_details=[detail(HASHES[0].upper())]),
        ("line 5", "spec_details[0].hash", "is no hash"),
    ),
    "a hash twice": (page(spec_details=[detail(HASHES[0])] * 2), (HASHES[0], "already")),
    "no version": (
        page(spec_details=[detail(HASHES[0], versions=[])]),
        ("spec_details[0].versions", "one version is expected"),
    ),
    "two versions": (page(spec_details=[detail(HASHES[0], versions=["1", "2"])]), ("versions",)),
    "no target": (
        page(spec_details=[{k: v for k, v in detail(HASHES[0]).items() if k != "target"}]),
        ("spec_details[0].target", "is missing"),
    ),
    "variants that are no texts": (
        page(spec_details=[detail(HASHES[0], variants=[1])]),
        ("spec_details[0].variants", "a list of texts is expected"),
    ),
    "a negative size": (
        page(spec_details=[detail(HASHES[0], size=-1)]),
        ("spec_details[0].size", "a number of bytes"),
    ),
    "a summary that is none": (page(meta=[]), ("meta", "is no object")),
}


def assert_refused(done: Done, catalog: Path, *said: str) -> None:
    """Hold that a fault was told in one line, and that nothing was published."""
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("cachelog: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    for text in said:
        assert text in done.err
    assert history_of(catalog).revisions == []


@pytest.mark.parametrize(("content", "said"), BAD.values(), ids=BAD)
def test_a_bad_page_ends_the_import(tmp_path: Path, content: bytes, said: tuple[str, ...]) -> None:
    """The file, the place in it and the reason are told; good pages beside it are not published."""
    written(
        tmp_path / "pages", page("hdf5", spec_details=[detail("d" * 32)]), "develop/hdf5/specs.md"
    )
    file = written(tmp_path / "pages", content)
    done = cachelog("import", tmp_path / "pages", catalog=tmp_path / "c")
    assert_refused(done, tmp_path / "c", str(file), *said)


def nothing(_folder: Path) -> None:
    """Leave the folder as it is."""


def page_without_tag(folder: Path) -> None:
    """Write a page that names no tag, where no path names one either."""
    written(folder, page(categories=["package"]), "page.md")


def pages_with_and_without_tag(folder: Path) -> None:
    """Write one page that names a tag, and one that names none."""
    written(folder, page())
    page_without_tag(folder)


PLACES: dict[str, tuple[Callable[[Path], Any], tuple[str, ...], str]] = {
    "an empty folder": (nothing, (), "holds no cache pages"),
    "no tag": (page_without_tag, (), "name one with --tag"),
    "a tag that is none": (page_without_tag, ("--tag", "a b"), "'a b' is no tag"),
    "some with a tag, some without": (
        pages_with_and_without_tag,
        ("--tag", "mine"),
        "some pages name no tag, others develop",
    ),
    "tags that are not there": (
        lambda folder: written(folder, page()),
        ("--tag", "nope-*"),
        "nope-*",
    ),
}


@pytest.mark.parametrize(("make", "options", "said"), PLACES.values(), ids=PLACES)
def test_what_cannot_be_placed_ends_the_import(
    tmp_path: Path, make: Callable[[Path], Any], options: tuple[str, ...], said: str
) -> None:
    """The message says what to do about it."""
    folder = tmp_path / "pages"
    folder.mkdir()
    make(folder)
    done = cachelog("import", folder, *options, catalog=tmp_path / "c")
    assert_refused(done, tmp_path / "c", said)


def test_nothing_but_bad_pages_publishes_nothing(tmp_path: Path) -> None:
    """Skipping them all leaves nothing to publish; that is a fault, and they are listed."""
    file = written(tmp_path / "pages", b"")
    done = cachelog("import", tmp_path / "pages", "--skip-bad", catalog=tmp_path / "c")
    assert (done.code, done.out) == (1, "")
    assert f"skipped: {file}: is empty" in done.err
    assert done.err.endswith("cachelog: nothing could be read, so nothing was published\n")
    assert history_of(tmp_path / "c").revisions == []


def test_a_catalog_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    """The place and the reason are told."""
    written(tmp_path / "pages", page())
    (tmp_path / "file").write_text("in the way")
    done = cachelog("import", tmp_path / "pages", catalog=tmp_path / "file" / "catalog")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cachelog: catalog {tmp_path / 'file' / 'catalog'}: ")
    assert "Traceback" not in done.err


# -- what is made up


def test_the_demo_fills_a_catalog(tmp_path: Path) -> None:
    """With as much as is asked for, the same every time, and marked as synthetic."""
    options = ("demo", "--revisions", "3", "--packages", "5", "--specs", "20", "--seed", "7")
    done = cachelog(*options, catalog=tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    assert len(done.lines) == 3
    assert all(line.endswith(" (synthetic)") for line in done.lines)
    cachelog(*options, catalog=tmp_path / "b")
    made, again = (history_of(tmp_path / name).revisions for name in "ab")
    assert [it.digest for it in made] == [it.digest for it in again]
    expected = list(history(revisions=3, packages=5, specs=20, seed=7))
    assert [it.digest for it in made[::-1]] == [it.content.digest for it in expected]
    assert all(it.source.synthetic for it in made)
    assert cachelog(*options[:-1], "8", catalog=tmp_path / "c").out != done.out


def test_the_demo_can_be_written_as_pages(tmp_path: Path) -> None:
    """What is imported from them is what the demo made, as far as pages can tell."""
    options = ("--revisions", "2", "--packages", "5", "--specs", "20")
    done = cachelog("demo", *options, "--pages", tmp_path / "pages", catalog=tmp_path / "c")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        f"{tag}: wrote 5 pages below {tmp_path / 'pages' / tag}"
        for tag in ("develop-2025-01-05", "develop")
    ]
    assert not (tmp_path / "c").exists()
    cachelog("import", tmp_path / "pages", catalog=tmp_path / "c")
    imported = {it.tag: it.digest for it in history_of(tmp_path / "c").revisions}
    assert imported == {
        it.tag: as_pages_tell(it.content).digest
        for it in history(revisions=2, packages=5, specs=20)
    }
