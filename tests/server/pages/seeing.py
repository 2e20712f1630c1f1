"""A browser that sees pages as their readers do: in their colours, at their width."""

from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.browsers import SECONDS

_SETTLED = """
return document.readyState === "complete" && !document.querySelector(".htmx-request")
"""


def seen_as(browser: webdriver.Chrome, scheme: str, width: int, height: int = 900) -> None:
    """See what follows with these colours preferred and in a window of this size, in CSS pixels."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def settle(browser: webdriver.Chrome) -> None:
    """Wait until a page has loaded with all its parts."""
    WebDriverWait(browser, SECONDS).until(lambda _: browser.execute_script(_SETTLED))
