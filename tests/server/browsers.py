"""A headless Chromium for tests of pages, with isolated profiles."""

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
"""Seconds that a test waits for content of a page, on a busy machine."""

Shown = TypeVar("Shown")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # which is small in containers
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


@contextmanager
def chromium_in(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a headless Chromium with a profile in a folder, or skip the test outside of CI."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver) and not os.environ.get("CI"):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    options.enable_bidi = True  # for user contexts
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
    """Switch to a window of a new user context, with its own cookies, storage and cache."""
    first = chromium.current_window_handle
    profile = chromium.browser.create_user_context()
    window = chromium.browsing_context.create(type="tab", user_context=profile)
    chromium.switch_to.window(window)
    chromium.get_log("browser")  # type: ignore[no-untyped-call]  # entries of earlier tests
    try:
        yield chromium
    finally:
        chromium.switch_to.window(first)
        chromium.browser.remove_user_context(profile)  # also closes its windows


def wait_for(browser: webdriver.Chrome, inspect: Callable[[], Shown | Literal[False]]) -> Shown:
    """Return the first true result of a function that inspects a page, which may change."""
    stale = [StaleElementReferenceException]
    return WebDriverWait(browser, SECONDS, 0.02, stale).until(lambda _: inspect())


def paste(browser: webdriver.Chrome, text: str) -> None:
    """Insert a text at the focus at once: separate keys would take long."""
    browser.execute_cdp_cmd("Input.insertText", {"text": text})
