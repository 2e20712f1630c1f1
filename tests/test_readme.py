"""The README is true: its examples run as they stand."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.consoles import assert_prints, examples
from tests.server.servers import serving

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SHOWN_SERVER = "http://127.0.0.1:8000"


@pytest.mark.long
def test_examples(tmp_path: Path) -> None:
    """Each command does what the README shows, in the order of the README."""
    if shutil.which("curl") is None and not os.environ.get("CI"):
        pytest.skip("curl is not installed")
    count = 0
    with ExitStack() as stack:
        url = None
        for command, shown in examples(README):
            if SHOWN_SERVER in command and url is None:
                catalog = tmp_path / "catalog"
                url = stack.enter_context(serving(catalog, tmp_path / "serve.log")).url
            assert_prints(command.replace(SHOWN_SERVER, url or ""), shown, tmp_path)
            count += 1
    assert count >= 7
