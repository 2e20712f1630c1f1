"""Answers: what is parsed and executed once, and under which key a response is kept."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import orjson
import pytest
from msgspec.structs import replace

from schema.api import API
from server.asgi.lanes import Lanes
from server.asgi.responses import JSON, RESPONSE_JSON
from server.graphql.answers import Answer, Answers
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest, ParsedRequest, RequestBytes, Weight
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.demo import history as made_up


class CountingExecution(Execution):
    """Remembers what it was asked to execute."""

    def __init__(self, api: API, catalog: Catalog, library: Library, lanes: Lanes) -> None:
        super().__init__(api, catalog, library, lanes)
        self.requests: list[GraphQLRequest] = []

    async def execute(self, request: GraphQLRequest, weight: Weight) -> Executed:
        """Execute a request."""
        self.requests.append(request)
        return await super().execute(request, weight)


@pytest.fixture
def catalog(demo_catalog: Path) -> Catalog:
    """Return the catalog, refreshed."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    return catalog


@pytest.fixture
def execution(catalog: Catalog, lanes: Lanes) -> CountingExecution:
    """Return an execution that counts."""
    return CountingExecution(API(), catalog, Library(catalog), lanes)


@pytest.fixture
def answers(catalog: Catalog, execution: CountingExecution, lanes: Lanes) -> Answers:
    """Return answers whose cache is large enough."""
    return Answers(catalog, execution, lanes, cache_bytes=1 << 20)


def asking(query: str, accept: str = JSON, **parts: object) -> RequestBytes:
    """Return the bytes of a POST request."""
    body = orjson.dumps({"query": query, **parts})
    return RequestBytes(True, body, JSON.encode(), accept.encode())


def answered(answers: Answers, *requests: RequestBytes) -> list[Answer]:
    """Return the answers to requests, one after the other."""

    async def run() -> list[Answer]:
        return [await answers.answer(request) for request in requests]

    return asyncio.run(run())


def test_the_same_question_is_executed_once(answers: Answers, execution: CountingExecution) -> None:
    """However its variables are ordered; in another media type it has another response."""
    query = "query Q($a: String, $b: Int) { revision(ref: $a) { specs(first: $b) { totalCount } } }"
    one = asking(query, variables={"a": "develop-2025-01-26", "b": 1})
    other = asking(query, variables={"b": 1, "a": "develop-2025-01-26"})
    first, second, third = answered(answers, one, other, one)
    assert first.response is second.response is third.response
    assert len(execution.requests) == 1
    (typed,) = answered(answers, msgspec.structs.replace(one, accept=RESPONSE_JSON.encode()))
    assert typed.response is not first.response
    assert typed.response.body == first.response.body


