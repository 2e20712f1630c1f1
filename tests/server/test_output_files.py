"""Files that are written in one step, and what is not a file."""

import os
import threading
from pathlib import Path

import pytest

from server.output_files import write
from snapshots.errors import OutputError


def test_a_file_is_written_where_it_differs(tmp_path: Path) -> None:
    """With its folders; one that holds just that is left alone."""
    file = tmp_path / "new" / "feed.atom"
    assert write(file, b"one")
    written = file.stat()
    assert not write(file, b"one")
    assert file.stat() == written
    assert write(file, b"two")
    assert file.read_bytes() == b"two"
    assert [*file.parent.iterdir()] == [file]


def test_a_link_stays(tmp_path: Path) -> None:
    """What it leads to is replaced."""
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    for content in (b"one", b"two"):
        assert write(link, content)
        assert link.is_symlink()
        assert file.read_bytes() == content


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A pipe, and likewise a device, gets the document, and is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    assert write(pipe, b"document")
    reader.join(10)
    assert found == [b"document"]
    assert pipe.is_fifo()


def test_a_folder_is_a_fault(tmp_path: Path) -> None:
    """It is named, with the reason."""
    with pytest.raises(OutputError, match="cannot be written: Is a directory"):
        write(tmp_path, b"document")
