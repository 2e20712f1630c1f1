"""docs/notifications.md: its receiver accepts webhooks."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.webhooks import HEADER, document, signature
from tests.server.webhooks.hooks import ANNOUNCEMENT

TEXT = (Path(__file__).parents[1] / "docs" / "notifications.md").read_text("utf-8")
SECTION = TEXT.split("\n## Webhooks\n")[1].split("\n## ")[0]
SECRET = "only for tests"  # noqa: S105

Receive = Callable[[bytes, dict[str, str], str, set[str]], Any]


@pytest.fixture(scope="module")
def receive() -> Receive:
    """Return the function of the example."""
    (block,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    function: Receive = names["received"]
    return function


def a_delivery(sent_at: datetime, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    """Return a body and its headers as receivers get them."""
    body = document(ANNOUNCEMENT, "an id", sent_at)
    return body, {HEADER.lower(): signature(body, secret)}


def test_receiver_accepts_a_delivery_once(receive: Receive) -> None:
    """The second time it is a replay."""
    seen: set[str] = set()
    body, headers = a_delivery(datetime.now(UTC))
    assert receive(body, headers, SECRET, seen)["revision"]["tag"] == "v0.22.0"
    assert receive(body, headers, SECRET, seen) is None


@pytest.mark.parametrize("wrong", ["secret", "body", "header", "late"])
def test_receiver_rejects_invalid_deliveries(receive: Receive, wrong: str) -> None:
    """Those with another secret or body, without a signature, or an hour old."""
    sent_at = datetime.now(UTC) - timedelta(hours=wrong == "late")
    body, headers = a_delivery(sent_at, "another" if wrong == "secret" else SECRET)
    if wrong == "body":
        body = body.replace(b"v0.22.0", b"v0.23.0")
    if wrong == "header":
        headers = {}
    assert receive(body, headers, SECRET, set()) is None


def test_names_are_documented() -> None:
    """Those of the body."""
    cells = re.findall(r"^\| (`.*?) \| .* \|$", SECTION, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert names == set(orjson.loads(document(ANNOUNCEMENT, "an id", datetime.now(UTC))))
