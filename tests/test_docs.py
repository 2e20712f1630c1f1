"""All documents: links are valid, and a test runs each block of code unless it is exempt."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from server.cli import cachelog

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
FILES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / path for path in OTHERS)]
DOCUMENTS = {
    str(file.relative_to(ROOT)).removeprefix("docs/"): file.read_text("utf-8") for file in FILES
}
"""Every document by its path; those in docs/ by their names."""


def section(document: str, title: str) -> str:
    """Return the text below a heading of the second level, up to the next one."""
    return DOCUMENTS[document].split(f"\n## {title}\n")[1].split("\n## ")[0]


def prose(text: str) -> str:
    """Return a document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[str]:
    """Yield the targets of the links of a document, except for other sites."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a document, as GitHub generates them."""
    titles = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_are_valid(file: Path) -> None:
    """They lead to an existing file or folder, and to an existing heading."""
    for link in links(file.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


def test_all_documents_are_linked() -> None:
    """Readers reach each document from another one."""
    linked = {
        (file.parent / link.partition("#")[0]).resolve()
        for file in FILES
        for link in links(file.read_text("utf-8"))
        if not link.startswith("#")
    }
    assert {*FILES} - linked <= {ROOT / path for path in OTHERS}


@pytest.mark.parametrize(
    ("document", "pattern", "folders"),
    [
        (
            "CONTRIBUTING.md",
            r"`((?:\w+/)+|[\w/.]+\.(?:py|json|graphql|html))`",
            ("snapshots", "schema", "server", "tests", "docs", "clients"),
        ),
        ("life-of-a-query.md", r"`([\w/]+(?:\.py|/))`", ("snapshots", "schema", "server")),
    ],
)
def test_named_files_exist(document: str, pattern: str, folders: tuple[str, ...]) -> None:
    """By path, or by the end of a path."""
    paths = [
        f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}"
        for folder in folders
        for path in (ROOT / folder, *(ROOT / folder).rglob("*"))
    ]
    names = set(re.findall(pattern, DOCUMENTS[document]))
    assert len(names) > 25
    assert {name for name in names if not any(path.endswith(f"/{name}") for path in paths)} == set()


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Return the blocks of code in these languages, with the document of each."""
    fence = re.compile(rf"^```(?:{'|'.join(languages)})\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(name, block) for name, text in DOCUMENTS.items() for block in fence.findall(text)]


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each ``cachelog`` command in a document, without the name of the program."""
    for name, block in blocks("sh", "console", "dockerfile"):
        for line in re.sub(r"\\\n *", "", block).splitlines():
            for part in re.split(r" (?:&&|\|\||[|>]) ", line.removeprefix("$ ")):
                command = re.match(r"(?:[A-Z_]+=\S+ |.*\bcd \S+ )*(?:\S*/)?cachelog (.+)", part)
                if command and ("=" in part or not part.startswith(("docker", "podman"))):
                    yield name, command[1]


NOT_RUN = {
    "sh": "commands for a network or the reader's own machine; those of cachelog are parsed",
    "text": "what a command prints",
}
"""The languages of blocks that no test runs, with the reason."""


def test_blocks_are_run() -> None:
    """A test reads the blocks of each document and language; others are in NOT_RUN."""
    sources = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    for name, text in DOCUMENTS.items():
        file = name.rpartition("/")[2]
        for language in {*re.findall(r"^ *```(.+)$", text, re.MULTILINE)} - NOT_RUN.keys():
            reads = re.compile(rf"```{language}|\b(examples|blocks)\(|\^\\\$ cachelog")
            assert any(
                f'blocks("{language}")' in source or (file in source and reads.search(source))
                for source in sources
                if "NOT_RUN" not in source
            ), f"no test runs the {language} of {name}"


@pytest.mark.parametrize(("document", "block"), blocks("sh"))
def test_shell_blocks_have_valid_syntax(document: str, block: str) -> None:
    """It is that of the shell that readers paste them into."""
    result = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, ""), document


@pytest.mark.parametrize(("document", "line"), [*command_lines()])
def test_commands_are_valid(document: str, line: str) -> None:
    """Their options exist; other tests run those that need no network."""
    words = [word for word in shlex.split(line, comments=True) if word not in ("&", "...")]
    command: click.Command = cachelog
    while isinstance(command, click.Group):
        name, *words = words
        if name in ("--version", "--help"):
            return
        assert name in command.commands, document
        command = command.commands[name]
    # click caches the names of the help option when a command is used first.
    command.make_context(command.name, words, **cachelog.context_settings)
