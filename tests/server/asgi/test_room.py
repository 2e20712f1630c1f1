"""Room for what is large: who is refused, and who gives way."""

from typing import Any

import pytest

from server.asgi.errors import BadRequest
from server.asgi.room import Place, Room
from server.http.limits import DROP

PATIENCE = 10.0


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Requests:
    """Requests of clients by their addresses, and which of them were dropped."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.room = Room(100, "requests", patience=PATIENCE, clock=self.clock)
        self.dropped: list[str] = []

    def holding(self, client: str, num_bytes: int, *, name: str = "") -> Place:
        """Return the place of a request that holds so many bytes; raises BadRequest."""
        scope: dict[str, Any] = {
            "client": (client, 1),
            "headers": [],
            "extensions": {DROP: lambda: self.dropped.append(name or client)},
        }
        place = self.room.place(scope)
        place.hold(num_bytes)
        return place


def test_what_has_no_room_is_refused() -> None:
    """With status 503; a single one always has room, and what was left is free again."""
    requests = Requests()
    with requests.holding("10.0.0.1", 500), pytest.raises(BadRequest) as refused:
        requests.holding("10.0.0.1", 1)
    assert refused.value.status == 503
    assert "too many large requests" in refused.value.message
    assert requests.room.num_bytes == 0
    requests.holding("10.0.0.1", 60).hold(100)
    assert requests.room.num_bytes == 100
    assert requests.dropped == []


def test_the_idlest_give_way() -> None:
    """No more of them than have to, whoever they are of; not those that make progress."""
    requests = Requests()
    for number in range(4):
        requests.clock.now = number
        last = requests.holding("10.0.0.1", 25, name=str(number))
    requests.clock.now = PATIENCE + 1.5
    requests.holding("10.0.0.1", 50)
    assert requests.dropped == ["0", "1"]
    assert requests.room.num_bytes == 100
    last.note_progress()
    requests.clock.now = PATIENCE + 3.5
    requests.holding("10.0.0.2", 25)
    assert requests.dropped == ["0", "1", "2"]
    with pytest.raises(BadRequest):
        requests.holding("10.0.0.2", 26)
    assert requests.dropped == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("held", "needed", "dropped"),
    [(50, 50, []), (60, 50, ["greedy"]), (60, 51, None), (500, 50, ["greedy"]), (500, 51, None)],
)
def test_who_holds_more_than_half_gives_way(
    held: int, needed: int, dropped: list[str] | None
) -> None:
    """To another client that would not hold so much itself; else the other is refused."""
    requests = Requests()
    requests.holding("10.0.0.1", held, name="greedy")
    if dropped is None:
        with pytest.raises(BadRequest):
            requests.holding("10.0.0.2", needed)
        assert requests.room.num_bytes == held
    else:
        requests.holding("10.0.0.2", needed)
        assert requests.dropped == dropped


def test_what_is_worked_on_does_not_give_way() -> None:
    """Nor what no client is known of, or what a server has no way to end."""
    requests = Requests()
    requests.holding("10.0.0.1", 40).may_end = False
    requests.room.place(None).hold(40)
    requests.room.place({"client": None, "headers": []}).hold(20)
    requests.clock.now = 2 * PATIENCE
    with pytest.raises(BadRequest):
        requests.holding("10.0.0.2", 1)
    assert requests.dropped == []
