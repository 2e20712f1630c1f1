"""Lines of tables and keys, found by cutting TOML into its statements."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.rules.rule_files import Place, lines_of

VALUES = st.sampled_from(
    (
        "3",
        '"a # b"',
        "'it is'",
        '["x", "y"]',
        '[\n  "x", # ]\n  "]",\n\n  "y"\n]',
        '"""\na\n"]"\n"""',
        "'''\n[[rule]]\nname = 1\n'''",
        "{ a = 1, b = [2] }",
    )
)
NAMES = st.sampled_from(("name", "forbid", "for-each", '"a key"', "'[k]'", "d.e"))
NOISE = st.lists(st.sampled_from(("", "# [[rule]]", "  # x = 1")), max_size=2)


@given(
    tables=st.lists(st.dictionaries(NAMES, st.tuples(NOISE, VALUES), max_size=4), max_size=4),
    before=NOISE,
    end=st.sampled_from(("\n", "\r\n")),
)
def test_the_lines_are_those_that_were_written(
    tables: list[dict[str, tuple[list[str], str]]], before: list[str], end: str
) -> None:
    """Whatever the values look like, and whatever stands between them."""
    lines = list(before)
    expected: dict[Place, int] = {}
    for number, table in enumerate(tables):
        lines.append("[[rule]]")
        expected[number, None] = len(lines)
        for name, (noise, value) in table.items():
            lines += noise
            key = next(iter(tomllib.loads(f"{name} = 1")))
            expected[number, key] = len(lines) + 1
            lines += f"{name} = {value}".split("\n")
    assert lines_of(end.join(lines), "rule") == expected


def test_what_is_outside_the_array() -> None:
    """It has the number -1, and tables in a table of the array are keys of it."""
    text = "a = 1\n[[rule]]\n[rule.x]\ny = 1\n[other]\nz = 1\n[[rule]]\nname = 2"
    assert lines_of(text, "rule") == {
        (-1, "a"): 1,
        (0, None): 2,
        (0, "x"): 3,
        (0, "y"): 4,
        (-1, "other"): 5,
        (-1, "z"): 6,
        (1, None): 7,
        (1, "name"): 8,
    }
    assert lines_of("rule = [\n{},\n]\n", "rule") == {(-1, "rule"): 1}


def test_a_text_that_would_take_too_long_is_left() -> None:
    """Lines in front of the value of which each line could be the last are told."""
    text = "[[rule]]\nname = 1\nforbid = '''\n" + "]\n" * 20_000 + "'''\n[[rule]]\n"
    assert lines_of(text, "rule") == {(0, None): 1, (0, "name"): 2}
