"""docs/notifications.md: subscriptions are valid, the receiver of webhooks takes what is sent."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from graphql import OperationType

from server.webhooks import HEADER, AnnouncedCause, announcement, document, signature
from snapshots.history import Neighbours
from snapshots.models import is_revision
from tests.schema.usual import api
from tests.snapshots.notes.stories import BASE, HEAD, log_between

TEXT = (Path(__file__).parents[1] / "docs" / "notifications.md").read_text("utf-8")
SECTION = TEXT.split("\n## Webhooks\n")[1].split("\n## ")[0]
LOG = log_between(BASE, HEAD)
assert is_revision(LOG.base) and is_revision(LOG.head)  # noqa: PT018
TOLD = announcement(Neighbours(LOG.base, LOG.head), LOG)
SECRET = "only for tests"  # noqa: S105

Receive = Callable[[bytes, dict[str, str], str, set[str]], Any]


@pytest.fixture(scope="module")
def received() -> Receive:
    """Return the function of the example."""
    (block,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    found: Receive = names["received"]
    return found


def a_delivery(sent_at: datetime, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    """Return a body and its headers as receivers see them."""
    body = document(TOLD, "an id", sent_at)
    return body, {HEADER.lower(): signature(body, secret)}


def test_the_example_takes_what_is_sent_once(received: Receive) -> None:
    """The second time it is a replay."""
    seen: set[str] = set()
    body, headers = a_delivery(datetime.now(UTC))
    assert received(body, headers, SECRET, seen)["revision"]["tag"] == "v0.22.0"
    assert received(body, headers, SECRET, seen) is None


@pytest.mark.parametrize("wrong", ["secret", "body", "header", "late"])
def test_the_example_refuses_what_is_not_right(received: Receive, wrong: str) -> None:
    """Another secret or body, no signature, or one of an hour ago."""
    sent_at = datetime.now(UTC) - timedelta(hours=wrong == "late")
    body, headers = a_delivery(sent_at, "another" if wrong == "secret" else SECRET)
    if wrong == "body":
        body = body.replace(b"v0.22.0", b"v0.23.0")
    if wrong == "header":
        headers = {}
    assert received(body, headers, SECRET, set()) is None


def test_the_table_has_every_name_of_the_body() -> None:
    """And of a cause."""
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", SECTION, re.MULTILINE)
    named = {name for cell, _ in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(orjson.loads(document(TOLD, "an id", datetime.now(UTC))))
    (causes,) = [text for cell, text in rows if "`causes`" in cell]
    assert set(re.findall(r"`(\w+)`", causes)) == set(AnnouncedCause.__struct_fields__)


def test_subscriptions_that_are_shown_are_valid() -> None:
    """Those in blocks of their own, and those in commands."""
    section = TEXT.split("\n## Subscriptions\n")[1].split("\n## ")[0]
    shown = re.findall(r"```graphql\n(.*?)```", section, re.DOTALL)
    shown += re.findall(r"'query=(.*?)'", section)
    assert len(shown) == 2
    for text in shown:
        assert api.document(text).errors == ()
        assert api.document(text).operation_type(None) is OperationType.SUBSCRIPTION
