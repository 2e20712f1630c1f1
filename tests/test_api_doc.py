"""docs/api.md: its function runs the ten queries of the document, and each has a result."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo.revisions import develop_history
from snapshots.errors import CachelogError
from tests.schema.default_api import api
from tests.server.servers import application
from tests.test_docs import blocks

TEXT = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")
DOCUMENTS = re.findall(r"^```graphql\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
(FUNCTION,) = re.findall(r"^```js\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

PROGRAM = """
import { readFileSync } from "node:fs";
import { ask } from "./ask.mjs";

const { endpoint, documents } = JSON.parse(readFileSync(0, "utf8"));
const answers = await Promise.all(documents.map((text) => ask(endpoint, text)));
const wrong = '{ revision(ref: "develp") { tagName } }';
const { message, errors } = await ask(endpoint, wrong).catch((error) => error);
const long = await ask(endpoint, `# ${"long ".repeat(500)}\\n{ revision { tagName } }`);
console.log(JSON.stringify({ answers, long, message, code: errors[0].extensions.code }));
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the last weeks of the catalog of ``cachelog serve --demo``; tests only read it."""
    folder = tmp_path_factory.mktemp("sample")
    Catalog(str(folder)).publish([*develop_history()][-6:])
    return folder


@pytest.fixture(scope="module")
def output(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the output of a program that runs the queries with the function of the document."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "ask.mjs").write_text(FUNCTION)
    (folder / "main.mjs").write_text(PROGRAM)
    with application(Settings(catalog=str(sample))) as client:
        request = {"endpoint": str(client.base_url.join("graphql")), "documents": DOCUMENTS}
        result = subprocess.run(
            ["node", "main.mjs"],
            cwd=folder,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert result.returncode == 0, result.stderr
    output: dict[str, Any] = json.loads(result.stdout)
    return output


def is_empty(value: Any) -> bool:
    """Return whether a result contains no list item and no value below its root fields."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value in (None, [], 0)


def test_queries_have_results(output: dict[str, Any]) -> None:
    """None of them is an empty list."""
    assert len(output["answers"]) == len(DOCUMENTS) == TEXT.count("\n### ") == 10
    for document, answer in zip(DOCUMENTS, output["answers"], strict=True):
        (field,) = answer.values()
        assert not is_empty(field), document
        assert all(value not in (None, []) for value in field.values()), document


def test_function_reports_errors_and_sends_long_documents(output: dict[str, Any]) -> None:
    """A document that is too long for a URL is sent by POST."""
    assert output["code"] == "REVISION_NOT_FOUND"
    assert "nearest: develop" in output["message"]
    assert output["long"] == {"revision": {"tagName": "develop"}}


def test_costs_are_in_the_documented_range() -> None:
    """Those of the ten documents, before execution."""
    units = [api.cost(document, None, {}).units for document in DOCUMENTS]
    lowest, highest = re.findall(r"cost between ([\d,]+) and ([\d,]+) units", TEXT)[0]
    assert int(lowest.replace(",", "")) <= min(units)
    assert max(units) <= int(highest.replace(",", ""))
    assert f"may cost {api.limits.max_cost:,} units" in TEXT


def test_all_codes_are_documented() -> None:
    """All codes that errors of fields can have."""
    section = TEXT.split("\n## Errors\n")[1].split("\n## ")[0]
    codes = {kind.code for kind in CachelogError.__subclasses__()}
    assert len(codes) > 5
    assert codes <= {*re.findall(r"`([A-Z_]{6,})`", section)}


SPEC = {"hash": "2vjdhbexpudcyxd3gqoooedvb5pjqwu4", "name": "snappy", "version": "1.1.15"}
VARIABLES: dict[str, Any] = {
    "Newest": {"compiler": "gcc@13.2.0"},
    "Check": {"specs": [SPEC]},
    "Plan": {"specs": [SPEC]},
    "TwoSpecs": {"base": "3vbmtyd", "head": "h26udvm"},
    "Narrowed": {"base": "develop~1", "head": "develop"},
}
"""The variables of queries in other documents."""


def test_queries_of_other_documents_have_results(sample: Path) -> None:
    """All of them have results on the sample."""
    names = set()
    with application(Settings(catalog=str(sample))) as client:
        for name, text in blocks("graphql"):
            operation = re.match(r"query (\w+)", text)
            if name == "api.md":
                continue
            variables = VARIABLES[operation[1]] if operation else {}
            request = {"query": text, "variables": variables}
            answer = client.post("/graphql", json=request).json()
            assert "errors" not in answer, (name, answer["errors"])
            assert None not in answer["data"].values(), name
            names.add(operation[1] if operation else None)
    assert names - {None} == VARIABLES.keys()
