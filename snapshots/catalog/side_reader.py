"""The sides of a comparison, by the text that names them.

A side is anything that has specs: a revision, a stack of a revision, or a file or folder: a lock
file, an index, or the database of an installation. Data from a path is held in memory and never
published.
"""

from collections.abc import Callable

from msgspec.structs import asdict

from snapshots.catalog.library import Library, stack_info
from snapshots.errors import StackNotFound
from snapshots.history import History
from snapshots.models import FileInfo, SideInfo, content_of_stack
from snapshots.refs import parse_side
from snapshots.sources.settings import ReadSettings


def read_side(
    text: str,
    library: Library,
    load_history: Callable[[], History],
    load_settings: Callable[[], ReadSettings],
) -> SideInfo:
    """Return the side that a text names: see ``snapshots.refs.parse_side``.

    Its specs are then available in the library by its ``content``. ``load_history`` returns the
    revisions; it is not called for a path, so that files can be compared without a catalog.
    ``load_settings`` returns the settings for reading indexes. Raises the errors of
    ``History.resolve``, StackNotFound, and SourceError for an unreadable path.
    """
    words = parse_side(text)
    if words.is_path:
        return _read_file(words.text, library, load_settings)
    revision = load_history().resolve(words.text)
    if words.stack is None:
        return revision
    try:
        frame = library.frames.get(content_of_stack(revision.digest, words.stack))
    except StackNotFound as error:
        raise StackNotFound(words.text, words.stack, error.stacks) from None
    return stack_info(revision, words.stack, frame)


def _read_file(path: str, library: Library, load_settings: Callable[[], ReadSettings]) -> FileInfo:
    # Imported here, because the readers of build caches take a while to import.
    from snapshots.sources import side_files

    file = side_files.read(path, load_settings())
    library.hold(file.content)
    return FileInfo(
        **asdict(file.content.summary()),
        source=file.source,
        num_proven=file.proof.num_proven if file.proof else None,
        unproven=file.proof.unproven if file.proof else None,
        roots=file.roots,
    )
