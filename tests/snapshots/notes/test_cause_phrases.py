"""Causes in words: a phrase for each kind, and a sentence for all causes of a comparison."""

from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.causes import CauseName
from snapshots.changes.vocabulary import cause_title
from snapshots.models import CauseKind, Spec
from snapshots.notes.causes import CauseEntry, rebuilds_of
from snapshots.notes.phrases import causes_sentences, noun_phrase
from snapshots.notes.sentences import Name, Sentence, Value, enumerated, html, markdown, plain
from snapshots.texts import visible
from tests.snapshots.changes.graphs import RECIPE, edge, explained, node
from tests.snapshots.notes.stories import as_markdown, log_between

OTHER_RECIPE = "b" * 52 + "===="


def an_entry(
    kind: CauseKind, package: str, before: str | None, after: str | None, **facts: Any
) -> CauseEntry:
    """Return a cause of one spec."""
    name = CauseName(kind, package, before, after)
    entry = CauseEntry(name=name, title=cause_title(name), num_specs=1, num_involved=1)
    return replace(entry, **facts)


@pytest.mark.parametrize(
    ("kind", "before", "after", "phrase"),
    [
        (CauseKind.VERSION, "1.1", "1.2", "`p` 1.1 → 1.2"),
        (CauseKind.RECIPE, None, None, "the recipe of `p`"),
        (CauseKind.VARIANTS, "+a", "~a", "a change of variants of `p` (`+a` → `~a`)"),
        (CauseKind.VARIANTS, None, "+b", "a change of variants of `p` (now `+b`)"),
        (CauseKind.VARIANTS, "+a", None, "a change of variants of `p` (no longer `+a`)"),
        (CauseKind.COMPILER, "gcc@1", "gcc@2", "the compiler (`gcc@1` → `gcc@2`)"),
        (CauseKind.TARGET, "a-b-c", "a-b-d", "the target of `p` (a-b-c → a-b-d)"),
        (CauseKind.DEPENDENCY_ADDED, None, "q", "`p` newly depending on `q`"),
        (CauseKind.DEPENDENCY_REMOVED, "q", None, "`p` no longer depending on `q`"),
        (CauseKind.DEPENDENCY_ADDED, "q", "q", "`p` depending otherwise on `q`"),
        (CauseKind.PROVIDER, "q", "r", "`p` with `r` in place of `q`"),
        (CauseKind.EXTERNAL, "1", "2", "external `p` (1 → 2)"),
        (CauseKind.EXTERNAL, None, None, "external `p`"),
        (CauseKind.REPOSITORY, "a", "b", "the repository of `p` (a → b)"),
        (CauseKind.FORMAT, "x=1", "x=2", "the spelling of `p` (`x=1` → `x=2`)"),
        (CauseKind.UNKNOWN, None, None, "`p` for an unknown reason"),
    ],
)
def test_phrase_of_each_kind(
    kind: CauseKind, before: str | None, after: str | None, phrase: str
) -> None:
    """A phrase names the kind, the package, and the values before and after."""
    assert markdown(Sentence(*noun_phrase(an_entry(kind, "p", before, after)))) == phrase


def test_long_values_are_truncated() -> None:
    """A list of variants can have any length, a phrase cannot."""
    cause = an_entry(CauseKind.VARIANTS, "p", "x" * 10_000, "y" * 10_000)
    assert len(plain(Sentence(*noun_phrase(cause)))) < 300


def chain(*names: str, changed: dict[str, dict[str, Any]], label: str) -> list[Spec]:
    """Return specs in a chain of dependencies; those above a changed one have new hashes."""
    specs: list[Spec] = []
    lower = ""
    for name in reversed(names):
        facts = changed.get(name, {})
        is_new = bool(facts) or lower.endswith(label)
        own = f"{name}:{label}" if is_new else f"{name}:old"
        below = [edge(lower, name=lower.partition(":")[0])] if lower else []
        specs.append(node(own, *below, **{**facts, "name": name}))
        lower = own
    return specs


def sentences_of(base: Sequence[Spec], head: Sequence[Spec]) -> list[str]:
    """Return the sentences about the causes of the replacements between two contents."""
    explanation = explained(base, head)
    rebuilds = rebuilds_of(explanation.causes, explanation.comparison.specs)
    return [*map(plain, causes_sentences(rebuilds))]


NAMES = ("tau", "raja", "hdf5", "python", "expat", "gettext")
WEEK: dict[str, dict[str, Any]] = {
    "gettext": {"package_hash": OTHER_RECIPE},
    "expat": {"version": "2.8.2"},
}


def test_sentences_of_a_week() -> None:
    """They have the largest cause with the one that overlaps with it, and isolated changes."""
    alone = [node("bfs", name="bfs", version="4.1"), node("zlib", name="zlib")]
    base = [*chain(*NAMES, changed={}, label="old"), *alone]
    changed = {**WEEK, "tau": {"variants": ("+mpi",)}}
    head = [
        *chain(*NAMES, changed=changed, label="new"),
        node("bfs:2", name="bfs", version="4.2"),
        alone[1],
    ]
    assert sentences_of(base, head) == [
        "gettext's recipe changed, which accounts for 4 specs and reached 6, most of which "
        "expat 1 → 2.8.2 reached, too.",
        "Two more changes reached only their own packages.",
    ]


def stars(*sizes: int, label: str) -> list[Spec]:
    """Return packages with as many dependents as the sizes say."""
    return [
        spec
        for star, size in enumerate(sizes)
        for spec in (
            node(f"below{star}:{label}", version="1" if label == "old" else "2"),
            *(node(f"s{star}-{n}:{label}", f"below{star}:{label}") for n in range(size)),
        )
    ]


