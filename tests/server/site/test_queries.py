"""The documents of a site, and the values of their variables."""

import pytest

from server.site.queries import Role, built_in_documents, choose, documents_of
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
def test_roles_of_variables_follow_from_their_use(text: str, roles: dict[str, Role]) -> None:
    """They depend on their use, also in fragments, not on names; others keep their defaults."""
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
def test_unanswerable_documents_are_errors(id_: str, text: str, reason: str) -> None:
    """The error states the id of the document and the reason."""
    with pytest.raises(InvalidArgument) as error_info:
        documents_of({id_: text})
    assert error_info.value.name == "--documents"
    assert reason in error_info.value.reason


def test_queries_are_unique() -> None:
    """Also if several tags share contents and pairs; equal neighbours are no change."""
    variables_by_name = {
        own_document.name: [
            dict(request.variables) for request in own_document.requests(choose(PAST))
        ]
        for own_document in built_in_documents()
    }
    a, b, c = map(digest_of, "abc")
    assert sorted(row["digest"] for row in variables_by_name["Revision"]) == sorted([a, b, c])
    pairs = {(row["base"], row["head"]) for row in variables_by_name["Comparison"]}
    assert pairs == {(a, b), (b, c)}
    assert len(variables_by_name["Comparison"]) == 2
    assert variables_by_name["Notes"] == variables_by_name["Comparison"]
    assert [row["name"] for row in variables_by_name["Series"]] == PAST.series_names
    assert variables_by_name["AllSeries"] == [{}]


def test_revisions_are_chosen() -> None:
    """By series, time and number, newest first."""
    dated = PAST.of_series("develop-DATE")
    assert list(choose(PAST, ["develop-DATE"], last=2).revisions.values()) == [dated[:2]]
    assert choose(PAST, since=dated[0].taken_at).revisions.keys() == set(PAST.series_names)
    (first, *_) = choose(PAST, ["develop-DATE"], since=dated[1].taken_at).revisions.values()
    assert first == dated[:2]
    assert choose(PAST, ["nothing"]).revisions == {}
