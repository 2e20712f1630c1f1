"""docs/history.md: its examples run as they stand, and it has every name of the documents."""

import re
import shlex
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import Any

import pytest

from server.terminal.printing.histories import MOST_CHANGED
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.models import SPEC_FACTS
from tests.server.commands import cachelog
from tests.server.remembered import HDF5, ZLIB, remembered

TEXT = (Path(__file__).parents[1] / "docs" / "history.md").read_text("utf-8")
JSON = TEXT.partition("\n## JSON\n")[2]
NAMES = frozenset(re.findall(r"`([a-z_]+)`", JSON))


def examples() -> Iterator[tuple[list[str], str]]:
    """Yield the words behind ``cachelog`` of each example, and what is shown."""
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = example.partition("\n")
            yield shlex.split(command)[1:], shown


def test_examples(tmp_path: Path) -> None:
    """Each command prints what is shown, one after the other."""
    count = 0
    for words, shown in examples():
        done = cachelog(*words, catalog=tmp_path / "catalog")
        assert (done.code, done.err) == (0, ""), words
        assert OutputChecker().check_output(shown, done.out, ELLIPSIS), f"{words}: {done.out}"
        count += 1
    assert count == 9


def keys_of(value: Any) -> Iterator[str]:
    """Yield the names in a document; those of revisions and of facts are told of elsewhere."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item)
    elif isinstance(value, dict) and "taken_at" not in value:
        for name, inner in value.items():
            yield name
            if name not in ("reasons", "spec"):
                yield from keys_of(inner)
            elif name == "spec":
                assert inner.keys() == {"short", *SPEC_FACTS} - {"dependencies"}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where a catalog is that has a past; tests only read it."""
    return remembered(tmp_path_factory.mktemp("past")).catalog.location


@pytest.mark.parametrize(
    "command",
    [
        ("log",),
        ("log", "zlib"),
        ("log", f"/{ZLIB.hash}"),
        ("show", "develop~1"),
        ("show", "hdf5"),
        ("show", f"/{HDF5.hash}"),
        ("packages",),
        ("stacks",),
        ("tags",),
        ("causes",),
    ],
    ids=" ".join,
)
def test_every_name_is_described(command: tuple[str, ...], catalog: str) -> None:
    """Every name that a document has stands in the text."""
    document = cachelog(*command, "--json", catalog=catalog).json
    assert set(keys_of(document)) <= NAMES


def test_kinds_are_those_of_the_code() -> None:
    """Every kind of change of a package is told of, in the order in which they apply."""
    listed = re.search(r"in this order: (.*?)\.\n", TEXT, re.DOTALL)
    assert listed
    assert re.findall(r"`([a-z_]+)`", listed[1]) == [kind.value for kind in PackageChangeKind]


def test_how_many_packages_are_named() -> None:
    """The number is that of the code."""
    assert MOST_CHANGED == 10
    assert "The ten packages with the most changed specs are listed" in TEXT
