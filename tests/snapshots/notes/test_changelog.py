"""The changelog: every change in scope is in a section, and counted."""

from hypothesis import assume, given
from msgspec.structs import asdict

from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.scope import ComparisonFilter
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.models import Spec
from snapshots.notes.losses import FEW
from snapshots.notes.sections import Section
from snapshots.notes.sentences import Name, plain
from snapshots.spack.names import natural_key
from tests.expensive import FEWER_EXAMPLES
from tests.model.cells import lost_cells
from tests.snapshots.changes.graphs import explained
from tests.snapshots.changes.states import state_stacks
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, as_markdown, log_between


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_every_change_is_in_one_section(base: list[Spec], head: list[Spec]) -> None:
    """Each changed package is in the section of its kind; no section is empty."""
    comparison, log = explained(base, head).comparison, log_between(base, head)
    for kind in set(PackageChangeKind) - {PackageChangeKind.REMOVED}:
        names = [change.name for change in comparison.packages if change.kind is kind]
        assert names == sorted(names, key=natural_key)
        assert names == names_in(log.sections[kind.value])
    gone = {
        change.name for change in comparison.packages if change.kind is PackageChangeKind.REMOVED
    }
    lost = log.sections["removed_packages"]
    assert gone <= {*names_in(lost)}
    assert len(gone) == lost.count
    for moved in (StackChangeKind.ADDED, StackChangeKind.REMOVED):
        stacks = [stack.name for stack in comparison.stacks if stack.kind is moved]
        assert names_in(log.sections[f"{moved.value}_stacks"]) == stacks


def names_in(section: Section) -> list[str]:
    """Return the names in the lines of a section: the first in each, or all in a removed stack."""
    names = []
    for line in section.lines:
        of_line = [str(piece) for piece in line.pieces if isinstance(piece, Name)]
        names += of_line if " with the stack" in plain(line) else of_line[:1]
    return names


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_summary_adds_up(base: list[Spec], head: list[Spec]) -> None:
    """The counts add up to the packages, specs and stacks of both sides."""
    summary = asdict(log_between(base, head).summary)
    packages = sum(count for name, count in summary.items() if name.startswith("packages_"))
    assert packages == len({spec.name for spec in (*base, *head)})
    kinds = ("added", "removed", "changed", "unchanged")
    specs = {f"specs_{kind}": summary[f"specs_{kind}"] for kind in kinds}
    assert sum(specs.values()) == len({spec.hash for spec in (*base, *head)})
    assert len(head) - len(base) == specs["specs_added"] - specs["specs_removed"]
    before, after = (
        {stack for spec in specs for stack in spec.stacks} - {"root"} for specs in (base, head)
    )
    has_stacks = state_stacks((base, head))
    assert summary["stacks_added"] == (len(after - before) if has_stacks else None)
    assert summary["stacks_removed"] == (len(before - after) if has_stacks else None)
    for side, specs_of in (("before", base), ("after", head)):
        sizes = [spec.size for spec in specs_of if spec.size is not None]
        assert summary[f"total_size_{side}"] == (sum(sizes) if sizes else None)


# -- what is no longer available


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_lost_packages_versions_and_cells(base: list[Spec], head: list[Spec]) -> None:
    """Losses follow from sets of records; those of a lost package or stack are not repeated."""
    lost = log_between(base, head).losses
    names, remaining = {spec.name for spec in base}, {spec.name for spec in head}
    assert {change.name for change in lost.packages} == names - remaining
    before, after = ({(spec.name, spec.version) for spec in specs} for specs in (base, head))
    assert {(change.package, change.version) for change in lost.versions} == {
        row for row in before - after if row[0] in remaining
    }
    if state_stacks((base, head)):
        stacks = {stack for spec in head for stack in spec.stacks}
        assert {(change.package, *change.values) for change in lost.coverage} == {
            (name, stack, target)
            for name, stack, target in lost_cells(("stack", "target"), base, head, None)
            if name in remaining and stack in stacks
        }
    for version in lost.versions:
        assert set(version.replaced_by) <= {
            spec.version for spec in head if spec.name == version.package
        }


