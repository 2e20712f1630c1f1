"""docs/real-cache.md: its examples run unchanged, and its errors occur."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from snapshots.models import UnprovenReason
from snapshots.sources.buildcache.layouts import LAYOUT_3_INDEX
from tests import real_data
from tests.consoles import examples, shell
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_installation,
    put_layout_3,
    put_specs,
    text,
)

TEXT = (Path(__file__).parents[1] / "docs" / "real-cache.md").read_text("utf-8")


def real_index(week: str, stack: str) -> dict[str, Any]:
    """Return an index that Spack wrote."""
    file = real_data.folder() / "spack-history" / week / stack / "index.json"
    index: dict[str, Any] = json.loads(file.read_bytes())
    return index


def rows(section: str) -> list[str]:
    """Return the first column of the table below a heading."""
    below = TEXT[TEXT.index(f"## {section}\n") :].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", below, re.MULTILINE)


@pytest.mark.long
def test_examples_print_the_documented_output(tmp_path: Path) -> None:
    """Each command prints the documented output."""
    mirror = tmp_path / "mirror"
    for week in ("2026-06-20", "2026-06-27"):
        for stack, name in (("e4s", "e4s"), ("developer-tools", "tools")):
            put_layout_3(mirror / week / name, text(real_index(week, stack)))
    view = mirror / "2026-06-27/e4s" / Path(LAYOUT_3_INDEX).parent / "tools" / "index.manifest.json"
    tools = mirror / "2026-06-27/tools"
    put(view, (tools / LAYOUT_3_INDEX).read_bytes())
    for blob in (tools / "blobs").rglob("*"):
        if blob.is_file():
            put(mirror / "2026-06-27/e4s" / blob.relative_to(tools), blob.read_bytes())
    index = real_index("2026-06-27", "e4s")
    put_specs(mirror / "listed", index)
    for install in index["database"]["installs"].values():
        install["installed"] = install.pop("in_buildcache")
    put_installation(tmp_path / "spack", index)
    commands = [*examples(TEXT)]
    assert len(commands) == 10
    with shell(tmp_path) as opened:
        for command, expected in commands:
            opened.assert_prints(command, expected)


def test_reasons_of_unproven_hashes_are_explained() -> None:
    """Each is explained once."""
    assert sorted(rows("What is proven")) == sorted(reason.value for reason in UnprovenReason)
