"""Data loaded by a request: each revision once, up to a limit."""

from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from schema.context import Context
from schema.execution.budget import Budget, NotLoaded
from schema.limits import Limits
from snapshots.catalog.library import Library
from tests.schema.default_api import api
from tests.schema.worlds import World, opened, plain


def without_cache(world: World, **limits: int) -> Context:
    """Return the context of a request whose library caches nothing."""
    library = Library(world.catalog, frame_bytes=0, comparison_bytes=0)
    return Context(world.catalog, library, budget=Budget(Limits(**limits)))


def answered(world: World, text: str, **limits: int) -> Any:
    """Answer a query with such a library."""
    return plain(api.execute(text, context=without_cache(world, **limits)))


LISTS = " ".join(f'a{number}: packages(search: "a") {{ totalCount }}' for number in range(9))


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("_make_comparison", f'{{ compare(base: "develop~1", head: "develop") {{ {LISTS} }} }}'),
        (
            "_load_dependencies",
            "{ revision { specs(first: 20) { nodes { dependencies { totalCount } } } } }",
        ),
    ],
)
def test_data_is_loaded_once_for_all_fields(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, text: str
) -> None:
    """Also if it is too large to be cached for other requests."""
    loading = create_autospec(getattr(Library, method), side_effect=getattr(Library, method))
    monkeypatch.setattr(Library, method, loading)
    assert "errors" not in answered(world, text)
    assert loading.call_count == 1


def numbers_of(digests: list[str]) -> str:
    """Return a query for the contents of some revisions."""
    fields = (
        f'r{number}: revision(ref: "{digest}") {{ specs(first: 0) {{ totalCount }} }}'
        for number, digest in enumerate(digests)
    )
    return f"{{ {' '.join(fields)} }}"


def test_number_of_revisions_is_limited(world: World) -> None:
    """In any order, with repetitions; one more than allowed ends the request."""
    digests = [revision.digest for revision in world.catalog.history.revisions]
    distinct = list(dict.fromkeys(digests))[:3]
    assert "errors" not in answered(world, numbers_of(distinct[:2]), max_revisions=2)
    response = answered(world, numbers_of(distinct), max_revisions=2)
    (error,) = response["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 2 revisions" in error["message"]
    assert response["data"] is None
    assert "errors" not in world.ask(numbers_of(distinct[:2] * 20))


def test_repeated_loading_counts(world: World) -> None:
    """Without a cache, a request cannot alternate between revisions indefinitely."""
    revisions = world.catalog.history.revisions
    digests = list(dict.fromkeys(revision.digest for revision in revisions))[:3]
    response = answered(world, numbers_of(digests * 5), max_revisions=4)
    assert response["errors"][0]["extensions"]["code"] == "QUERY_TOO_LARGE"


def test_request_releases_loaded_data(world: World) -> None:
    """The executor, and its context, remain until the garbage collector runs."""
    context = world.context()
    api.execute('{ revision { specs(matching: "a") { totalCount } } }', context=context)
    assert not context._latest
    assert not context.masks


COMPARED = '{ compare(base: "develop~1", head: "develop") { %s } }'
LATE = {
    "a frame": "{ revision { specs { totalCount } } }",
    "dependencies": "{ revision { specs { nodes { dependencies { totalCount } } } } }",
    "a comparison": COMPARED % "packages { nodes { name } }",
    "causes": COMPARED % "causes { totalCount }",
    "reasons": COMPARED % "specs { nodes { reason } }",
    "a summary": COMPARED % "summary { specsRebuilt }",
}
LONG = {
    "a walk": '{ revision(ref: "v0.22.0") { specs(matching: "* ^zlib") { totalCount } } }',
    "coverage": COMPARED % "coverage(by: []) { totalCount }",
    "notes": COMPARED % "releaseNotes",
    "rules": COMPARED % 'check(rules: [{name: "a", forbid: "package-removed"}]) { passed }',
}


@pytest.mark.parametrize("text", (LATE | LONG).values(), ids=LATE | LONG)
def test_event_loop_never_blocks(world: World, text: str) -> None:
    """Loading and long work are left to a thread."""
    fresh = opened(Path(world.catalog.location))

    def answered(**limits: Any) -> Any:
        context = Context(fresh.catalog, fresh.library, **limits)
        return plain(api.execute(text, context=context))

    with pytest.raises(NotLoaded):
        answered(may_load=False)
    expected = answered()
    assert "errors" not in expected
    if text in LATE.values():
        assert answered(may_load=False) == expected
    else:
        with pytest.raises(NotLoaded):
            answered(may_take_long=False)
