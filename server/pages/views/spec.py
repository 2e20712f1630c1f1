"""What the page of a spec shows beside its facts: where its binary is, and how to install it."""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from snapshots.sources.buildcache.mirrors import mirror_of


def spec_view(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the mirror that has a spec's binary, if that is told, and the commands to install it.

    A command is quoted for a POSIX shell.
    """
    revision = data["revision"]
    spec, source = revision["spec"], revision["source"]
    mirror = mirror_of(source["kind"], source["location"], spec["tarball"])
    commands = {
        "install": f"spack install --cache-only {quote('/' + spec['hash'])}",
        "install_alike": f"spack install --cache-only {quote(spec['short'])}",
    }
    if mirror is not None:
        commands["add_mirror"] = f"spack mirror add {quote(revision['tag'])} {quote(mirror)}"
    return {"mirror": mirror, "commands": commands}
