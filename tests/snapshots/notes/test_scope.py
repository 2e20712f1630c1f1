"""Release notes of a stack, a package or a query: only specs in scope are listed and counted."""

from hypothesis import assume, given

from snapshots.models import Spec
from snapshots.notes.changelog import ComparisonFilter, changelog, scope_of
from snapshots.notes.sentences import plain
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, as_markdown, explained, log_between, revision


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_scope_of_everything(base: list[Spec], head: list[Spec]) -> None:
    """The notes equal those without a scope."""
    explanation = explained(base, head)
    sides = explanation.base.frame, explanation.head.frame
    lines = revision("v1", 0, base), revision("v2", 1, head)
    unscoped = changelog(*lines, explanation)
    assert changelog(*lines, explanation, scope_of(ComparisonFilter(), sides, None)) == unscoped


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_scope_of_a_package(base: list[Spec], head: list[Spec]) -> None:
    """The notes have all entries of the package, and no others."""
    of_base, of_head = ({spec.hash: spec.name for spec in specs} for specs in (base, head))
    assume(all(of_head.get(digest, name) == name for digest, name in of_base.items()))
    unscoped = log_between(base, head)
    scoped = log_between(base, head, only=ComparisonFilter(package="hdf5"))
    expected = {
        section: [entry for entry in entries if entry.name == "hdf5"]
        for section, entries in unscoped.packages.items()
    }
    assert scoped.packages == {section: entries for section, entries in expected.items() if entries}
    assert scoped.before.num_specs == sum(spec.name == "hdf5" for spec in base)
    lost = unscoped.no_longer_available.versions
    assert scoped.no_longer_available.versions == [
        version for version in lost if version.package == "hdf5"
    ]


def test_scope_of_a_stack() -> None:
    """No other stack is listed, and the table has no row of stacks."""
    only = ComparisonFilter(stack="hep")
    assert only
    assert not ComparisonFilter()
    log = log_between(BASE, HEAD, only=only)
    assert list(log.stacks) == ["added"]
    assert [stack.name for stack in log.stacks["added"]] == ["hep"]
    assert [package.name for package in log.packages["added"]] == ["lib2", "lib10"]
    text = as_markdown(log)
    assert text.startswith("# Spack build cache: v0.21.0 → v0.22.0, stack `hep`\n")
    assert "| Stacks |" not in text


def test_spec_removed_from_the_stack() -> None:
    """A hash of both revisions is lost in a stack that no longer has it."""
    other = a_spec("other", name="zlib")
    old, new = [a_spec(stacks=("e4s", "hep")), other], [a_spec(stacks=("hep",)), other]
    log = log_between(old, new, only=ComparisonFilter(stack="e4s"))
    (cell,) = log.no_longer_available.coverage
    assert (cell.package, cell.values) == ("hdf5", ("e4s", "x86_64_v3"))
    assert (log.summary.coverage_lost, log.summary.coverage_gained) == (1, 0)
    assert log.packages["changed"][0].changed_facts == {"stacks": 1}


def test_counterpart_outside_the_scope() -> None:
    """A spec with a counterpart in another stack is neither new nor removed."""
    old = [a_spec("1", stacks=("hep", "root")), a_spec("2", name="zlib", stacks=("e4s", "root"))]
    new = [a_spec("3", stacks=("e4s", "root")), old[1]]
    for stack, sentence in (
        ("e4s", "Of 2 specs, 1 was rebuilt unchanged."),
        ("hep", "No spec was added, removed or rebuilt."),
    ):
        log = log_between(old, new, only=ComparisonFilter(stack=stack))
        assert plain(log.highlights[0]) == sentence
