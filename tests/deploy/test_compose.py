"""deploy/compose.yaml, nginx.conf and prometheus.yml are valid and fit this version."""

import re
from ipaddress import ip_address, ip_network

import pytest
import yaml

from server.commands.service import KEEP_ALIVE_SECONDS
from server.pages.check import BODIES
from server.settings import Settings, settings_from
from tests.deploy.files import (
    DEPLOY,
    PORT,
    ROOT,
    commands_of,
    compose,
    is_valid,
    own_services,
    parse_command,
)
from tests.memory import max_memory

SERVERS = ("server-1", "server-2")
NGINX = (DEPLOY / "nginx.conf").read_text("utf-8")


def test_compose_file_conforms_to_its_schema() -> None:
    """That of the Compose specification."""
    assert is_valid("vendor.compose-spec", DEPLOY / "compose.yaml")


@pytest.mark.parametrize("name", own_services())
def test_settings_and_commands_are_valid(name: str) -> None:
    """The settings exist and have valid values, and all commands can be parsed."""
    service = own_services()[name]
    environ = {key: str(value) for key, value in service.get("environment", {}).items()}
    settings_from(environ)
    commands = commands_of(service["command"], environ)
    assert commands
    for words in commands:
        parse_command(words)


def test_all_files_name_the_same_port() -> None:
    """The image, the servers, their health checks, nginx and Prometheus."""
    assert f"EXPOSE {PORT}\n" in (ROOT / "Dockerfile").read_text("utf-8")
    services = compose()["services"]
    for name in SERVERS:
        context = parse_command(services[name]["command"])
        assert (context.params["port"], context.params["host"]) == (PORT, "0.0.0.0")  # noqa: S104
        assert f"http://127.0.0.1:{PORT}/health/ready" in services[name]["healthcheck"]["test"][-1]
    upstreams = [f"{name}:{PORT}" for name in SERVERS]
    assert re.findall(r"^ +server (server[^ ;]+)", NGINX, re.MULTILINE) == upstreams
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))
    assert [(DEPLOY / name).is_file() for name in config["rule_files"]] == [True]
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "cachelog"  # the name in the alerts
    assert job["metrics_path"] == "/metrics"
    assert job["static_configs"] == [{"targets": upstreams}]


def test_servers_trust_only_the_proxy() -> None:
    """It has a fixed address in the common network; servers publish no ports."""
    document = compose()
    (pool,) = document["networks"]["inside"]["ipam"]["config"]
    address = document["services"]["proxy"]["networks"]["inside"]["ipv4_address"]
    assert ip_address(address) in ip_network(pool["subnet"])
    for name in SERVERS:
        environ = document["services"][name]["environment"]
        assert environ["CACHELOG_TRUSTED_PROXIES"] == address
        assert "ports" not in document["services"][name]


def test_limits_of_servers_fit_their_settings() -> None:
    """Memory for the maximum that the settings allow, and time to stop."""
    for name in SERVERS:
        service = compose()["services"][name]
        environ = {key: str(value) for key, value in service["environment"].items()}
        limit = int(service["mem_limit"].removesuffix("g")) << 30
        assert max_memory(settings_from(environ)) <= limit
        assert service["stop_grace_period"] == "20s"


def test_mounted_files_exist() -> None:
    """Those of this folder, except for the pages, which users provide."""
    mounted = [
        volume.split(":")[0]
        for service in compose()["services"].values()
        for volume in service["volumes"]
        if volume.startswith("./") and ":/pages:" not in volume
    ]
    assert sorted(mounted) == ["./nginx.conf", "./prometheus.yml", "./rules.yml"]
    assert all((DEPLOY / name).is_file() for name in mounted)


def test_proxy_fits_the_settings_of_servers() -> None:
    """It closes idle connections first, and accepts equally large bodies."""
    settings = Settings()
    (idle,) = re.findall(r"^ +keepalive_timeout (\d+)s;", NGINX, re.MULTILINE)
    assert int(idle) < KEEP_ALIVE_SECONDS
    sizes = re.findall(r"^ +client_max_body_size (\d+)m;", NGINX, re.MULTILINE)
    assert [int(size) << 20 for size in sizes] == [settings.max_body, BODIES * settings.max_body]
