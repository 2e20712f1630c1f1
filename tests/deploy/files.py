"""The files of deploy/, the cachelog commands in them, and validators of both."""

import copy
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
    """Return the objects of kubernetes/example as kustomize builds them; tests only read them.

    It is what these files need of kustomize, which need not be installed.
    """
    base, example = (_loaded(f"{folder}/kustomization.yaml")[0] for folder in ("base", "example"))
    objects = [it for name in base["resources"] for it in _loaded(f"base/{name}")]
    (common,) = base["patches"]
    (patch,) = _loaded(f"base/{common['path']}")
    for it in objects:
        if it["kind"] == common["target"]["kind"]:
            _merge(it, {**patch, "metadata": {"labels": patch["metadata"]["labels"]}})
    literals = [
        literal
        for layer in (base, example)
        for generator in layer["configMapGenerator"]
        for literal in generator["literals"]
    ]
    data = dict(literal.split("=", 1) for literal in literals)
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cachelog"},
            "data": data,
        }
    )
    for overlay in example["patches"]:
        for it in objects:
            if {**overlay["target"]} == {"kind": it["kind"], "name": it["metadata"]["name"]}:
                for operation in yaml.safe_load(overlay["patch"]):
                    assert operation["op"] == "replace"
                    _replace(it, operation["path"], operation["value"])
    (image,) = example["images"]
    for container in _containers_of(objects):
        assert container["image"] == image["name"]
        container["image"] = f"{image['newName']}:{image['newTag']}"
    return objects


def _loaded(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text("utf-8")))


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    """Merge a patch; a list of one object in both is merged too, another one replaced."""
    for key, value in patch.items():
        old = target.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            _merge(old, value)
        elif isinstance(value, list) and isinstance(old, list):
            (old_item,), (item,) = old, value
            _merge(old_item, item)
        else:
            target[key] = copy.deepcopy(value)


def _replace(target: Any, path: str, value: object) -> None:
    *parents, last = [int(part) if part.isdecimal() else part for part in path[1:].split("/")]
    for part in parents:
        target = target[part]
    assert target[last] is not None
    target[last] = value


def manifests_of(kind: str) -> list[dict[str, Any]]:
    """Return all objects of a kind."""
    return [manifest for manifest in manifests() if manifest["kind"] == kind]


def manifest(kind: str) -> dict[str, Any]:
    """Return the only object of a kind."""
    (single,) = manifests_of(kind)
    return single


def pods() -> list[dict[str, Any]]:
    """Return the pod specifications of the deployment and of each cron job."""
    return _pods_of(manifests())


def containers() -> list[dict[str, Any]]:
    """Return all containers of all pods."""
    return _containers_of(manifests())


def _pods_of(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    owners = [it["spec"].get("jobTemplate", it) for it in objects if "spec" in it]
    return [owner["spec"]["template"]["spec"] for owner in owners if "template" in owner["spec"]]


def _containers_of(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [container for pod in _pods_of(objects) for container in pod["containers"]]


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
