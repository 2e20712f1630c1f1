"""Sites that tests write and read."""

from pathlib import Path
from typing import Any

import orjson

from tests.server.commands import Done, cachelog


def files_in(folder: Path) -> dict[str, bytes]:
    """Return what all files in a folder hold, by their paths in it."""
    files = (it for it in folder.rglob("*") if it.is_file())
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in files}


def exported(catalog: Path, folder: Path, *options: object) -> Done:
    """Run the command."""
    return cachelog("export-site", folder, *options, catalog=catalog)


def index_of(folder: Path) -> dict[str, Any]:
    """Return what tells of a site."""
    found: dict[str, Any] = orjson.loads((folder / "index.json").read_bytes())
    return found
