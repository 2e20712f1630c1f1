"""``cachelog import``: what must never get into a catalog, and what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.cache_pages import HASHES, detail, history_of, page, written
from tests.server.commands import Done, cachelog

SIGNED = """-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512

{}
-----BEGIN PGP SIGNATURE-----
"""


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


@pytest.mark.parametrize("options", [(), ("--tag", "mine")], ids=str)
@pytest.mark.parametrize("form", ["{}", SIGNED], ids=["plain", "signed"])
def test_a_single_spec_is_no_build_cache(
    tmp_path: Path, form: str, options: tuple[str, ...]
) -> None:
    """Its file is named for what it is, with what can be imported instead."""
    file = tmp_path / "zlib.spec.json"
    file.write_text(form.format('{"spec": {"_meta": {"version": 4}, "nodes": []}}'))
    done = cachelog("import", file, *options, catalog=tmp_path / "c")
    assert_refused(done, tmp_path / "c", f"{file}: is the spec.json of one spec", "index.json")


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
