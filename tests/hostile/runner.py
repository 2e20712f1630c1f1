"""Run attacks one by one against a server that a victim uses, and report their effects."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.hostile.attack import Answer, Attack, Target
from tests.hostile.target import AttackedServer
from tests.hostile.victim import Latencies, Victim, victim_of

ANSWER_SECONDS = 2.0
VICTIM_P99 = 0.1

_LEAST_SECONDS = 0.15
"""The minimum time for which latencies of the victim are measured."""

_SETTLE_SECONDS = 4.0
_IDLE_SHARE = 0.3
"""A server that computes for a smaller share of the time is idle; the victim needs some."""

_MEMORY, _BUSY = "memory", "busy after its end"
"""Effects that last, and so would be those of the next attack too."""


class Bounds(NamedTuple):
    """The limits of an attack."""

    answer_seconds: float
    victim_p99: float
    memory: int


class Result(NamedTuple):
    """The effects of an attack; ``hurts`` are those beyond the bounds, in words."""

    attack: Attack
    statuses: str
    slowest: float
    victim: Latencies
    peak_bytes: int
    hurts: tuple[str, ...]


def run_all(server: AttackedServer, attacks: Iterable[Attack], bounds: Bounds) -> Iterator[Result]:
    """Run attacks against one server.

    It starts if it is not running, and again after an attack that takes too much memory or leaves
    it busy. A victim that waited is no reason: new servers answer their first requests slowly, so
    the next victim would wait too.
    """
    target = server.learn() if server.is_running() else server.start()
    with victim_of(target.port) as victim:
        _calm(victim)
        for attack in attacks:
            result = run_one(server, target, victim, attack, bounds)
            yield result
            if {_MEMORY, _BUSY} & {*result.hurts} or not server.is_running():
                target = server.restart()
                _calm(victim)


def run_one(
    server: AttackedServer, target: Target, victim: Victim, attack: Attack, bounds: Bounds
) -> Result:
    """Run an attack, and wait until the server is idle again."""
    server.reset_peak()
    victim.since_mark()
    started = time.perf_counter()
    answers = attack.run(target)
    busy = _seconds_until_idle(server)
    time.sleep(max(0.0, _LEAST_SECONDS - (time.perf_counter() - started)))
    latencies = victim.since_mark()
    peak = server.peak_bytes()
    hurts = tuple(_hurts(server, answers, latencies, peak, busy, bounds))
    slowest = max((answer.seconds for answer in answers), default=0.0)
    return Result(attack, _statuses(answers), slowest, latencies, peak, hurts)


def _calm(victim: Victim) -> None:
    """Wait until the latencies of a new server are normal."""
    for _ in range(10):
        time.sleep(_LEAST_SECONDS)
        latencies = victim.since_mark()
        if not latencies.failed and latencies.p99 < VICTIM_P99:
            break


def _hurts(
    server: AttackedServer,
    answers: list[Answer],
    latencies: Latencies,
    peak: int,
    busy: float,
    bounds: Bounds,
) -> Iterator[str]:
    if server.was_killed:
        yield "killed for its memory"
    elif not server.is_running():
        yield "the server died"
    if any(not answer.in_time for answer in answers):
        yield "no answer"
    elif any(answer.seconds > bounds.answer_seconds for answer in answers):
        yield "slow answer"
    if any(answer.is_internal_error for answer in answers):
        yield "internal error"
    if any(answer.is_kept_out for answer in answers):
        yield "others are kept out"
    if latencies.failed:
        yield f"victim: {latencies.failed} failed"
    if latencies.p99 > bounds.victim_p99:
        yield "victim waits"
    if peak > bounds.memory:
        yield _MEMORY
    if busy >= _SETTLE_SECONDS:
        yield _BUSY


def _statuses(answers: list[Answer]) -> str:
    """Return the number of each status and code; ``-`` is a closed connection."""
    counts: dict[str, int] = {}
    for answer in answers:
        shown = f"{answer.status or '-'} {answer.code}".strip() if answer.in_time else "no answer"
        counts[shown] = counts.get(shown, 0) + 1
    return ", ".join(
        status if count == 1 else f"{count:,} x {status}"
        for status, count in sorted(counts.items())
    )


def _seconds_until_idle(server: AttackedServer) -> float:
    """Wait until the server is idle; return how long it was busy."""
    started, step = time.perf_counter(), 0.1
    while (waited := time.perf_counter() - started) < _SETTLE_SECONDS and server.is_running():
        before = server.cpu_seconds()
        time.sleep(step)
        if server.cpu_seconds() - before <= _IDLE_SHARE * step:
            return waited
    return waited
