"""A catalog whose texts all break out of a page that does not escape them, and their detection.

Escaped text is detected as an element or attribute whose name begins with ``evil``.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from server.pages.renderer import POLICY
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.models import Dependency, Source, Spec
from snapshots.recipes.commits import SpackChange
from tests.server.pages.page_reader import Shown
from tests.server.pages.recipes import import_recipes
from tests.snapshots.factories import a_spec, day, hash_of

BREAKS = (
    "<evil-1 evil=1>",
    '"><evil-2 evil=1>',
    "'><evil-3>",
    '" evil4="1" x="',
    "</script><evil-5>",
    "</title></textarea></option></svg><evil-6>",
    "{{ evil }}{% evil %}",
    "javascript:evil()",
    "../..//evil.example/",
    "a/b?c=d&e#f",
    "\u202egnp.evil\u2066\u200f",
    "--><!--<evil-7>",
    "=cmd|' /C evil'!A0",
    "%3Cevil-8%3E\\",
)
LONG = "x<evil-9>" * 1_100
TAG = "develop"
"""Tags cannot contain such characters."""
SOURCE = Source(kind="<evil-10>", location='"><evil-11>', importer="<evil-12>")
UNSEEN = "\u202e\u2066\u200f"

_ATTRIBUTES = ("on", "evil")
_LINKS = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data", "poster")


def published(folder: Path) -> str:
    """Publish two contents of a tag, with a cause of changes between them; return the path."""
    snapshots = [
        Snapshot(tag=TAG, content=Content.of(specs(state)), source=SOURCE, taken_at=day(state))
        for state in (0, 1)
    ]
    catalog = Catalog(str(folder))
    catalog.publish(snapshots)
    subject = f"{{}}: {''.join(BREAKS[:5])}{UNSEEN}\u05d0 (#{{}})"
    import_recipes(
        catalog,
        BREAKS[:2],
        subject,
        repository='"><evil-26>',
        spack=SpackChange('"><evil-27>', "\u202ejavascript:evil()"),
    )
    return str(folder)


def specs(state: int) -> Iterator[Spec]:
    """Yield specs of packages with these names, which depend on the first of its state."""
    needed = hash_of(f"needed {state}")
    names = (*BREAKS, LONG)
    yield a_spec(f"needed {state}", name=names[0], version=f'{state}"><evil-13>', dependencies=())
    for number, name in enumerate(names):
        if number == len(names) - 2 and state:  # one is removed
            continue
        # The first ones change only in their dependency.
        changes = state if number > 6 else 0
        yield a_spec(
            f"{number} {state}",
            name=name,
            version=f"1.{changes}<evil-14>",
            compiler=f"<evil-15>@{number}",
            operating_system='"><evil-16>',
            platform="<evil-17>",
            target=f"'><evil-18>{number % 3}",
            variants=('+a"><evil-19>', f"b={name[:200]}"),
            stacks=tuple(sorted({name[:300], "e4s", 'st"><evil-20>'})),
            size=None if number % 2 else 10**9,
            tarball='javascript:"><evil-21>',
            namespace="<evil-22>",
            package_hash="<evil-23>",
            dependencies=(Dependency(names[0], needed, ("<evil-24>", "link"), ("<evil-25>",)),),
        )


def faults(page: Shown) -> Iterator[str]:
    """Yield the parts of a page that a browser interprets as markup of the catalog."""
    if page.response.headers["content-security-policy"].encode() != POLICY:
        yield "the policy differs"
    for mark in UNSEEN:
        if mark in page.response.text:
            yield f"an invisible character: {mark!r}"
    for element in page.dom.iter():
        if not isinstance(element.tag, str):
            if "evil" in str(element.text):
                yield "a comment with a text of the catalog"
            continue
        if element.tag.startswith("evil"):
            yield f"an element of the catalog: {element.tag}"
        yield from _faulty_attributes(element)
        if element.tag == "style" or (element.tag == "script" and not element.get("src")):
            yield from _faulty_script(element)
    yield from _faulty_ids(page)


def _faulty_attributes(element: Any) -> Iterator[str]:
    for name, value in element.attrib.items():
        if name.startswith(_ATTRIBUTES) or name == "style" or name.startswith("hx-on"):
            yield f"an attribute of the catalog: {name} of {element.tag}"
        if name in _LINKS and not is_relative(value):
            yield f"an external link: {name}={value!r}"


def _faulty_script(element: Any) -> Iterator[str]:
    if element.tag == "style" or element.get("type") != "application/json":
        yield f"an inline {element.tag}"
    elif "<" in (element.text or ""):
        yield "data that could end its script"
    else:
        orjson.loads(element.text)


def _faulty_ids(page: Shown) -> Iterator[str]:
    ids = Counter(element.get("id") for element in page.dom.cssselect("[id]"))
    yield from (f"a duplicate id: {name}" for name, count in ids.items() if count > 1)
    for attribute in ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list"):
        for element in page.dom.cssselect(f"[{attribute}]"):
            for name in element.get(attribute).split():
                if name not in ids:
                    yield f"{attribute} refers to no element: {name}"


def is_relative(link: str) -> bool:
    """Return whether a link leads to the same server, below the root of the page."""
    scheme, colon, _ = link.partition(":")
    has_scheme = colon and not set(scheme) & set("/?#")
    return not has_scheme and not link.startswith(("/", "\\"))
