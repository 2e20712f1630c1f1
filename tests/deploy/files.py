"""The files of deploy/, the cachelog commands in them, and validators of both."""

import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import yaml
from click.testing import CliRunner

from server.cli import cachelog

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PORT = 8000

_DEFAULT = re.compile(r"\$\{\w+:([-?])([^}]*)\}")


@cache
def compose() -> dict[str, Any]:
    """Return compose.yaml with its default values; tests only read it."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    filled = _DEFAULT.sub(lambda match: match[2] if match[1] == "-" else "/pages", text)
    document: dict[str, Any] = yaml.safe_load(filled)
    return document


def own_services() -> dict[str, Any]:
    """Return the services of compose.yaml that run cachelog."""
    services = compose()["services"]
    return {
        name: service
        for name, service in services.items()
        if service["image"].startswith("cachelog:")
    }


@cache
def manifests() -> list[dict[str, Any]]:
    """Return the objects of kubernetes.yaml; tests only read them."""
    text = (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    return list(yaml.safe_load_all(text))


def manifests_of(kind: str) -> list[dict[str, Any]]:
    """Return all objects of a kind."""
    return [manifest for manifest in manifests() if manifest["kind"] == kind]


def manifest(kind: str) -> dict[str, Any]:
    """Return the only object of a kind."""
    (single,) = manifests_of(kind)
    return single


def pods() -> list[dict[str, Any]]:
    """Return the pod specifications of the deployment and of each cron job."""
    jobs = (job["spec"]["jobTemplate"] for job in manifests_of("CronJob"))
    return [owner["spec"]["template"]["spec"] for owner in (manifest("Deployment"), *jobs)]


def containers() -> list[dict[str, Any]]:
    """Return all containers of all pods, including init containers."""
    return [
        container
        for pod in pods()
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    ]


def commands_of(words: list[str], environ: Mapping[str, str]) -> list[list[str]]:
    """Return the cachelog commands in a container's command, which may be a shell script."""
    if words[:2] != ["sh", "-c"]:
        return [words]
    script = words[2].replace("$$", "$")
    text = re.sub(r"\$(\w+)", lambda match: environ[match[1]], script)
    parts = [part for line in text.splitlines() for part in line.split("&&")]
    return [shlex.split(part) for part in parts if part.strip().startswith("cachelog ")]


def is_valid(schema: str, file: Path) -> bool:
    """Return whether a file conforms to a schema that is part of check-jsonschema."""
    from check_jsonschema import main as check_jsonschema  # takes long to import

    options = ["--builtin-schema", schema, str(file)]
    return CliRunner().invoke(check_jsonschema, options).exit_code == 0


def parse_command(words: list[str]) -> click.Context:
    """Parse a cachelog command without running it; raises UsageError if it is not valid."""
    assert words[0] == "cachelog"
    command: click.Command = cachelog
    # With its settings: click caches the names of the help option when a command is used first.
    context = click.Context(cachelog, info_name="cachelog", **cachelog.context_settings)
    arguments = words[1:]
    while isinstance(command, click.Group):
        name, subcommand, arguments = command.resolve_command(context, arguments)
        assert subcommand is not None
        command = subcommand
    return command.make_context(name, arguments, parent=context)
