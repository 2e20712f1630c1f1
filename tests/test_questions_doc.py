"""docs/questions.md: its examples run, its tables are those of the documents."""

import re
import shlex
from pathlib import Path

import pytest

from server.terminal.printing.questions import FORMAT
from snapshots.changes.impact import size_label
from tests.schema.usual import api
from tests.server.commands import cachelog

TEXT = (Path(__file__).parents[1] / "docs" / "questions.md").read_text("utf-8")
(CONSOLE,) = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
QUERIES = re.findall(r"```graphql\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("line", CONSOLE.splitlines())
def test_each_command_runs(line: str, demo_catalog: Path) -> None:
    """On the demo, as people read it and as programs do."""
    done = cachelog(*shlex.split(line)[1:], catalog=demo_catalog)
    assert (done.code, done.err) == (0, "")
    assert len(done.lines) > 1
    assert cachelog(*shlex.split(line)[1:], "--json", catalog=demo_catalog).json["format"] == FORMAT


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_is_one(query: str) -> None:
    """It is valid, and allowed."""
    assert api.document(query).errors == ()
    assert 0 < api.cost(query, None, {"ref": "develop"}).units <= api.limits.max_cost


@pytest.mark.parametrize(
    ("section", "command"),
    [("Holes", ("holes",)), ("Twins", ("twins",)), ("Impact", ("impact", "zlib-ng"))],
)
def test_every_key_is_described(section: str, command: tuple[str, ...], demo_catalog: Path) -> None:
    """In the order of the document."""
    text = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    keys = re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)
    document = cachelog(*command, "--json", catalog=demo_catalog).json
    assert keys == [*document]


def test_labels_are_those_of_the_code() -> None:
    """From the smallest to the largest."""
    labels = dict.fromkeys(map(size_label, range(2_000)))
    assert f"its pull requests: {', '.join(labels)}." in TEXT


def test_the_costs_in_the_text_are_imported(tmp_path: Path) -> None:
    """As the file that they are shown as."""
    (text,) = re.findall(r"```csv\n(.*?)```", TEXT, re.DOTALL)
    file = tmp_path / "costs.csv"
    file.write_text(text, "utf-8")
    catalog = tmp_path / "catalog"
    cachelog("demo", "--revisions", 1, "--packages", 9, "--specs", 30, catalog=catalog)
    kept = cachelog("costs", "import", file, "--json", catalog=catalog).json
    assert (kept["num_rows"], kept["num_hashes"], kept["num_names"]) == (2, 1, 2)
