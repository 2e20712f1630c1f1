"""The README: its examples, length and pictures."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.consoles import examples, shell
from tests.server.servers import free_port, until

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MAX_WORDS = 1_400
LARGEST_PICTURE = 120_000
"""Maximum size of a picture in bytes."""


@pytest.mark.long
def test_examples(tmp_path: Path) -> None:
    """All commands print the shown output in one shell."""
    if shutil.which("curl") is None and not os.environ.get("CI"):
        pytest.skip("curl is not installed")
    port = free_port()
    start, serve = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0].splitlines()
    assert ". .venv/bin/activate" in start
    assert serve == "cachelog serve --demo &"
    commands = [*examples(README)]
    assert len(commands) >= 8
    log = tmp_path / "serve.log"
    log.touch()
    with shell(tmp_path) as terminal:
        # Its output would mix with that of the commands.
        terminal.type(serve.replace(" &", f" --port {port} > serve.log &"))
        until(lambda: "serves" in log.read_text(), "the server is ready")
        for command, output in commands:
            terminal.assert_prints(command.replace(":8000", f":{port}"), output)


def test_length() -> None:
    """The README is short enough to be read completely."""
    assert len(README.split()) <= MAX_WORDS


def test_pictures() -> None:
    """Each picture made by ``python -m tests.screenshots --readme`` is shown, and is small."""
    pictures = {f"docs/pictures/{file.name}": file for file in (ROOT / "docs/pictures").iterdir()}
    assert set(pictures) <= set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", README))
    sizes = {name: file.stat().st_size for name, file in pictures.items()}
    assert max(sizes.values()) <= LARGEST_PICTURE, sizes
