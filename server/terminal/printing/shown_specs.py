"""All there is to say of one spec, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from server.terminal.printing import styles
from server.terminal.printing.differences import pair_text
from server.terminal.printing.labels import labelled
from server.terminal.printing.layout import wrapped
from server.terminal.printing.log_documents import hash_facts
from server.terminal.printing.logs import span_lines
from server.terminal.printing.specs import spec_facts
from snapshots.frames.dependencies import DependencyGraph, DependencyType
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS, Fact, RevisionInfo, Spec, Unit, revision_facts
from snapshots.refs import title
from snapshots.timelines.spans import HashHistory
from snapshots.wording import counted, in_words, single_value, size, versioned

_NAMED = 20
"""So many of the specs that need another are named to people."""


class Needed(NamedTuple):
    """A direct dependency; ``version`` is None where nothing tells it.

    ``external_path`` is where it is installed without Spack, if it is.
    """

    name: str
    version: str | None
    hash: str
    types: Sequence[str]
    virtuals: Sequence[str]
    is_in_revision: bool
    external_path: str | None


class Counterpart(NamedTuple):
    """A spec that took the place of another one, in a revision."""

    revision: RevisionInfo
    before: Spec
    after: Spec


class ShownSpec(NamedTuple):
    """A spec as a revision has it, what it needs and who needs it, and its past.

    ``dependencies`` and ``dependents`` are None where they are not known. ``took_place_of`` and
    ``replaced_by`` tell of the last time that it came, and went.
    """

    spec: Spec
    revision: RevisionInfo
    known: HashHistory
    dependencies: Sequence[Needed] | None
    dependents: Sequence[Spec] | None
    took_place_of: Counterpart | None
    replaced_by: Counterpart | None


def needed_by(frame: Frame, graph: DependencyGraph, row: int) -> list[Needed] | None:
    """Return what a row depends on directly; None where that is not known."""
    if not graph.known[row]:
        return None
    reached = graph.dependencies_of(row)
    return [
        _needed(frame, graph, node, edge)
        for node, edge in zip(reached.nodes.tolist(), reached.edges.tolist(), strict=True)
    ]


def _needed(frame: Frame, graph: DependencyGraph, node: int, edge: int) -> Needed:
    is_inside = node < graph.num_rows
    side, row = (frame, node) if is_inside else (graph.outside, node - graph.num_rows)
    mask = DependencyType(int(graph.types[edge]))
    return Needed(
        name=side.package.at(row),
        version=side.version.at(row),
        hash=side.hashes.at(row),
        types=[str(kind.name).lower() for kind in DependencyType if kind & mask],
        virtuals=graph.virtuals.at(edge),
        is_in_revision=is_inside,
        external_path=side.columns["external_path"].at(row),
    )


def dependents_of(frame: Frame, graph: DependencyGraph, row: int) -> list[Spec] | None:
    """Return the specs that depend on a row directly; None where no dependencies are known."""
    if not graph.is_known:
        return None
    nodes = graph.dependents_of(row).nodes.tolist()
    return [frame.spec(node) for node in nodes if node < graph.num_rows]


def shown_spec_lines(shown: ShownSpec, width: int | None) -> Iterator[str]:
    """Yield the lines for people."""
    yield from map(styles.name, wrapped(shown.spec.short, width))
    yield from labelled(
        [
            *((_label(fact), _fact_text(shown, fact)) for fact in SPEC_FACTS.values()),
            ("As of", title(shown.revision)),
        ],
        width,
    )
    yield from _dependency_lines(shown.dependencies, width)
    yield from _dependent_lines(shown.dependents, width)
    yield ""
    yield "Where it was:"
    for line in span_lines(shown.known.spans, None if width is None else width - 2):
        yield f"  {line}"
    for words, pair in (
        ("Took the place of", shown.took_place_of),
        ("Its place was taken by", shown.replaced_by),
    ):
        if pair is not None:
            other = pair.after if pair.before.hash == shown.spec.hash else pair.before
            yield from wrapped(f"{words} /{other.hash} in {title(pair.revision)}:", width)
            yield from wrapped(f"  {pair_text(pair.before, pair.after)}", width)


def spec_document(shown: ShownSpec) -> dict[str, Any]:
    """Return the same for programs."""
    dependencies, dependents = shown.dependencies, shown.dependents
    return {
        "revision": revision_facts(shown.revision),
        "spec": spec_facts(shown.spec),
        "dependencies": None if dependencies is None else [it._asdict() for it in dependencies],
        "dependents": None
        if dependents is None
        else [{"name": it.name, "version": it.version, "hash": it.hash} for it in dependents],
        "history": hash_facts(shown.known, shown.known.spans),
        "took_place_of": _pair_facts(shown.took_place_of, is_after=False),
        "replaced_by": _pair_facts(shown.replaced_by, is_after=True),
    }


def _label(fact: Fact) -> str:
    return fact.label or in_words(fact.name).capitalize()


def _fact_text(shown: ShownSpec, fact: Fact) -> str:
    value = getattr(shown.spec, fact.name)
    if fact.name == "stacks" and shown.revision.known_stacks is None:
        return "unknown"
    if fact.name == "dependencies" or (value is None and fact.is_exceptional):
        return ""
    if value is None:
        return "unknown" if fact.may_be_unknown else "none"
    if fact.unit is Unit.BYTES:
        return f"{size(value)} ({counted(value, 'byte')})"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return single_value(value)


def _dependency_lines(dependencies: Sequence[Needed] | None, width: int | None) -> Iterator[str]:
    yield ""
    if dependencies is None:
        yield "What it depends on is not known."
        return
    yield (
        f"Depends on {counted(len(dependencies), 'spec')} directly:"
        if dependencies
        else ("Depends on nothing.")
    )
    for it in dependencies:
        name = versioned(it.name, it.version)
        types = ", ".join(it.types)
        virtuals = f" as {', '.join(it.virtuals)}" if it.virtuals else ""
        outside = "" if it.is_in_revision else ", not in the revision"
        if it.external_path is not None:
            outside = f", external at {it.external_path}"
        yield from wrapped(f"  /{it.hash} {name} ({types}{virtuals}{outside})", width)


def _dependent_lines(dependents: Sequence[Spec] | None, width: int | None) -> Iterator[str]:
    if dependents is None:
        return
    yield ""
    if not dependents:
        yield "Nothing in the revision depends on it."
        return
    needs = "needs" if len(dependents) == 1 else "need"
    yield f"{counted(len(dependents), 'spec')} {needs} it directly:"
    for spec in dependents[:_NAMED]:
        yield from wrapped(f"  /{spec.hash} {versioned(spec.name, spec.version)}", width)
    if len(dependents) > _NAMED:
        yield f"  and {len(dependents) - _NAMED:,} more"


def _pair_facts(pair: Counterpart | None, *, is_after: bool) -> dict[str, Any] | None:
    if pair is None:
        return None
    spec = pair.after if is_after else pair.before
    return {
        "revision": revision_facts(pair.revision),
        "spec": spec_facts(spec),
    }
