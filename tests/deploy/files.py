"""The files of deploy/ as they are read, and the commands that stand in them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PORT = 8000

_DEFAULT = re.compile(r"\$\{\w+:([-?])([^}]*)\}")


def compose() -> dict[str, Any]:
    """Return compose.yaml where nothing but what has no default is set."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    filled = _DEFAULT.sub(lambda it: it[2] if it[1] == "-" else "/pages", text)
    found: dict[str, Any] = yaml.safe_load(filled)
    return found


def own_services() -> dict[str, Any]:
    """Return the services of compose.yaml that run cachelog."""
    services = compose()["services"]
    return {name: it for name, it in services.items() if it["image"].startswith("cachelog:")}


def manifests() -> list[dict[str, Any]]:
    """Return the objects of kubernetes.yaml."""
    text = (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    return list(yaml.safe_load_all(text))


def manifest(kind: str) -> dict[str, Any]:
    """Return the only object of a kind."""
    (found,) = (it for it in manifests() if it["kind"] == kind)
    return found


def pods() -> dict[str, Any]:
    """Return what each object that starts pods says of them, by its name."""
    found = {}
    for it in manifests():
        if it["kind"] == "Deployment":
            found[it["metadata"]["name"]] = it["spec"]["template"]["spec"]
        elif it["kind"] == "CronJob":
            found[it["metadata"]["name"]] = it["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


def containers() -> list[dict[str, Any]]:
    """Return all containers, also those that run before others."""
    return [
        container
        for pod in pods().values()
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    ]


def commands_of(words: list[str], environ: Mapping[str, str]) -> list[list[str]]:
    """Return the commands of cachelog in a container's command, also those of a shell's script."""
    if words[:2] != ["sh", "-c"]:
        return [words]
    script = words[2].replace("$$", "$")
    text = re.sub(r"\$(\w+)", lambda it: environ[it[1]], script)
    lines = [part for line in text.splitlines() for part in line.split("&&")]
    return [shlex.split(it) for it in lines if it.strip().startswith("cachelog ")]
