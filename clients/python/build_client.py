"""The build hook that generates the package from the schema, by ariadne-codegen."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ClientHook(BuildHookInterface[Any]):
    """Generates ``cachelog_client`` in a checkout; a source distribution has it."""

    PLUGIN_NAME = "custom"

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Write the package as ``pyproject.toml`` configures it."""
        if (Path(self.root).parent / "documents").exists():
            command = [sys.executable, "-m", "ariadne_codegen"]
            subprocess.run(command, cwd=self.root, check=True)  # noqa: S603 - no input
            (Path(self.root) / "cachelog_client/py.typed").touch()