def test_an_incomplete_history_is_not_kept(
    demo_catalog: Path, lanes: Lanes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is in no generation of the cache; a complete answer is."""
    older = shutil.copytree(demo_catalog, tmp_path / "older")
    shutil.rmtree(older / "comparisons")
    catalog = Catalog(str(older))
    catalog.refresh()
    execution = CountingExecution(API(), catalog, Library(catalog), lanes)
    monkeypatch.setattr(execution.answers, "_fill_seconds", 0)
    answers = Answers(catalog, execution, lanes, cache_bytes=1 << 20)
    query = asking('{ series(name: "vX.Y.Z") { growth { numSpecs } } }')
    others = asking('{ series(name: "develop-DATE") { growth { numSpecs } } }')
    told = answered(answers, *[others] * 4, query)
    bodies = [orjson.loads(answer.response.body) for answer in told]
    assert ["errors" in body for body in bodies] == [True, True, False, False, False]
    assert [answer.key is None for answer in told] == [True, True, False, False, False]
    assert told[2].response is told[3].response
    assert len(execution.requests) == 4


def test_a_new_generation_executes_what_may_have_changed(
    answers: Answers,
    catalog: Catalog,
    execution: CountingExecution,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer that names contents by their digests alone stays what it is."""
    digest = catalog.history.revisions[0].digest
    permanent = asking(f'{{ revision(ref: "{digest}") {{ numSpecs }} }}')
    changing = asking("{ revision { numSpecs } }")
    before = answered(answers, permanent, changing)
    assert [it.key.generation is None for it in before if it.key] == [True, False]
    monkeypatch.setattr(Catalog, "generation", catalog.generation + 1)
    after = answered(answers, permanent, changing)
    assert after[0].response is before[0].response
    assert after[1].response is not before[1].response
    assert len(execution.requests) == 3


@pytest.mark.parametrize("field", ["specs { nodes { reason } }", "releaseNotes", "leftOut"])
def test_returned_hashes_are_computed_again_when_changes_are_kept(
    answers: Answers, catalog: Catalog, execution: CountingExecution, field: str
) -> None:
    """More of the past is known then; all other answers stay in the cache."""
    base, head = (it.tag for it in catalog.history.of_series("develop-DATE")[1::-1])
    asked = asking(f'{{ compare(base: "{base}", head: "{head}") {{ {field} }} }}')
    answered(answers, asked, asked)
    assert len(execution.requests) == 1
    catalog._state += 1
    answered(answers, asked)
    assert len(execution.requests) == (1 if field == "leftOut" else 2)


def test_a_confirmation_leaves_other_answers(tmp_path: Path, lanes: Lanes) -> None:
    """An import without changes affects only answers with the moments of confirmation."""
    catalog, moment = Catalog(str(tmp_path)), datetime(2025, 3, 1, tzinfo=UTC)
    (state,) = made_up(revisions=1, packages=3, specs=9)
    catalog.publish([replace(state, taken_at=moment)])
    execution = CountingExecution(API(), catalog, Library(catalog), lanes)
    answers = Answers(catalog, execution, lanes, cache_bytes=1 << 20)
    asked = [
        asking("{ revisions { nodes { id takenAt publishedAt previous { id } } } }"),
        asking("{ tags { name latest { numSpecs } } }"),
        asking("{ revisions { nodes { ...R } } } fragment R on Revision { confirmedAt }"),
    ]
    before = answered(answers, *asked)
    for number in (1, 2):
        confirming = replace(state, taken_at=moment + timedelta(days=number))
        Catalog(str(tmp_path)).publish([confirming])
        assert catalog.refresh() is True
        after = answered(answers, *asked, *asked)
        assert [it.response for it in after[:2]] == [it.response for it in before[:2]]
        assert f"2025-03-0{1 + number}T".encode() in after[2].response.body
        assert after[5].response is after[2].response
    assert len(execution.requests) == 3 + 2


def test_the_cost_is_shown_on_request(answers: Answers, execution: CountingExecution) -> None:
    """Such an answer is kept apart."""
    query = asking("{ revision { specs(first: 2) { nodes { hash } } } }")
    plain, telling = answered(answers, query, msgspec.structs.replace(query, tell_cost=True))
    assert b"extensions" not in plain.response.body
    told = orjson.loads(telling.response.body)["extensions"]["cost"]
    assert 0 < told["cost"] <= told["allowed"]
    again = answered(answers, query, msgspec.structs.replace(query, tell_cost=True))
    assert [it.response for it in again] == [plain.response, telling.response]
    assert len(execution.requests) == 2


def test_undeclared_variables_make_no_other_question(
    answers: Answers, execution: CountingExecution
) -> None:
    """Nothing depends on them."""
    query = "query Q($a: Int) { revision { specs(first: $a) { totalCount } } }"
    one = asking(query, variables={"a": 1, "b": 2})
    other = asking(query, variables={"a": 1, "c": [{}]})
    first, second = answered(answers, one, other)
    assert first.response is second.response
    assert [it.variables for it in execution.requests] == [{"a": 1}]


def test_what_has_errors_is_not_kept(answers: Answers, execution: CountingExecution) -> None:
    """What is not found today may be published tomorrow."""
    for answer in answered(answers, *[asking('{ revision(ref: "nope") { tag } }')] * 2):
        assert answer.key is None
        answers.count_anew(answer)
    assert len(execution.requests) == 2


def test_a_response_in_another_coding_is_counted_anew(
    catalog: Catalog, execution: CountingExecution, lanes: Lanes
) -> None:
    """One that has grown past the room that there is is not kept any longer."""
    query = asking("{ revision { specs(first: 100) { nodes { hash } } } }")
    (alone,) = answered(Answers(catalog, execution, lanes, cache_bytes=1 << 20), query)
    assert alone.key is not None
    answers = Answers(
        catalog, execution, lanes, cache_bytes=alone.key.num_bytes + alone.response.num_bytes
    )
    kept, again = answered(answers, query, query)
    assert kept.response is again.response
    kept.response.encoded("gzip")
    answers.count_anew(kept)
    (later,) = answered(answers, query)
    assert later.response is not kept.response


def test_a_parsed_request_counts_its_bytes() -> None:
    """Twice those of its key, as there are two, its variables, and those that it was read from."""
    parsed = ParsedRequest.of(GraphQLRequest("{ a }", {"x": 1}, None), JSON, 100)
    assert parsed.num_bytes == 2 * parsed.permanent_key.num_bytes + 35 * len('{"x":1}') + 100
    assert parsed.key_at(7, 9) == parsed.permanent_key.at(7)
    assert parsed.key_at(7, 9) is parsed.key_at(7, 10)
    assert parsed.key_at(8, 10).generation == 8
