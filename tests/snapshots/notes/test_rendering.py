"""Release notes as text: complete, the same to the byte, and the same story in both formats."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.changes.diff import Comparison
from snapshots.contents import Content
from snapshots.models import RevisionInfo, Spec
from snapshots.notes import rendering
from snapshots.notes.changelog import Changelog, changelog
from snapshots.spack.names import ROOT_STACK
from tests.snapshots.factories import SPECS, a_revision, a_spec
from tests.snapshots.records import frame_of


def revision(tag: str, taken: int, specs: Sequence[Spec], *, synthetic: bool) -> RevisionInfo:
    """Return the catalog's line of a content."""
    content = Content.of(specs)
    line = a_revision(tag, taken)
    return replace(
        line,
        digest=content.digest,
        num_packages=len(content.packages),
        num_specs=len(content),
        num_stacks=len(content.stacks - {ROOT_STACK}),
        total_size=content.total_size(),
        source=replace(line.source, synthetic=synthetic),
    )


def log_of(base: Sequence[Spec], head: Sequence[Spec], *, synthetic: bool = False) -> Changelog:
    """Return the changelog between two contents."""
    return changelog(
        revision("v0.21.0", 0, base, synthetic=False),
        revision("v0.22.0", 30, head, synthetic=synthetic),
        Comparison(frame_of(base), frame_of(head)),
    )


OLD = ("old", "root")
BASE = [
    a_spec("1", name="abinit", version="9.10", stacks=OLD),
    a_spec("2", name="boost", version="1.85.0"),
    a_spec("3", name="boost", version="1.84.0"),
    a_spec("4", name="cmake", version="3.29.0"),
    a_spec("5", name="doxygen", version="1.10.0"),
    a_spec("6", name="doxygen", version="1.9.0"),
    a_spec("7", name="eigen", version="3.4.0"),
    a_spec("8", name="fftw", version="3.3.10"),
    a_spec("9", name="gdb", version="14.2"),
    a_spec("17", name="hdf5", version="1.14.5"),
    a_spec("18", name="hypre", version="2.32.0"),
    a_spec("19", name="hypre", version="2.32.0"),
    a_spec("20", name="hypre", version="2.32.0"),
]
HEAD = [
    a_spec("2", name="boost", version="1.85.0"),
    a_spec("10", name="boost", version="1.86.0"),
    a_spec("11", name="cmake", version="3.28.0"),
    a_spec("5", name="doxygen", version="1.10.0"),
    a_spec("12", name="doxygen", version="1.8.0"),
    a_spec("13", name="eigen", version="3.4.0"),
    a_spec("8", name="fftw", version="3.3.10", target="m1", stacks=("e4s", "hep", "root")),
    a_spec("9", name="gdb", version="14.2"),
    a_spec("17", name="hdf5", version="1.14.5"),
    a_spec("21", name="hdf5", version="1.14.5"),
    a_spec("18", name="hypre", version="2.32.0"),
    a_spec("14", name="lib10", version="2", stacks=("hep", "root")),
    a_spec("15", name="lib2", version="1.0", stacks=("hep", "root")),
    a_spec("16", name="lib2", version="develop", stacks=("hep", "root")),
]

MARKDOWN = """\
# Spack build cache: v0.21.0 → v0.22.0

From **v0.21.0** of 5 January 2025 (`5ba557c6633f`) to **v0.22.0** of 4 February 2025 \
(`4866279ebebd`):

| | before | after | added | removed | changed |
|---|---:|---:|---:|---:|---:|
| Packages | 9 | 10 | 2 | 1 | 7 |
| Specs | 13 | 14 | 8 | 7 | 1 |
| Stacks | 2 | 2 | 1 | 1 | 1 |

## Added packages (2)

- `lib2` develop, 1.0
- `lib10` 2

## Upgraded packages (1)

- `boost` 1.85.0 → 1.86.0

## Downgraded packages (1)

- `cmake` 3.29.0 → 3.28.0

## Other version changes (1)

- `doxygen` 1.10.0: added 1.8.0; removed 1.9.0

## Removed packages (1)

- `abinit` 9.10

## Rebuilt packages (1)

- `eigen` 3.4.0 (1 spec added, 1 removed)

## Packages with more builds (1)

- `hdf5` 1.14.5 (1 spec added)

## Packages with fewer builds (1)

- `hypre` 2.32.0 (2 specs removed)

## Changed facts (1)

- `fftw`: target of 1 spec, stacks of 1 spec

## Added stacks (1)

- `hep` (4 specs of 3 packages)

## Removed stacks (1)

- `old` (1 spec of 1 package)

---

Not counted as changes: the stack root, which is the union of all others; facts that only one of \
the two revisions knows, such as sizes that were read for one of them; tarball URLs, which name \
the tag and stack that a binary was fetched for; dependencies and patches, which \
are the same as long as the hash is; the order of lists, and \
the two spellings of compilers and variants.
"""


def test_markdown() -> None:
    """Each kind of change has its section and its own kind of line; packages go as people count."""
    assert rendering.markdown(log_of(BASE, HEAD)) == MARKDOWN


def test_markdown_of_nothing() -> None:
    """Sections without entries are left out, and what is left is said."""
    text = rendering.markdown(log_of(BASE, BASE))
    assert "Nothing changed." in text
    assert "## " not in text
    assert "| Packages | 9 | 9 | 0 | 0 | 0 |" in text
    assert "Size" not in text


