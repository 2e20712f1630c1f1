"""The documents of a site: what their variables stand for."""

import pytest

from server.site.queries import Role, choose, documents_of, own_documents
from snapshots.errors import InvalidArgument
from snapshots.history import History
from tests.snapshots.factories import a_revision, digest_of

PAST = History(
    [
        a_revision("develop-2025-01-05", 5, "a"),
        a_revision("develop-2025-01-12", 12, "b"),
        a_revision("develop-2025-01-19", 19, "b"),
        a_revision("develop-2025-01-26", 26, "c"),
        a_revision("v1.0", 27, "c"),
    ]
)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("{ tags { name } }", {}),
        ("query($a: String!) { revision(ref: $a) { tag } }", {"a": Role.REVISION}),
        ("query($a: String) { revision(ref: $a) { tag } }", {"a": Role.REVISION}),
        ("query($n: String!) { x: series(name: $n) { name } }", {"n": Role.SERIES}),
        (
            "query($h: String!, $b: String!) { ...F } "
            "fragment F on Query { compare(base: $b, head: $h) { leftOut } }",
            {"h": Role.HEAD, "b": Role.BASE},
        ),
        ("query($n: Int! = 3) { revisions(first: $n) { totalCount } }", {}),
    ],
)
def test_variables_have_roles_by_their_use(text: str, roles: dict[str, Role]) -> None:
    """Whatever they are called, and in fragments too; others keep their defaults."""
    (document,) = documents_of({"it": text})
    assert document.roles == roles


@pytest.mark.parametrize(
    ("id_", "text", "reason"),
    [
        ("../x", "{ tags { name } }", "cannot be the name of a folder"),
        (".x", "{ tags { name } }", "cannot be the name of a folder"),
        ("it", "{ tags { name }", "Syntax Error"),
        ("it", "{ tagz { name } }", "Cannot query field 'tagz'"),
        ("it", "query A { tags { name } } query B { tags { name } }", "one operation"),
        ("it", "subscription { revisionPublished { tag } }", "a query"),
        ("it", "query($h: String!) { hash(hash: $h) { hash } }", "$h has no default"),
        (
            "it",
            "query($a: String!) { compare(base: $a, head: $a) { leftOut } }",
            "$a has two meanings",
        ),
        (
            "it",
            'query($a: String!) { compare(base: "develop", head: $a) { leftOut } }',
            "both base and head",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(id_: str, text: str, reason: str) -> None:
    """With the document's id and the reason, before anything is written."""
    with pytest.raises(InvalidArgument) as caught:
        documents_of({id_: text})
    assert caught.value.name == "--documents"
    assert reason in caught.value.reason


def test_each_question_is_asked_once() -> None:
    """Of contents and pairs that several tags share, too; equal neighbours are no change."""
    asked = {
        it.name: [dict(question.variables) for question in it.questions(choose(PAST))]
        for it in own_documents()
    }
    a, b, c = map(digest_of, "abc")
    assert sorted(it["digest"] for it in asked["Revision"]) == sorted([a, b, c])
    pairs = {(it["base"], it["head"]) for it in asked["Comparison"]}
    assert pairs == {(a, b), (b, c)}
    assert len(asked["Comparison"]) == 2
    assert asked["Notes"] == asked["Comparison"]
    assert [it["name"] for it in asked["Series"]] == PAST.series_names
    assert asked["AllSeries"] == [{}]


def test_revisions_are_chosen() -> None:
    """By series, by time and by number, the newest first."""
    dated = PAST.of_series("develop-DATE")
    assert list(choose(PAST, ["develop-DATE"], last=2).revisions.values()) == [dated[:2]]
    assert choose(PAST, since=dated[0].taken_at).revisions.keys() == set(PAST.series_names)
    (first, *_) = choose(PAST, ["develop-DATE"], since=dated[1].taken_at).revisions.values()
    assert first == dated[:2]
    assert choose(PAST, ["nothing"]).revisions == {}
