"""Sites that tests export and read."""

from pathlib import Path

from tests.server.commands import CommandResult, cachelog


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder, by their relative paths."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def export(catalog: Path, folder: Path, *options: object) -> CommandResult:
    """Run ``cachelog export-site``."""
    return cachelog("export-site", folder, *options, catalog=catalog)
