"""A browser that renders pages in a colour scheme and width."""

from collections.abc import Sequence
from typing import Any

from selenium import webdriver

from tests.server.browsers import wait_for

OF_LOOKS = ("color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable")
"""The rules of axe-core whose result depends on colours or widths."""

_SETTLED = """
return document.readyState === "complete" && !document.querySelector(".htmx-request")
"""

_AXE = """
const [rules, without, done] = arguments;
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const runOnly = rules.length ? rules : standards;
const disabled = Object.fromEntries(without.map((rule) => [rule, {enabled: false}]));
axe.run(document, {runOnly, rules: disabled, resultTypes: ["violations"], preload: false}).then(
  ({violations}) => done(violations.map(({id, nodes}) =>
    `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`)),
  (error) => done([String(error)]),
);
"""


def seen_as(browser: webdriver.Chrome, scheme: str, width: int, height: int = 900) -> None:
    """Set the preferred colour scheme and the window size in CSS pixels."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature, still]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def settle(browser: webdriver.Chrome) -> None:
    """Wait until a page and all its parts have loaded."""
    wait_for(browser, lambda: browser.execute_script(_SETTLED))


def complaints(browser: webdriver.Chrome) -> list[Any]:
    """Return the messages of the browser's console since the last call."""
    logged: list[Any] = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return logged


def loaded(browser: webdriver.Chrome) -> list[str]:
    """Return the addresses of all resources that the page has loaded."""
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    names: list[str] = browser.execute_script(script)
    return names


def sideways(browser: webdriver.Chrome) -> int:
    """Return the number of pixels by which the page is wider than its window."""
    script = "const root = document.documentElement; return root.scrollWidth - root.clientWidth"
    wider: int = browser.execute_script(script)
    return wider


def run_in_every_page(browser: webdriver.Chrome, script: str) -> None:
    """Run a script in each page that the browser opens from now on."""
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})


def violations(
    browser: webdriver.Chrome, axe: str, *rules: str, without: Sequence[str] = ()
) -> list[str]:
    """Return the violations that axe-core, whose source is `axe`, reports for the page.

    By default of its rules for WCAG 2.2 AA and best practices except ``without``, or of `rules`.
    """
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(axe)
    messages: list[str] = browser.execute_async_script(_AXE, rules, without)
    return messages
