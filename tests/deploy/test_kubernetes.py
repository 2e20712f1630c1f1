"""deploy/kubernetes is valid and fits this version."""

import re
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
from starlette.routing import Mount, Route

from server.app import GRAPHQL_PATH, create_app
from server.settings import Settings, settings_from
from tests.deploy.files import (
    PORT,
    ROOT,
    containers,
    manifest,
    manifests,
    manifests_of,
    parse_command,
    pods,
)
from tests.memory import max_memory

VERSIONS = ("1.30", "1.37")
"""The oldest and the newest version of Kubernetes whose schemas are used."""

INTERNAL = {"/metrics", "/health/live", "/health/ready"}
"""Paths that are not reachable from outside the cluster."""


def settings() -> Settings:
    """Return the settings of all containers."""
    return settings_from(manifest("ConfigMap")["data"])


def labels_of(owner: dict[str, Any]) -> dict[str, str]:
    """Return the labels of the pods of a deployment, or of a cron job."""
    spec = owner["spec"].get("jobTemplate", owner)["spec"]
    labels: dict[str, str] = spec["template"]["metadata"]["labels"]
    return labels


@pytest.mark.parametrize("version", VERSIONS)
def test_objects_conform_to_the_schemas(version: str) -> None:
    """Those of Kubernetes; unknown fields are not allowed."""
    assert len(manifests()) == 10
    for it in manifests():
        kubernetes_validate.validate(it, version, strict=True)


def test_settings_are_valid() -> None:
    """They exist; the keys of the bucket come from a secret that is not in the file."""
    assert settings().catalog.startswith("s3://")
    for container in containers():
        assert "env" not in container
        assert container["envFrom"] == [
            {"configMapRef": {"name": manifest("ConfigMap")["metadata"]["name"]}},
            {"secretRef": {"name": "cachelog-s3"}},
        ]
    assert "Secret" not in {it["kind"] for it in manifests()}


@pytest.mark.parametrize("container", containers(), ids=lambda it: it["name"])
def test_containers_run_the_newest_release(container: dict[str, Any]) -> None:
    """Their commands can be parsed, and they have a memory limit."""
    parse_command(container["args"])
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert container["image"].endswith(f"/cachelog:{releases[0]}")
    assert container["resources"]["limits"]["memory"]


def test_pods_run_as_the_user_of_the_image() -> None:
    """The user's number, which also owns the volumes."""
    assert "\nUSER 1000:1000\n" in (ROOT / "Dockerfile").read_text("utf-8")
    users = {
        (pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]) for pod in pods()
    }
    assert users == {(1000, 1000)}


def test_probes_and_service_use_the_port_of_servers() -> None:
    """The paths of the probes exist."""
    deployment = manifest("Deployment")["spec"]
    (server,) = deployment["template"]["spec"]["containers"]
    context = parse_command(server["args"])
    assert (context.params["port"], context.params["host"]) == (PORT, "0.0.0.0")  # noqa: S104
    assert server["ports"] == [{"name": "http", "containerPort": PORT}]
    paths = {probe: server[f"{probe}Probe"]["httpGet"] for probe in ("liveness", "readiness")}
    assert paths["liveness"] == {"path": "/health/live", "port": "http"}
    assert paths["readiness"] == {"path": "/health/ready", "port": "http"}
    assert routes() >= INTERNAL
    (port,) = manifest("Service")["spec"]["ports"]
    assert port["targetPort"] == "http"


def test_selectors_match_only_servers() -> None:
    """They match no pods of cron jobs."""
    labels = labels_of(manifest("Deployment"))
    assert manifest("Deployment")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("Service")["spec"]["selector"] == labels
    assert manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    policies = {it["metadata"]["name"]: it["spec"] for it in manifests_of("NetworkPolicy")}
    assert policies["cachelog-server"]["podSelector"]["matchLabels"] == labels
    assert labels not in map(labels_of, manifests_of("CronJob"))


def test_only_servers_accept_connections() -> None:
    """On one port; all pods can connect only to DNS and HTTPS."""
    policies = {it["metadata"]["name"]: it["spec"] for it in manifests_of("NetworkPolicy")}
    every = policies["cachelog"]
    for owner in (manifest("Deployment"), *manifests_of("CronJob")):
        assert every["podSelector"]["matchLabels"].items() <= labels_of(owner).items()
    assert every["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in every
    assert {port["port"] for rule in every["egress"] for port in rule["ports"]} == {53, 443}
    (rule,) = policies["cachelog-server"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == ["http"]
    assert rule["from"]


def test_ingress_terminates_tls_for_the_public_url() -> None:
    """Its host is that of the public URL; it accepts lock files of the maximum size."""
    ingress = manifest("Ingress")
    (rule,) = ingress["spec"]["rules"]
    assert ingress["spec"]["ingressClassName"]
    (tls,) = ingress["spec"]["tls"]
    assert tls["hosts"] == [rule["host"]]
    assert urlsplit(settings().public_url)[:2] == ("https", rule["host"])
    allowed = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(allowed.removesuffix("m")) << 20 == 8 * settings().max_body


def test_limits_of_servers_fit_their_settings() -> None:
    """Memory for the maximum that the settings allow, and time to stop."""
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    limit = int(server["resources"]["limits"]["memory"].removesuffix("Gi")) << 30
    assert max_memory(settings()) <= limit
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pause + 11 < pod["terminationGracePeriodSeconds"]


def test_ingress_routes_all_public_paths() -> None:
    """All pages and endpoints, except for metrics and health checks."""
    public = routes()
    (rule,) = manifest("Ingress")["spec"]["rules"]
    paths = rule["http"]["paths"]
    unrouted = {route for route in public if not any(applies(path, route) for path in paths)}
    assert unrouted == INTERNAL
    for path in paths:
        assert any(applies(path, route) for route in public), f"{path['path']} has no route"


def routes() -> set[str]:
    """Return the paths of the server, with their parameters in braces."""
    app = create_app(Settings(catalog="nowhere"))
    paths = {route.path for route in app.routes if isinstance(route, Route | Mount)}
    return paths | {GRAPHQL_PATH}


def applies(rule: dict[str, Any], path: str) -> bool:
    """Return whether a rule of an ingress applies; prefixes match complete parts of a path."""
    if rule["pathType"] == "Exact":
        return bool(rule["path"] == path)
    return f"{path}/".startswith(f"{rule['path']}/")