@pytest.mark.parametrize(
    ("sizes", "rest"),
    [
        ((5, 3), ["below1 1 → 2 accounts for 4 specs."]),
        (
            (5, 3, 2),
            ["below1 1 → 2 accounts for 4 specs.", "below2 1 → 2 accounts for 3 specs."],
        ),
        (
            (9, 5, 4, 3, 2),
            [
                "below1 1 → 2 accounts for 6 specs.",
                "below2 1 → 2 accounts for 5 specs.",
                "Two more changes reached 4 specs or fewer each.",
            ],
        ),
    ],
)
def test_independent_causes(sizes: tuple[int, ...], rest: list[str]) -> None:
    """Causes that reach far are named one by one, the others are counted with a bound."""
    base, head = (stars(*sizes, label=label) for label in ("old", "new"))
    first = f"below0 went from 1 to 2, which accounts for {sizes[0] + 1} specs."
    assert sentences_of(base, head) == [first, *rest]


PAGE_SIZE = {"variants": ("page_size=64",)}


@pytest.mark.parametrize(
    ("old", "new", "clause"),
    [
        (node("a", "b"), node("a:2"), "a no longer depends on b"),
        (node("a"), node("a:2", "b"), "a newly depends on b"),
        (node("a", "b"), node("a:2", edge("b", ("build",))), "a depends otherwise on b"),
        (
            node("a", edge("b", virtuals=("mpi",))),
            node("a:2", edge("c", virtuals=("mpi",))),
            "a uses c in place of b",
        ),
        (node("a"), node("a:2", **PAGE_SIZE), "Variants of a (now page_size=64) changed"),
        (node("a"), node("a:2", target="m1"), "The target of a ({0}x86_64_v3 → {0}m1) changed"),
    ],
)
def test_clause_of_each_kind(old: Spec, new: Spec, clause: str) -> None:
    """A cause as a clause begins a sentence."""
    others = [node("b"), node("c")]
    base = [old, node("user", edge(old.name)), *others]
    head = [new, node("user:2", edge("a:2")), *others]
    expected = f"{clause.format('linux-ubuntu22.04-')}, which accounts for 2 specs."
    assert sentences_of(base, head) == [expected]


def test_changes_without_dependents() -> None:
    """A change without dependents does not count as a cause of rebuilds."""
    base = [node("a", version="1"), node("b", version="1")]
    head = [node("a:2", version="2"), node("b:2", version="2")]
    assert sentences_of(base, head) == ["Two changes reached only their own packages."]
    alone = sentences_of(base, [head[0], base[1]])
    assert alone == ["a went from 1 to 2, which accounts for 1 spec."]
    assert sentences_of(base, base) == []


def test_causes_of_equal_specs_are_one_group() -> None:
    """A compiler and its wrapper below all specs are one line and one clause."""

    def content(label: str, recipe: str) -> list[Spec]:
        wrapper = node(f"compiler-wrapper:{label}", f"gcc:{label}", package_hash=recipe)
        below = (f"gcc:{label}", f"compiler-wrapper:{label}")
        return [wrapper, *(node(f"p{number}:{label}", *below) for number in range(6))]

    compilers = [node("gcc:old", version="12.3.0"), node("gcc:new", version="13.2.0")]
    log = log_between(content("old", RECIPE), content("new", OTHER_RECIPE), compilers)
    assert plain(log.highlights[1]) == (
        "compiler-wrapper's recipe changed, together with gcc 12.3.0 → 13.2.0, "
        "which accounts for 7 specs."
    )
    assert (
        "7 specs replaced others.\n\n- The recipe of `compiler-wrapper`, together with "
        "`gcc` 12.3.0 → 13.2.0, accounts for 7 specs\n"
    ) in as_markdown(log)


def test_what_is_not_known_comes_first_where_it_is_most() -> None:
    """How much the causes that follow explain nothing of."""
    base = [*chain(*NAMES, changed={}, label="old")]
    head = [*chain(*NAMES, changed=WEEK, label="new")]
    explanation = explained(base, head)
    rebuilds = rebuilds_of(explanation.causes, explanation.comparison.specs)
    known = causes_sentences(rebuilds)
    for count, first in ((4, []), (6, ["The cause of 6 specs is unknown."])):
        unknown = an_entry(CauseKind.UNKNOWN, "x", None, None, num_specs=count)
        sentences = causes_sentences(replace(rebuilds, causes=[*rebuilds.causes, unknown]))
        assert [*map(plain, sentences)] == [*first, *map(plain, known)]
    (alone,) = causes_sentences(replace(rebuilds, causes=[unknown], groups=[]))
    assert plain(alone) == "The cause of 6 specs is unknown."


# -- sentences in each markup


@given(st.text(min_size=1), st.text(min_size=1))
def test_texts_are_escaped_in_html(name: str, value: str) -> None:
    """Any texts result in one element, and are shown in full."""
    text = html(Sentence("a ", Name(name), " b ", Value(value)))
    assert text.count("<") == 2
    assert unescape(text.replace("<code>", "", 1).replace("</code>", "", 1)) == (
        f"a {visible(name)} b {visible(value)}"
    )


@pytest.mark.parametrize(
    ("count", "limit", "text"),
    [
        (1, 3, "p0"),
        (2, 3, "p0 and p1"),
        (4, 3, "p0, p1, p2 and p3"),
        (5, 3, "p0, p1, p2 and 2 more"),
        (2_003, 3, "p0, p1, p2 and 2,000 more"),
    ],
)
def test_lists_of_names(count: int, limit: int, text: str) -> None:
    """The first names are listed, the others counted; a single further one is listed too."""
    listed = enumerated([[f"p{number}"] for number in range(count)], limit)
    assert plain(Sentence(*listed)) == text
