"""Screenshots of all pages of the demo: ``python -m tests.screenshots FOLDER``.

Each page is captured light and dark, and on a tablet and a phone. ``--readme`` creates only the two
small pictures of README.md.
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


class Appearance(NamedTuple):
    """The appearance of a page: the preferred colour scheme, and the width in CSS pixels."""

    scheme: str
    width: int


APPEARANCES = {
    "light": Appearance("light", 1440),
    "dark": Appearance("dark", 1440),
    "tablet": Appearance("dark", 768),
    "phone": Appearance("light", 390),
}
_README = {"series": Appearance("light", 1100), "compare": Appearance("light", 1100)}
_README_HEIGHT = 750
_TALLEST = 3000


def main(arguments: list[str]) -> int:
    """Take the screenshots; return the exit code."""
    parser = ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with demo_server() as url, tempfile.TemporaryDirectory() as profile:
        with httpx.Client(base_url=url, timeout=60) as client:
            addresses = tour(client)
        with chromium_in(Path(profile)) as browser:
            if options.readme:
                for name, appearance in _README.items():
                    picture = screenshot_of(
                        browser, url + addresses[name], appearance, _README_HEIGHT, "webp"
                    )
                    (options.folder / f"{name}.webp").write_bytes(picture)
                return 0
            for name, address in addresses.items():
                for kind, appearance in APPEARANCES.items():
                    picture = screenshot_of(browser, url + address, appearance, _TALLEST)
                    (options.folder / f"{name}-{kind}.png").write_bytes(picture)
    return 0


@contextmanager
def demo_server() -> Iterator[str]:
    """Yield the URL of a server of the demo in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        public = "http://127.0.0.1/"  # for permanent URLs, which contain no port
        with serving(
            temporary / "catalog", temporary / "log", "--demo", public_url=public
        ) as server:
            yield server.url


def screenshot_of(
    browser: webdriver.Chrome, address: str, appearance: Appearance, tallest: int, kind: str = "png"
) -> bytes:
    """Return a screenshot of a page, of up to ``tallest`` pixels in height."""
    seen_as(browser, appearance.scheme, appearance.width)
    browser.get(address)
    settle(browser)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": appearance.width, "height": min(height, tallest), "scale": 1}
    picture: dict[str, Any] = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"format": kind, "captureBeyondViewport": True, "clip": clip},
    )
    return base64.b64decode(picture["data"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
