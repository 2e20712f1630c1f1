"""All documents: no link dangles, and what they show is a command, a query or a program."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from server.cli import cachelog
from tests.schema.usual import api

ROOT = Path(__file__).parents[1]
OTHERS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "clients/example/README.md",
    "clients/python/README.md",
    "clients/typescript/README.md",
    "deploy/README.md",
    "deploy/spack-cachelog/README.md",
    "tests/data/README.md",
)
FILES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / it for it in OTHERS)]
DOCUMENTS = {str(it.relative_to(ROOT)).removeprefix("docs/"): it.read_text("utf-8") for it in FILES}
"""Every document by its path; those in docs/ by their names."""


def prose(text: str) -> str:
    """Return a document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[str]:
    """Yield where the links of a document lead, those to other sites left out."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_link_dangles(file: Path) -> None:
    """Each leads to a file or folder of the repository, and to a heading of it."""
    for link in links(file.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


def test_every_page_is_linked() -> None:
    """From another one, so that a reader gets there."""
    linked = {
        (file.parent / link.partition("#")[0]).resolve()
        for file in FILES
        for link in links(file.read_text("utf-8"))
        if not link.startswith("#")
    }
    assert {*FILES} - linked <= {ROOT / it for it in OTHERS}


def test_each_file_that_contributors_are_led_to_is_there() -> None:
    """By its path, or by the end of it."""
    paths = [
        f"/{it.relative_to(ROOT)}{'/' * it.is_dir()}"
        for folder in ("snapshots", "schema", "server", "tests", "docs", "clients")
        for it in (ROOT / folder, *(ROOT / folder).rglob("*"))
    ]
    named = set(
        re.findall(r"`((?:\w+/)+|[\w/.]+\.(?:py|json|graphql|html))`", DOCUMENTS["CONTRIBUTING.md"])
    )
    assert len(named) > 25
    assert {it for it in named if not any(path.endswith(f"/{it}") for path in paths)} == set()


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Return the blocks of code in these languages, with the document of each."""
    fence = re.compile(rf"^```(?:{'|'.join(languages)})\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(name, block) for name, text in DOCUMENTS.items() for block in fence.findall(text)]


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each ``cachelog`` command that a document shows, without the program's name."""
    for name, block in blocks("sh", "console", "dockerfile"):
        for line in re.sub(r"\\\n *", "", block).splitlines():
            for part in re.split(r" (?:&&|\|\||[|>]) ", line.removeprefix("$ ")):
                found = re.match(r"(?:[A-Z_]+=\S+ |.*\bcd \S+ )*(?:\S*/)?cachelog (.+)", part)
                if found and ("=" in part or not part.startswith(("docker", "podman"))):
                    yield name, found[1]


@pytest.mark.parametrize(("document", "line"), [*command_lines()])
def test_each_command_has_the_options_that_are_shown(document: str, line: str) -> None:
    """It is one, and takes them; other tests run those that need no network."""
    words = [it for it in shlex.split(line, comments=True) if it not in ("&", "...")]
    command: click.Command = cachelog
    while isinstance(command, click.Group):
        name, *words = words
        if name in ("--version", "--help"):
            return
        assert name in command.commands, document
        command = command.commands[name]
    command.make_context(command.name, words)


@pytest.mark.parametrize(("document", "block"), blocks("graphql"))
def test_each_document_of_graphql_is_valid(document: str, block: str) -> None:
    """Whoever pastes it into GraphiQL gets an answer."""
    assert api.document(block).errors == (), document


@pytest.mark.parametrize(("document", "block"), blocks("python"))
def test_each_program_can_be_compiled(document: str, block: str) -> None:
    """By the Python that runs cachelog."""
    compile(block, document, "exec")