@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        (0, None, "| Size | 0 B | unknown | | | |"),
        (1023, 1024, "| Size | 1023 B | 1.0 KiB | | | +1 B |"),
        (1_048_575, 1_610_612_736, "| Size | 1.0 MiB | 1.5 GiB | | | +1.5 GiB |"),
        (1_048_576, 1_024, "| Size | 1.0 MiB | 1.0 KiB | | | -1023.0 KiB |"),
        (7, 7, "| Size | 7 B | 7 B | | | +0 B |"),
        (None, 1 << 52, "| Size | unknown | 4,096.0 TiB | | | |"),
    ],
)
def test_sizes(before: int | None, after: int | None, row: str) -> None:
    """Sizes are told in the largest unit that fits, once one of them is known."""
    log = log_of([a_spec(size=before)], [a_spec(size=after)])
    assert row in rendering.markdown(log).splitlines()


def test_made_up_data_are_marked() -> None:
    """Notes about data that a generator made up say so."""
    assert "*Synthetic data" in rendering.markdown(log_of(BASE, HEAD, synthetic=True))
    assert "Synthetic" not in rendering.markdown(log_of(BASE, HEAD))


def test_json() -> None:
    """The JSON notes have every fact of the Markdown ones, under stable names."""
    log = log_of(BASE, HEAD)
    document = orjson.loads(rendering.json(log))
    assert list(document) == [
        "base",
        "head",
        "summary",
        "packages",
        "stacks",
        "stacks_changed",
        "left_out",
    ]
    assert document["base"] == {
        "tag": "v0.21.0",
        "digest": log.base.digest,
        "taken_at": "2025-01-05T00:00:00Z",
        "published_at": "2025-01-05T00:00:00Z",
        "num_packages": 9,
        "num_specs": 13,
        "num_stacks": 2,
        "total_size": None,
        "source": {
            "kind": "pages",
            "location": "_cache",
            "version": None,
            "importer": "cachelog 1",
            "synthetic": False,
        },
    }
    assert document["packages"]["upgraded"] == [
        {
            "name": "boost",
            "newest_before": "1.85.0",
            "newest_after": "1.86.0",
            "versions_before": ["1.85.0", "1.84.0"],
            "versions_after": ["1.86.0", "1.85.0"],
            "specs_added": 1,
            "specs_removed": 1,
            "specs_changed": 0,
            "size_before": None,
            "size_after": None,
            "changed_facts": {},
        }
    ]
    assert document["stacks"] == {
        "added": [{"name": "hep", "num_specs": 4, "num_packages": 3}],
        "removed": [{"name": "old", "num_specs": 1, "num_packages": 1}],
    }
    assert document["stacks_changed"] == 1
    assert rendering.json(log).endswith("}\n")


def lines_of(markdown: str, title: str) -> list[str]:
    """Return the names that a section of the Markdown notes lists, in its order."""
    _, _, section = markdown.partition(f"\n## {title} (")
    section = section.partition("\n## ")[0].partition("\n---")[0]
    return [line.split("`")[1] for line in section.splitlines() if line.startswith("- ")]


TITLES = {
    "added": "Added packages",
    "upgraded": "Upgraded packages",
    "downgraded": "Downgraded packages",
    "versions_changed": "Other version changes",
    "removed": "Removed packages",
    "rebuilt": "Rebuilt packages",
    "more_builds": "Packages with more builds",
    "fewer_builds": "Packages with fewer builds",
    "changed": "Changed facts",
}


@given(SPECS, SPECS)
def test_both_formats_tell_the_same(base: list[Spec], head: list[Spec]) -> None:
    """Sections and their entries are the same in Markdown and JSON, in the same order."""
    log = log_of(base, head)
    markdown, document = rendering.markdown(log), orjson.loads(rendering.json(log))

    def names(section: list[dict[str, Any]]) -> list[str]:
        return [entry["name"] for entry in section]

    assert {kind: lines_of(markdown, title) for kind, title in TITLES.items()} == {
        kind: names(document["packages"].get(kind, [])) for kind in TITLES
    }
    for kind, title in (("added", "Added stacks"), ("removed", "Removed stacks")):
        assert lines_of(markdown, title) == names(document["stacks"].get(kind, []))
    titles = [line for line in markdown.splitlines() if line.startswith("## ")]
    assert len(titles) == len(document["packages"]) + len(document["stacks"])
    for entry in document["packages"].get("upgraded", []):
        line = f"- `{entry['name']}` {entry['newest_before']} → {entry['newest_after']}"
        assert line in markdown.splitlines()


@given(SPECS, SPECS)
def test_notes_are_the_same_to_the_byte(base: list[Spec], head: list[Spec]) -> None:
    """The order that the specs were read in leaves no trace in the notes."""
    one, other = log_of(base, head), log_of(base[::-1], head[::-1])
    assert rendering.markdown(one) == rendering.markdown(other)
    assert rendering.json(one) == rendering.json(other)


@given(SPECS, SPECS)
def test_markdown_is_tidy(base: list[Spec], head: list[Spec]) -> None:
    """No blank line follows another, no line ends in a space, the text ends in one newline."""
    text = rendering.markdown(log_of(base, head))
    lines = text.split("\n")
    assert "\n\n\n" not in text
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1] == ""
    assert lines[-2]
