"""Several slow requests at the same time, and clients that do not wait for responses."""

import socket
import time

from tests.hostile.attack import (
    HOST,
    PATIENCE,
    Answer,
    Attack,
    Request,
    Target,
    about_pair,
    about_revision,
    fresh,
    query,
    raw_post,
    send_all,
    sending,
)


def _heavy(target: Target) -> Request:
    """Return a request near the limits: 1,000 specs x 20 fields."""
    fields = "hash short variants stackNames compiler target tarball packageHash id version"
    lists = (
        f'specs(first:1000,filter:{{hashPrefix:""}}){{nodes{{{fields}}}facet(by: STACK) {{value}}}}'
    )
    return query(f'query {fresh()} {{ revision(ref:"{target.digests[0]}") {{ {lists} }} }}')


def _matching(target: Target) -> Request:
    name = target.packages[0]
    lists = (f'm{i}:specs(matching:"^{name}@{fresh()[1:]}:"){{totalCount}}' for i in range(8))
    return about_revision(target, " ".join(lists))


def _comparing(target: Target) -> Request:
    return about_pair(target, "releaseNotes")


def _walking(target: Target) -> Request:
    walks = "dependents(transitive:true,first:100){totalCount nodes{name}}"
    return about_revision(target, f"specs(first:30) {{ nodes {{ {walks} }} }}")


def _all_kinds(target: Target) -> list[Answer]:
    kinds = (_heavy, _matching, _comparing, _walking)
    return send_all(target, [make(target) for make in kinds * 16], at_once=32)


def _hung_up(target: Target) -> list[Answer]:
    """Disconnect during 30 requests, then send another heavy one."""
    for number in range(30):
        request = (_heavy, _matching, _comparing, _walking)[number % 4](target)
        with socket.create_connection((HOST, target.port), PATIENCE) as connection:
            connection.sendall(raw_post(target, request))
            time.sleep(0.01)
    return send_all(target, [_heavy(target)])


ATTACKS = (
    Attack(
        "crowd: large pages",
        "48 at a time",
        sending(lambda target: [_heavy(target) for _ in range(96)], at_once=48),
    ),
    Attack("crowd: of all kinds", "32 at a time", _all_kinds),
    Attack("hung up", "30 requests, then another", _hung_up),
)
