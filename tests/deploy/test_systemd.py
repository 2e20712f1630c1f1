"""deploy/systemd is valid and fits this version."""

import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from server.settings import settings_from
from tests.deploy.files import DEPLOY, PORT, parse_command

FOLDER = DEPLOY / "systemd"
SERVICES = sorted(FOLDER.glob("*.service"))
ENVIRONMENT = dict(
    line.split("=", 1)
    for line in (FOLDER / "cachelog.env").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)


def unit(path: Path) -> ConfigParser:
    """Return the sections of a unit, with the names of settings as they are written."""
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # as configparser documents
    parser.read(path)
    return parser


def command_of(path: Path) -> list[str]:
    """Return the command of a service; $NAME is split into words, ${NAME} is one word."""
    words = []
    for word in shlex.split(unit(path)["Service"]["ExecStart"]):
        if name := re.fullmatch(r"\$(\w+)", word):
            words += ENVIRONMENT[name[1]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: ENVIRONMENT[match[1]], word))
    return words


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_commands_and_settings_are_valid(path: Path) -> None:
    """The commands can be parsed, and the settings exist."""
    program, *arguments = command_of(path)
    assert program == "/opt/cachelog/bin/cachelog"
    context = parse_command(["cachelog", *arguments])
    settings = settings_from(ENVIRONMENT)
    if path.stem == "cachelog":
        assert (context.params["host"], context.params["port"]) == ("127.0.0.1", PORT)
    assert settings.catalog == f"/var/lib/{unit(path)['Service']['StateDirectory']}/catalog"


def test_timers_start_services() -> None:
    """Each timer has a service of its name."""
    timers = {path.stem for path in FOLDER.glob("*.timer")}
    assert timers == {path.stem for path in SERVICES} - {"cachelog"}


def test_units_are_accepted_by_systemd(tmp_path: Path) -> None:
    """With a program at the path that they name."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for path in (*SERVICES, *FOLDER.glob("*.timer")):
        text = path.read_text("utf-8").replace("/opt/cachelog/bin/cachelog", "/bin/true")
        (tmp_path / path.name).write_text(text)
    command = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))]
    result = subprocess.run(command, capture_output=True, text=True)
    assert str(tmp_path) not in result.stderr, result.stderr
    assert result.returncode == 0, result.stderr
