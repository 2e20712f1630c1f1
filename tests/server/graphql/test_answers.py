"""Cached responses: their keys, and which requests are executed."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import orjson
import pytest
from msgspec.structs import replace

from schema.api import API
from server.asgi.lanes import Lanes
from server.asgi.responses import JSON, RESPONSE_JSON
from server.graphql.answers import Answer, Answers
from server.graphql.execution import Execution
from server.graphql.requests import RequestBytes
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from tests.demo_histories import history as demo_history


def recording(catalog: Catalog, lanes: Lanes) -> Any:
    """Return an execution that records its requests."""
    execution: Any = Execution(API(), catalog, Library(catalog), lanes)
    execution.execute = AsyncMock(side_effect=execution.execute)
    return execution


@pytest.fixture
def catalog(demo_catalog: Path) -> Catalog:
    """Return the catalog, refreshed."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    return catalog


@pytest.fixture
def execution(catalog: Catalog, lanes: Lanes) -> Any:
    """Return an execution over the catalog that records its requests."""
    return recording(catalog, lanes)


@pytest.fixture
def answers(catalog: Catalog, execution: Any, lanes: Lanes) -> Answers:
    """Return answers with a cache of sufficient size."""
    return Answers(catalog, execution, lanes, cache_bytes=1 << 20)


def request_bytes(query: str, accept: str = JSON, **parts: object) -> RequestBytes:
    """Return the bytes of a POST request."""
    body = orjson.dumps({"query": query, **parts})
    return RequestBytes(True, body, JSON.encode(), accept.encode())


def answered(answers: Answers, *requests: RequestBytes) -> list[Answer]:
    """Return the answers to requests, sent one after the other."""

    async def run() -> list[Answer]:
        return [await answers.answer(request) for request in requests]

    return asyncio.run(run())


def test_equal_requests_are_executed_once(answers: Answers, execution: Any) -> None:
    """Regardless of the order of variables, and of undeclared ones; media types are separate."""
    query = "query Q($a: String, $b: Int) { revision(ref: $a) { specs(first: $b) { totalCount } } }"
    one = request_bytes(query, variables={"a": "develop-2025-01-26", "b": 1})
    other = request_bytes(query, variables={"b": 1, "a": "develop-2025-01-26", "c": [{}]})
    first, second, third = answered(answers, one, other, one)
    assert first.response is second.response is third.response
    assert execution.execute.call_count == 1
    (typed,) = answered(answers, replace(one, accept=RESPONSE_JSON.encode()))
    assert typed.response is not first.response
    assert typed.response.body == first.response.body


def test_incomplete_history_is_not_cached(demo_catalog: Path, lanes: Lanes, tmp_path: Path) -> None:
    """Unlike a complete one."""
    older = shutil.copytree(demo_catalog, tmp_path / "older")
    shutil.rmtree(older / "comparisons")
    catalog = Catalog(str(older))
    catalog.refresh()
    execution = recording(catalog, lanes)
    answers = Answers(catalog, execution, lanes, cache_bytes=1 << 20)
    query = request_bytes('{ series(name: "vX.Y.Z") { growth { numSpecs } } }')
    others = request_bytes('{ series(name: "develop-DATE") { growth { numSpecs } } }')
    catalog.fill(missing_pairs(catalog, catalog.history, "vX.Y.Z"))
    results = answered(answers, *[others] * 2, *[query] * 2)
    have_errors = [b'"errors"' in answer.response.body for answer in results]
    assert have_errors == [True, True, False, False]
    assert [answer.key is None for answer in results] == have_errors
    assert results[2].response is results[3].response
    assert execution.execute.call_count == 3


def test_new_generation_keeps_permanent_responses(
    answers: Answers, catalog: Catalog, execution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that names only single revisions, by their refs, remains valid."""
    ref = catalog.history.revisions[0].ref
    permanent = request_bytes(f'{{ revision(ref: "{ref}") {{ numSpecs }} }}')
    changing = request_bytes("{ revision { numSpecs } }")
    before = answered(answers, permanent, changing)
    assert [answer.key.generation is None for answer in before if answer.key] == [True, False]
    monkeypatch.setattr(catalog, "generation", catalog.generation + 1)
    after = answered(answers, permanent, changing)
    assert after[0].response is before[0].response
    assert after[1].response is not before[1].response
    assert execution.execute.call_count == 3


@pytest.mark.parametrize("field", ["specs { nodes { reason } }", "releaseNotes", "leftOut"])
def test_stored_changes_invalidate_returned_hashes(
    answers: Answers,
    catalog: Catalog,
    execution: Any,
    field: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All other answers remain cached."""
    base, head = (one_series.tag for one_series in catalog.history.of_series("develop-DATE")[1::-1])
    request = request_bytes(f'{{ compare(base: "{base}", head: "{head}") {{ {field} }} }}')
    answered(answers, request, request)
    assert execution.execute.call_count == 1
    monkeypatch.setattr(Catalog, "state", catalog.state + 1)
    answered(answers, request)
    assert execution.execute.call_count == (1 if field == "leftOut" else 2)


def test_confirmation_invalidates_only_its_time(tmp_path: Path, lanes: Lanes) -> None:
    """An import without changes affects only answers that contain the time of confirmation."""
    catalog, moment = Catalog(str(tmp_path)), datetime(2025, 3, 1, tzinfo=UTC)
    (state,) = demo_history(revisions=1, packages=3, specs=9)
    catalog.publish([replace(state, taken_at=moment)])
    execution = recording(catalog, lanes)
    answers = Answers(catalog, execution, lanes, cache_bytes=1 << 20)
    requests = [
        request_bytes("{ revisions { nodes { id takenAt publishedAt previous { id } } } }"),
        request_bytes("{ tags { name latest { numSpecs } } }"),
        request_bytes("{ revisions { nodes { ...R } } } fragment R on Revision { confirmedAt }"),
    ]
    before = answered(answers, *requests)
    for number in (1, 2):
        confirming = replace(state, taken_at=moment + timedelta(days=number))
        Catalog(str(tmp_path)).publish([confirming])
        assert catalog.refresh() is True
        after = answered(answers, *requests, *requests)
        assert all(after[number].response is before[number].response for number in (0, 1))
        assert f"2025-03-0{1 + number}T".encode() in after[2].response.body
        assert after[5].response is after[2].response
    assert execution.execute.call_count == 3 + 2


def test_cost_is_returned_on_request(answers: Answers, execution: Any) -> None:
    """Such a response is cached separately."""
    query = request_bytes("{ revision { specs(first: 2) { nodes { hash } } } }")
    queries = query, replace(query, include_cost=True)
    plain, with_cost = answered(answers, *queries)
    assert b"extensions" not in plain.response.body
    cost = orjson.loads(with_cost.response.body)["extensions"]["cost"]
    assert 0 < cost["actual"] <= cost["requested"] <= cost["limit"]
    again = answered(answers, *queries)
    assert [answer.response for answer in again] == [plain.response, with_cost.response]
    assert execution.execute.call_count == 2


def test_errors_are_not_cached(answers: Answers, execution: Any) -> None:
    """A missing revision may be published later."""
    for answer in answered(answers, *[request_bytes('{ revision(ref: "nope") { tagName } }')] * 2):
        assert answer.key is None
    assert execution.execute.call_count == 2
