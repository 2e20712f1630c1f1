"""deploy/kubernetes.yaml: valid, and of this cachelog."""

import re
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
from starlette.routing import Mount, Route

from server.app import GRAPHQL_PATH, create_app
from server.settings import Settings, settings_from
from tests.deploy.files import PORT, ROOT, containers, manifest, manifests, manifests_of, pods
from tests.deploy.parsers import require_command
from tests.memory import max_memory

VERSIONS = ("1.30", "1.37")
"""The oldest and the newest Kubernetes that the file is checked for."""

KEPT_INSIDE = {"/metrics", "/health/live", "/health/ready"}


def environ() -> dict[str, str]:
    """Return the variables of all containers."""
    variables: dict[str, str] = manifest("ConfigMap")["data"]
    return variables


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_valid(version: str) -> None:
    """Each object is as the schemas of Kubernetes want it, without anything unknown."""
    assert len(manifests()) == 11
    for it in manifests():
        kubernetes_validate.validate(it, version, strict=True)


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
    """Its command can be parsed, and its image is that of the newest release."""
    require_command(container["args"])
    assert container["image"].endswith(f"/cachelog:{newest_release()}")
    assert container["resources"]["limits"]["memory"]


def test_pods_run_as_the_user_of_the_image() -> None:
    """By its number, to which volumes belong."""
    assert "\nUSER 1000:1000\n" in (ROOT / "Dockerfile").read_text("utf-8")
    users = {
        (pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]) for pod in pods()
    }
    assert users == {(1000, 1000)}


def test_servers_are_asked_where_they_listen() -> None:
    """Probes and the service name the port, and paths that the server has."""
    deployment = manifest("Deployment")["spec"]
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
    policies = {it["metadata"]["name"]: it["spec"] for it in manifests_of("NetworkPolicy")}
    assert policies["cachelog-server"]["podSelector"]["matchLabels"] == labels
    for job in manifests_of("CronJob"):
        pod = job["spec"]["jobTemplate"]["spec"]["template"]
        assert pod["metadata"]["labels"] != labels


def test_only_servers_can_be_reached() -> None:
    """All pods are closed but for the port of servers; they reach names and HTTPS alone."""
    policies = {it["metadata"]["name"]: it["spec"] for it in manifests_of("NetworkPolicy")}
    every = policies["cachelog"]
    assert (
        every["podSelector"]["matchLabels"].items()
        <= manifest("Deployment")["spec"]["selector"]["matchLabels"].items()
    )
    for job in manifests_of("CronJob"):
        labels = job["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
        assert every["podSelector"]["matchLabels"].items() <= labels.items()
    assert every["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in every
    assert {port["port"] for rule in every["egress"] for port in rule["ports"]} == {53, 443}
    (rule,) = policies["cachelog-server"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == ["http"]
    assert rule["from"]


def test_the_ingress_ends_tls_where_people_are_led() -> None:
    """For its one host, which links that are to be shared name; lock files pass."""
    ingress = manifest("Ingress")
    (rule,) = ingress["spec"]["rules"]
    assert ingress["spec"]["ingressClassName"]
    (tls,) = ingress["spec"]["tls"]
    assert tls["hosts"] == [rule["host"]]
    settings = settings_from(environ())
    assert urlsplit(settings.public_url)[:2] == ("https", rule["host"])
    allowed = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(allowed.removesuffix("m")) << 20 == 8 * settings.max_body


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
    addresses = routes()
    assert {it for it in addresses if not any(leads(path, it) for path in paths)} == KEPT_INSIDE
    for path in paths:
        assert any(leads(path, it) for it in addresses), f"{path['path']} leads to nothing"


def newest_release() -> str:
    """Return the version of the newest release that the changelog tells of."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heading = re.search(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)
    assert heading
    return heading[1]


def routes() -> set[str]:
    """Return the paths of the server, names in them as they stand in its code."""
    app = create_app(Settings(catalog="nowhere"))
    paths = {route.path for route in app.routes if isinstance(route, Route | Mount)}
    return paths | {GRAPHQL_PATH}


def leads(rule: dict[str, Any], path: str) -> bool:
    """Tell whether a rule of an ingress applies: prefixes count by whole parts of a path."""
    if rule["pathType"] == "Exact":
        return bool(rule["path"] == path)
    return f"{path}/".startswith(f"{rule['path']}/")
