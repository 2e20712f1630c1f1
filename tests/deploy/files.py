"""The files of deploy/ as they are read, and the commands that stand in them."""

import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PORT = 8000

_DEFAULT = re.compile(r"\$\{\w+:([-?])([^}]*)\}")


@cache
def compose() -> dict[str, Any]:
    """Return compose.yaml with its defaults, for tests that only read it."""
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
    """Return the objects of kubernetes.yaml, for tests that only read them."""
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
    """Return the specifications of all pods: of the servers, and of each cron job."""
    jobs = (job["spec"]["jobTemplate"] for job in manifests_of("CronJob"))
    return [owner["spec"]["template"]["spec"] for owner in (manifest("Deployment"), *jobs)]


def containers() -> list[dict[str, Any]]:
    """Return all containers, also those that run before others."""
    return [
        container
        for pod in pods()
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    ]


def commands_of(words: list[str], environ: Mapping[str, str]) -> list[list[str]]:
    """Return the commands of cachelog in a container's command, also those of a shell's script."""
    if words[:2] != ["sh", "-c"]:
        return [words]
    script = words[2].replace("$$", "$")
    text = re.sub(r"\$(\w+)", lambda match: environ[match[1]], script)
    parts = [part for line in text.splitlines() for part in line.split("&&")]
    return [shlex.split(part) for part in parts if part.strip().startswith("cachelog ")]
