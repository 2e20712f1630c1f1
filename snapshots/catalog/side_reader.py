"""The sides of a comparison, by the text that names them.

A side is anything that has specs: a revision, a stack of a revision, or a file or folder: a lock
file, an index, or the database of an installation. Data from a path is held in memory and never
published.
"""

from collections.abc import Callable
from functools import cached_property

from msgspec.structs import asdict

from snapshots.catalog.library import Library, stack_info
from snapshots.errors import StackNotFound
from snapshots.history import History
from snapshots.models import FileInfo, RevisionInfo, SideInfo, StackInfo, content_of_stack
from snapshots.refs import parse_side
from snapshots.sources.settings import ReadSettings


class SideReader:
    """Reads sides; their specs are available in the library by their ``content``.

    ``load_history`` returns the revisions; it is called when the first of them is needed, so that
    files can be compared without a catalog. ``load_settings`` returns the settings for reading
    indexes.
    """

    def __init__(
        self,
        library: Library,
        load_history: Callable[[], History],
        load_settings: Callable[[], ReadSettings] = ReadSettings,
    ) -> None:
        self._library = library
        self._load_history = load_history
        self._load_settings = load_settings

    @cached_property
    def _history(self) -> History:
        return self._load_history()

    def read(self, text: str) -> SideInfo:
        """Return the side that a text names: see ``snapshots.refs.parse_side``.

        Raises the errors of ``History.resolve``, StackNotFound, and SourceError for an unreadable
        path.
        """
        words = parse_side(text)
        if words.is_path:
            return self._read_file(words.text)
        revision = self._history.resolve(words.text)
        if words.stack is None:
            return revision
        return self._of_stack(words.text, revision, words.stack)

    def _of_stack(self, ref: str, revision: RevisionInfo, stack: str) -> StackInfo:
        try:
            frame = self._library.frames.get(content_of_stack(revision.digest, stack))
        except StackNotFound as error:
            raise StackNotFound(ref, stack, error.stacks) from None
        return stack_info(revision, stack, frame)

    def _read_file(self, path: str) -> FileInfo:
        # Imported here, because the readers of build caches take a while to import.
        from snapshots.sources import side_files

        file = side_files.read(path, self._load_settings())
        self._library.hold(file.content)
        return FileInfo(
            **asdict(file.content.summary()),
            source=file.source,
            num_proven=file.proof.num_proven if file.proof else None,
            unproven=file.proof.unproven if file.proof else None,
            roots=file.roots,
        )
