"""deploy/compose.yaml and prometheus.yml: valid, and of this cachelog."""

import os
import shutil
import subprocess
from ipaddress import ip_address, ip_network

import pytest
import yaml

from server.settings import settings_from
from tests.deploy.files import DEPLOY, PORT, ROOT, commands_of, compose, own_services
from tests.deploy.parsers import is_valid, require_command
from tests.memory import max_memory

SERVERS = ("server-1", "server-2")


def test_the_file_is_valid() -> None:
    """By the schema of the Compose specification."""
    assert is_valid("vendor.compose-spec", DEPLOY / "compose.yaml")


def test_compose_reads_it() -> None:
    """Compose itself, which needs no engine for that, takes the file."""
    commands = [["docker", "compose"], ["docker-compose"]]
    installed = (command for command in commands if shutil.which(command[0]))
    command = next((c for c in installed if not subprocess.run([*c, "version"]).returncode), None)
    if command is None:
        pytest.skip("Docker Compose is not installed")
    file = str(DEPLOY / "compose.yaml")
    environment = os.environ | {"LOCATIONS": "/pages"}
    subprocess.run([*command, "--file", file, "config", "--quiet"], env=environment, check=True)


@pytest.mark.parametrize("name", own_services())
def test_settings_and_commands(name: str) -> None:
    """Each setting is one, with a value that can be used, and each command can be parsed."""
    service = own_services()[name]
    environ = {key: str(value) for key, value in service.get("environment", {}).items()}
    settings_from(environ)
    commands = commands_of(service["command"], environ)
    assert commands
    for words in commands:
        require_command(words)


def test_servers_listen_where_others_look() -> None:
    """At the port that the image names, checked for health there and asked for numbers there."""
    assert f"EXPOSE {PORT}\n" in (ROOT / "Dockerfile").read_text("utf-8")
    services = compose()["services"]
    for name in SERVERS:
        context = require_command(services[name]["command"])
        assert (context.params["port"], context.params["host"]) == (PORT, "0.0.0.0")  # noqa: S104
        assert f"http://127.0.0.1:{PORT}/health/ready" in services[name]["healthcheck"]["test"][-1]
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))
    assert [(DEPLOY / name).is_file() for name in config["rule_files"]] == [True]
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "cachelog"  # the name in the alerts
    assert job["metrics_path"] == "/metrics"
    assert job["static_configs"] == [{"targets": [f"{name}:{PORT}" for name in SERVERS]}]


def test_servers_trust_the_proxy_alone() -> None:
    """Its address is fixed, and lies in the network that they share."""
    document = compose()
    (pool,) = document["networks"]["inside"]["ipam"]["config"]
    address = document["services"]["proxy"]["networks"]["inside"]["ipv4_address"]
    assert ip_address(address) in ip_network(pool["subnet"])
    for name in SERVERS:
        environ = document["services"][name]["environment"]
        assert environ["CACHELOG_TRUSTED_PROXIES"] == address
        assert "ports" not in document["services"][name]


def test_servers_have_the_memory_that_they_may_take() -> None:
    """The limit is no less than the sum of what the settings allow, and the time to stop enough."""
    for name in SERVERS:
        service = compose()["services"][name]
        environ = {key: str(value) for key, value in service["environment"].items()}
        limit = int(service["mem_limit"].removesuffix("g")) << 30
        assert max_memory(settings_from(environ)) <= limit
        assert service["stop_grace_period"] == "20s"


def test_files_beside_it_are_there() -> None:
    """What is mounted from this folder exists, but for the pages, which are the reader's."""
    mounted = [
        volume.split(":")[0]
        for service in compose()["services"].values()
        for volume in service["volumes"]
        if volume.startswith("./") and ":/pages:" not in volume
    ]
    assert sorted(mounted) == ["./nginx.conf", "./prometheus.yml", "./rules.yml"]
    assert all((DEPLOY / it).is_file() for it in mounted)
