"""mercurius with graphql-jit, for comparison: installed by npm, with cachelog's data."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from tests.benchmarks.plans import Data

PACKAGES = ("fastify@5", "graphql@16", "graphql-jit@0.8", "mercurius@16")

_SERVER = Path(__file__).with_suffix(".js")
_INSTALL_SECONDS = 600


def install(data: Data) -> None:
    """Install it into the folder of the data with npm, once; exits if npm is missing."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise SystemExit("--mercurius needs Node.js and npm, such as: apt-get install nodejs npm")
    modules = _modules(data)
    if modules.exists():
        return
    modules.parent.mkdir(parents=True, exist_ok=True)
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    command = ["npm", "install", *options, "--prefix", str(modules.parent), *PACKAGES]
    subprocess.run(command, check=True, timeout=_INSTALL_SECONDS, stdout=subprocess.DEVNULL)


def prepare(data: Data) -> tuple[Callable[[int], Sequence[str]], dict[str, str]]:
    """Return the command that serves the newer revision on a port, and its environment."""
    modules = _modules(data)
    specs = modules.parent / "specs.json"
    specs.write_bytes(orjson.dumps(_specs(data)))

    def command_on(port: int) -> Sequence[str]:
        return ["node", str(_SERVER), str(specs), str(port)]

    return command_on, {"NODE_PATH": str(modules), "NODE_ENV": "production"}


def versions(data: Data) -> dict[str, str]:
    """Return the versions of Node.js and of the installed packages."""
    installed = {"node": subprocess.check_output(["node", "--version"], text=True).strip()}
    for package in PACKAGES:
        name = package.partition("@")[0]
        facts = json.loads((_modules(data) / name / "package.json").read_bytes())
        installed[name] = facts["version"]
    return installed


def _modules(data: Data) -> Path:
    return data.cache / "mercurius" / "node_modules"


def _specs(data: Data) -> list[dict[str, object]]:
    _, newer = data.digests()
    frame = data.opened().reader().frame(newer)
    specs = map(frame.spec, range(len(frame)))
    return [
        {
            "hash": spec.hash,
            "name": spec.name,
            "version": spec.version,
            "compiler": spec.compiler,
            "operatingSystem": spec.operating_system,
            "target": spec.target,
            "variants": spec.variants,
            "stacks": spec.stacks,
        }
        for spec in specs
    ]
