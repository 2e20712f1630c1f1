"""Output files, which are written atomically, and outputs that are no regular files."""

import os
import threading
from pathlib import Path

import pytest

from server.output_files import write
from snapshots.errors import OutputError


def test_changed_file_is_written(tmp_path: Path) -> None:
    """Its folders are created; a file with the same content is not written."""
    file = tmp_path / "new" / "feed.atom"
    assert write(file, b"one")
    status = file.stat()
    assert not write(file, b"one")
    assert file.stat() == status
    assert write(file, b"two")
    assert file.read_bytes() == b"two"
    assert [*file.parent.iterdir()] == [file]


def test_target_of_a_link_is_replaced(tmp_path: Path) -> None:
    """Its target is replaced."""
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    for content in (b"one", b"two"):
        assert write(link, content)
        assert link.is_symlink()
        assert file.read_bytes() == content


def test_pipe_is_written_to(tmp_path: Path) -> None:
    """It gets the document, and is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    assert write(pipe, b"document")
    reader.join(10)
    assert received == [b"document"]
    assert pipe.is_fifo()


def test_folder_is_an_error(tmp_path: Path) -> None:
    """The error states the reason."""
    with pytest.raises(OutputError, match="cannot be written: Is a directory"):
        write(tmp_path, b"document")