def test_package_removed_with_its_stacks() -> None:
    """A package names its stacks if all of them were removed."""
    old = [
        a_spec("1", name="a", stacks=("gone", "root")),
        a_spec("2", name="b", stacks=("gone", "hep", "root")),
        a_spec("3", name="c", stacks=("hep", "root")),
    ]
    lost = log_between(old, old[2:]).losses
    assert [(package.name, package.with_stacks) for package in lost.packages] == [
        ("a", ("gone",)),
        ("b", ()),
    ]


def test_replacements_of_a_version() -> None:
    """Newest first; a version without one is lost."""
    old = [a_spec("1", version="1.5"), a_spec("2", version="1.5", target="m1")]
    new = [a_spec("3", version="1.4"), a_spec("4", version="1.6", target="m1")]
    (both,) = log_between(old, new).losses.versions
    assert (both.replaced_by, both.num_specs) == (["1.6", "1.4"], 2)
    (older,) = log_between(old[:1], new[:1]).losses.versions
    assert older.replaced_by == ["1.4"]
    other = a_spec("5", version="1.3", target="m1")
    (none,) = log_between([*old[:1], other], [other]).losses.versions
    assert (none.replaced_by, none.num_specs) == ([], 1)


def test_nearest_specs_of_few_lost_cells() -> None:
    """A stack that moved to another target does not list hundreds of nearest specs."""
    for count in (FEW, FEW + 1):
        old = [a_spec(f"o{n}", name=f"p{n}", target="m1") for n in range(count)]
        new = [a_spec(f"n{n}", name=f"p{n}", target="m2") for n in range(count)]
        lost = log_between(old, new).losses.coverage
        assert [cell.nearest is not None for cell in lost] == [count == FEW] * count


# -- a scope


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_scope_of_a_package(base: list[Spec], head: list[Spec]) -> None:
    """The notes have all entries of the package, and no others."""
    of_base, of_head = ({spec.hash: spec.name for spec in specs} for specs in (base, head))
    assume(all(of_head.get(digest, name) == name for digest, name in of_base.items()))
    unscoped = log_between(base, head)
    scoped = log_between(base, head, only=ComparisonFilter(package="hdf5"))
    for kind in PackageChangeKind:
        if kind is not PackageChangeKind.REMOVED:
            lines = unscoped.sections[kind.value].lines
            of_package = [line for line in lines if line.pieces[0] == "hdf5"]
            assert scoped.sections[kind.value].lines == of_package
    assert scoped.before.num_specs == sum(spec.name == "hdf5" for spec in base)
    lost = unscoped.losses.versions
    assert scoped.losses.versions == [version for version in lost if version.package == "hdf5"]


def test_scope_of_a_stack() -> None:
    """No other stack is listed, and the table has no row of stacks."""
    only = ComparisonFilter(stack="hep")
    assert only
    assert not ComparisonFilter()
    log = log_between(BASE, HEAD, only=only)
    assert names_in(log.sections["added_stacks"]) == ["hep"]
    assert names_in(log.sections["removed_stacks"]) == []
    assert names_in(log.sections["added"]) == ["lib2", "lib10"]
    text = as_markdown(log)
    assert text.startswith("# Spack build cache: v0.21.0 → v0.22.0, stack `hep`\n")
    assert "| Stacks |" not in text


def test_spec_removed_from_the_stack() -> None:
    """A hash of both revisions is lost in a stack that no longer has it."""
    other = a_spec("other", name="zlib")
    old, new = [a_spec(stacks=("e4s", "hep")), other], [a_spec(stacks=("hep",)), other]
    log = log_between(old, new, only=ComparisonFilter(stack="e4s"))
    (cell,) = log.losses.coverage
    assert (cell.package, cell.values) == ("hdf5", ("e4s", "x86_64_v3"))
    assert [*map(plain, log.sections["changed"].lines)] == ["hdf5: stacks of 1 spec"]


def test_counterpart_outside_the_scope() -> None:
    """A spec with a counterpart in another stack is neither new nor removed."""
    old = [a_spec("1", stacks=("hep", "root")), a_spec("2", name="zlib", stacks=("e4s", "root"))]
    new = [a_spec("3", stacks=("e4s", "root")), old[1]]
    for stack, sentence in (
        ("e4s", "Of 2 specs, 1 was rebuilt unchanged."),
        ("hep", "The stack hep with 1 spec was removed."),
    ):
        log = log_between(old, new, only=ComparisonFilter(stack=stack))
        assert plain(log.highlights[0]) == sentence
