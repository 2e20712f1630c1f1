"""All documents: links are valid, and a test runs each block of code unless it is exempt."""

import re
import shlex
import subprocess
from collections import Counter
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


RUN = {
    "tests/deploy/test_dockerfile.py": "deploy/README.md dockerfile 1",
    "tests/deploy/test_pull_requests.py": "deploy/README.md yaml 2",
    "tests/server/test_cli_export_site.py": "static-site.md python 1",
    "tests/server/test_cli_compare.py": "two-specs.md console 1",
    "tests/server/test_embedding.py": "embedding.md html 2, embedding.md markdown 1",
    "tests/server/test_python_client.py": "clients/python/README.md python 1",
    "tests/server/test_typescript_client.py": """clients/typescript/README.md ts 1,
        clients/typescript/README.md tsx 1""",
    "tests/test_api_doc.py": """api.md graphql 10, api.md js 1, life-of-a-query.md graphql 3,
        lock-files.md graphql 1, plan.md graphql 1, questions.md graphql 3, sides.md graphql 1,
        two-specs.md graphql 1""",
    "tests/test_docs_examples.py": """history.md console 9, lock-files.md console 1,
        nightly.md console 5, plan.md console 1, questions.md console 1, questions.md csv 1,
        release.md console 6, sides.md console 1, sources.md console 1, tour.md console 6""",
    "tests/test_gates_doc.py": "gates.md console 1, gates.md toml 1",
    "tests/test_notes_doc.py": "notes.md jinja 1",
    "tests/test_notifications_doc.py": "notifications.md graphql 1, notifications.md python 1",
    "tests/test_readme.py": "README.md console 5",
    "tests/test_real_cache_doc.py": "real-cache.md console 7",
    "tests/test_tables_doc.py": "tables.md python 7, tables.md sql 10",
}
"""The blocks that each test runs: document, language and number."""

NOT_RUN = {
    "sh": "commands for a network or the reader's own machine; those of cachelog are parsed",
    "text": "what a command prints",
}
"""The languages of blocks that no test runs, with the reason."""


def test_blocks_are_run() -> None:
    """A new block belongs in RUN, next to the test that runs it, or its language in NOT_RUN."""
    blocks_shown = Counter(
        (name, language)
        for name, text in DOCUMENTS.items()
        for language in re.findall(r"^ *```(.*)\n(?:.*\n)*?^ *```$", text, re.MULTILINE)
        if language not in NOT_RUN
    )
    run: Counter[tuple[str, str]] = Counter()
    for test, listed in RUN.items():
        source = (ROOT / test).read_text("utf-8")
        for block in listed.split(","):
            name, language, number = block.split()
            run[name, language] += int(number)
            assert re.search(rf"```{language}|\b(examples|blocks)\(|\\^\\\\\$ cachelog", source), (
                test
            )
    assert (blocks_shown - run, run - blocks_shown) == (Counter(), Counter())


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
