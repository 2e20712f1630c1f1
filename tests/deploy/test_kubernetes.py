"""deploy/kubernetes.yaml: valid, and of this cachelog."""

from typing import Any

import kubernetes_validate
import pytest
from starlette.routing import Mount, Route

from server.app import GRAPHQL_PATH, create_app
from server.environment import settings_from
from server.memory import max_memory
from server.settings import Settings
from tests.deploy.files import PORT, ROOT, containers, manifest, manifests, pods
from tests.deploy.parsing import require_command

VERSIONS = ("1.30", "1.37")
"""The oldest and the newest Kubernetes that the file is checked for."""

KEPT_INSIDE = {"/metrics", "/health/live", "/health/ready"}


def environ() -> dict[str, str]:
    """Return the variables of all containers."""
    found: dict[str, str] = manifest("ConfigMap")["data"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_valid(version: str) -> None:
    """Each object is as the schemas of Kubernetes want it, without anything unknown."""
    assert len(manifests()) == 7
    for it in manifests():
        kubernetes_validate.validate(it, version, strict=True)


def test_the_validator_refuses_what_is_misspelt() -> None:
    """So its word on the file counts."""
    broken = manifest("Deployment")
    broken["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[-1], strict=True)


def test_settings() -> None:
    """Each is one, and the keys of the bucket come from a secret that is not in the file."""
    assert settings_from(environ()).catalog.startswith("s3://")
    for container in containers():
        assert "env" not in container
        assert container["envFrom"] == [
            {"configMapRef": {"name": manifest("ConfigMap")["metadata"]["name"]}},
            {"secretRef": {"name": "cachelog-s3"}},
        ]
    assert "Secret" not in {it["kind"] for it in manifests()}


@pytest.mark.parametrize("container", containers(), ids=lambda it: it["name"])
def test_each_container(container: dict[str, Any]) -> None:
    """Its command can be parsed; it is not root, writes to no root, and has no privileges."""
    require_command(container["args"])
    assert container["image"] == "cachelog:latest"
    assert container["resources"]["limits"]["memory"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {it["mountPath"] for it in container["volumeMounts"]} == {"/tmp", "/data"}  # noqa: S108


def test_pods_run_as_the_user_of_the_image() -> None:
    """By its number, without a token for the cluster."""
    assert "\nUSER 1000:1000\n" in (ROOT / "Dockerfile").read_text("utf-8")
    for pod in pods().values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        }


def test_servers_are_asked_where_they_listen() -> None:
    """Probes and the service name the port, and paths that the server has."""
    deployment = manifest("Deployment")["spec"]
    assert deployment["replicas"] >= 2
    (server,) = deployment["template"]["spec"]["containers"]
    context = require_command(server["args"])
    assert (context.params["port"], context.params["host"]) == (PORT, "0.0.0.0")  # noqa: S104
    assert server["ports"] == [{"name": "http", "containerPort": PORT}]
    paths = {probe: server[f"{probe}Probe"]["httpGet"] for probe in ("liveness", "readiness")}
    assert paths["liveness"] == {"path": "/health/live", "port": "http"}
    assert paths["readiness"] == {"path": "/health/ready", "port": "http"}
    assert routes() >= KEPT_INSIDE
    (port,) = manifest("Service")["spec"]["ports"]
    assert port["targetPort"] == "http"


def test_selectors_find_the_pods_of_servers() -> None:
    """And those of servers alone."""
    deployment = manifest("Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert manifest("Service")["spec"]["selector"] == labels
    assert manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    for job in (it for it in manifests() if it["kind"] == "CronJob"):
        pod = job["spec"]["jobTemplate"]["spec"]["template"]
        assert pod["metadata"]["labels"] != labels
        assert job["spec"]["concurrencyPolicy"] == "Forbid"


def test_servers_have_memory_and_time() -> None:
    """As much as their settings allow them, and as long as they may take to end."""
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    limit = int(server["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    assert max_memory(settings_from(environ())) <= limit
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pause + 11 < pod["terminationGracePeriodSeconds"]


def test_the_ingress_leads_to_all_that_is_for_people() -> None:
    """Each page and endpoint, but neither numbers nor health."""
    (rule,) = manifest("Ingress")["spec"]["rules"]
    paths = rule["http"]["paths"]
    asked = routes()
    assert {it for it in asked if not any(leads(path, it) for path in paths)} == KEPT_INSIDE
    for path in paths:
        assert any(leads(path, it) for it in asked), f"{path['path']} leads to nothing"


def routes() -> set[str]:
    """Return the paths of the server, names in them as they stand in its code."""
    app = create_app(Settings(catalog="nowhere"))
    found = {it.path for it in app.routes if isinstance(it, Route | Mount)}
    return found | {GRAPHQL_PATH}


def leads(rule: dict[str, Any], path: str) -> bool:
    """Tell whether a rule of an ingress applies: prefixes count by whole parts of a path."""
    if rule["pathType"] == "Exact":
        return bool(rule["path"] == path)
    return f"{path}/".startswith(f"{rule['path']}/")
