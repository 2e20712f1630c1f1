"""Headers as hosts of files read them."""

from server.site.folder import MAX_RULES, rules

KEPT, ASKED = {"cache-control": "immutable", "a": "1"}, {"cache-control": "no-cache", "a": "1"}


def test_a_rule_says_what_all_of_its_files_have() -> None:
    """Where some may change all are asked for again; each document has a rule of its own."""
    files = {
        "graphql/x/1.json": KEPT,
        "graphql/x/2.json": KEPT,
        "graphql/y/1.json": KEPT,
        "graphql/y/2.json": ASKED | {"b": "2"},
        "index.html": ASKED,
    }
    assert rules(files) == (
        "/graphql/x/*\n  a: 1\n  cache-control: immutable\n"
        "/graphql/y/*\n  a: 1\n  cache-control: no-cache\n"
        "/\n  a: 1\n  cache-control: no-cache\n"
    )


def test_there_are_no_more_rules_than_hosts_take() -> None:
    """With many documents they share one."""
    files = {f"graphql/{number}/1.json": KEPT for number in range(MAX_RULES + 1)}
    assert rules(files) == "/graphql/*\n  a: 1\n  cache-control: immutable\n"
