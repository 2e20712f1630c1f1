"""deploy/nginx.conf: valid, and of this cachelog."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossplane

from server.pages.check import BODIES
from server.settings import Settings
from tests.deploy.files import DEPLOY, PORT, own_services

FILE = DEPLOY / "nginx.conf"


def blocks(file: Path) -> list[dict[str, Any]]:
    """Return what nginx's own parser for programs makes of a file, without judging it."""
    (config,) = crossplane.parse(str(file))["config"]
    parsed: list[dict[str, Any]] = config["parsed"]
    return parsed


def walked(block: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each directive, wherever it stands."""
    for it in block:
        yield it
        yield from walked(it.get("block", []))


def errors(file: Path) -> list[str]:
    """Return the errors that the parser reports of a file.

    It takes the values of a map for directives, which it does not know.
    """
    maps = [it for it in walked(blocks(file)) if it["directive"] == "map"]
    values = {value["line"] for it in maps for value in it["block"]}
    faults = crossplane.parse(str(file), strict=True)["errors"]
    return [it["error"] for it in faults if it["line"] not in values]


def directives(name: str) -> list[list[str]]:
    """Return the arguments of each directive of a name."""
    return [it["args"] for it in walked(blocks(FILE)) if it["directive"] == name]


def test_it_is_valid() -> None:
    """Each directive is known, stands where it may, and has as many arguments as it takes."""
    assert errors(FILE) == []


def test_it_asks_the_servers() -> None:
    """Those of compose.yaml, at their port."""
    servers = [name for name in own_services() if name.startswith("server-")]
    upstream = [args[0] for args in directives("server") if args]
    assert upstream == [f"{name}:{PORT}" for name in servers]


def test_its_times_and_sizes_fit_the_servers() -> None:
    """It closes idle connections first, waits for signs of life, and takes bodies as large."""
    settings = Settings()
    ((idle,),) = directives("keepalive_timeout")
    assert int(idle.removesuffix("s")) < settings.keep_alive
    ((silence,),) = directives("proxy_read_timeout")
    assert int(silence.removesuffix("s")) > 2 * settings.heartbeat
    bodies = [int(size.removesuffix("m")) << 20 for (size,) in directives("client_max_body_size")]
    assert bodies == [settings.max_body, BODIES * settings.max_body]
