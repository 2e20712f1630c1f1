"""A real Chromium for tests of pages, and profiles of it that know nothing of each other."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 30
"""How long a test waits for what a page is to show, on a busy machine."""

Shown = TypeVar("Shown")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


@contextmanager
def chromium_in(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a headless Chromium that keeps its profile in a folder.

    Where it is not installed the test is skipped, but in continuous integration it fails.
    """
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver) and not os.environ.get("CI"):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    options.enable_bidi = True  # which has user contexts
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


@contextmanager
def fresh_profile(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Turn to a window with cookies, storage and a cache of its own; forget them at the end.

    These are the user contexts of WebDriver BiDi.
    """
    first = chromium.current_window_handle
    profile = chromium.browser.create_user_context()
    window = chromium.browsing_context.create(type="tab", user_context=profile)
    chromium.switch_to.window(window)
    chromium.get_log("browser")  # type: ignore[no-untyped-call]  # what others have left there
    try:
        yield chromium
    finally:
        chromium.switch_to.window(first)
        chromium.browser.remove_user_context(profile)  # closes its windows, too


def wait_for(browser: webdriver.Chrome, look: Callable[[], Shown | Literal[False]]) -> Shown:
    """Return what a look at the page sees, as soon as that is something.

    Scripts may replace elements meanwhile.
    """
    stale = [StaleElementReferenceException]
    return WebDriverWait(browser, SECONDS, 0.02, stale).until(lambda _: look())


def paste(browser: webdriver.Chrome, text: str) -> None:
    """Paste a text where the focus is: of a long one each key would take its time."""
    browser.execute_cdp_cmd("Input.insertText", {"text": text})
