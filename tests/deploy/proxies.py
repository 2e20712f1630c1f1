"""nginx with the file of deploy/, before servers of this machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.deploy.files import DEPLOY, PORT
from tests.server.servers import free_port, until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
UNLIMITED = {"limit_req zone=clients burst=60 nodelay;": ""}
"""What to replace where one client sends as many requests as all others would."""


class Proxy(NamedTuple):
    """A running nginx."""

    url: str
    process: "subprocess.Popen[bytes]"


@contextmanager
def nginx(
    servers: Sequence[str], folder: Path, replaced: Mapping[str, str] | None = None
) -> Iterator[Proxy]:
    """Run nginx before the servers at two URLs, or at one, until the context ends.

    It has the file of deploy/ with other addresses and folders, and with the texts of ``replaced``
    in place of those that are its keys. What it writes is below ``folder``.
    """
    assert NGINX is not None
    port, file = free_port(), folder / "nginx.conf"
    file.write_text(_rewritten(servers, folder, port, replaced or {}), "utf-8")
    # Where root starts it, its workers would be somebody who may not write here.
    more = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    command = [NGINX, "-c", str(file), "-p", str(folder), "-e", "stderr", "-g", more]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    proxy = Proxy(f"http://127.0.0.1:{port}", process)
    try:
        until(lambda: _answers(proxy, folder / "log"), "nginx answers")
        yield proxy
    finally:
        process.terminate()
        process.wait(20)


def _rewritten(servers: Sequence[str], folder: Path, port: int, replaced: Mapping[str, str]) -> str:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    here = {
        "listen 8080": f"listen 127.0.0.1:{port}",
        "/tmp/": f"{folder}/",  # noqa: S108
        "/var/cache/nginx/": f"{folder}/",
    }
    for number in (1, 2):
        named = f"server-{number}:{PORT}"
        if number <= len(servers):
            here[named] = servers[number - 1].removeprefix("http://")
        else:
            here[f"server {named}"] = f"# server {named}"
    for old, new in (here | dict(replaced)).items():
        assert old in text, f"deploy/nginx.conf has no {old}"
        text = text.replace(old, new)
    return text


def _answers(proxy: Proxy, log: Path) -> bool:
    assert proxy.process.poll() is None, log.read_text()
    try:
        return httpx.get(f"{proxy.url}/health/ready").is_success
    except httpx.TransportError:
        return False
