"""Pictures of all pages of the demo: ``python -m tests.screenshots FOLDER``.

Each page is taken light, dark and narrow. With ``--readme`` FOLDER gets only the two small pictures
that README.md shows, with ``--only NAME`` only the page of that name.
"""

import base64
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from selenium import webdriver

from tests.server.browsers import chromium_in
from tests.server.pages.browser import seen_as, settle
from tests.server.pages.tour import tour
from tests.server.servers import serving


class Look(NamedTuple):
    """How a picture is taken: the colours that are preferred, and the width in CSS pixels."""

    scheme: str
    width: int


LOOKS = {"light": Look("light", 1280), "dark": Look("dark", 1280), "narrow": Look("light", 360)}
_README = {"series": Look("light", 1100), "compare": Look("light", 1100)}
_README_HEIGHT = 750
_TALLEST = 3000


def main(arguments: list[str]) -> int:
    """Take the pictures; return the exit code."""
    parser = ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--at", metavar="URL", help="a running server, in place of the demo")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with served(options.at) as url, tempfile.TemporaryDirectory() as profile:
        with httpx.Client(base_url=url, timeout=60) as client:
            addresses = tour(client)
        with chromium_in(Path(profile)) as browser:
            if options.readme:
                for name, look in _README.items():
                    picture = taken(browser, url + addresses[name], look, _README_HEIGHT, "webp")
                    (options.folder / f"{name}.webp").write_bytes(picture)
                return 0
            for name, address in addresses.items():
                if options.only in (None, name):
                    for kind, look in LOOKS.items():
                        picture = taken(browser, url + address, look, _TALLEST)
                        (options.folder / f"{name}-{kind}.png").write_bytes(picture)
    return 0


@contextmanager
def served(url: str | None) -> Iterator[str]:
    """Yield the address of a server: the one given, or one of the demo in a folder of its own."""
    if url:
        yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        public = "http://127.0.0.1/"  # for the permanent addresses, which name no port
        with serving(at / "catalog", at / "log", "--demo", public_url=public) as server:
            yield server.url


def taken(
    browser: webdriver.Chrome, address: str, look: Look, tallest: int, kind: str = "png"
) -> bytes:
    """Return a picture of a page: the whole of it, but no more than ``tallest`` pixels."""
    seen_as(browser, look.scheme, look.width)
    browser.get(address)
    settle(browser)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": look.width, "height": min(height, tallest), "scale": 1}
    picture: dict[str, Any] = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"format": kind, "captureBeyondViewport": True, "clip": clip},
    )
    return base64.b64decode(picture["data"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
