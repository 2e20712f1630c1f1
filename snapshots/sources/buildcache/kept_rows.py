"""What earlier runs read, piece by piece: SQLite files in the cache folder.

Such a file only saves requests. Where it cannot be used, the report is warned, and nothing more is
known or kept.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from snapshots.sources.reports import Report

_BATCH = 500


class KeptRows:
    """A table in a file of its own, and a context manager that closes it.

    ``file`` is None where nothing is kept. ``what`` names its rows in the warning, ``schema`` is
    the statement that makes the table.
    """

    def __init__(self, file: Path | None, report: Report, *, what: str, schema: str) -> None:
        self._file = file
        self._report = report
        self._what = what
        self._database: sqlite3.Connection | None = None
        if file is None:
            return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=60)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
        self.attempt(lambda database: database.execute(schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def row(self, query: str, *values: object) -> Any:
        """Return the first row that the query finds, None where there is none."""
        return self.attempt(lambda database: database.execute(query, values).fetchone())

    def attempt(self, use: Callable[[sqlite3.Connection], Any]) -> Any:
        """Return what ``use`` makes of the open file, in a transaction; None where that fails."""
        if self._database is None:
            return None
        try:
            with self._database:
                return use(self._database)
        except sqlite3.Error as error:
            self._give_up(error)
            return None

    def close(self) -> None:
        """Close the file."""
        self._shut()

    def _shut(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _give_up(self, error: Exception) -> None:
        reason = f"cannot keep {self._what}; delete it if it is damaged: {error}"
        self._report.warn(f"{self._file}: {reason}")
        self._shut()


class KeptDocuments(KeptRows):
    """Small documents by keys under which they never change: a checksum, or a URL and its ETag.

    At its end, the documents that were not used for longest are forgotten beyond ``bound`` bytes.
    It is used by one thread.
    """

    def __init__(self, folder: Path | None, bound: int, report: Report) -> None:
        super().__init__(
            folder and folder / "documents.sqlite3",
            report,
            what="documents",
            schema="CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, "
            "used INTEGER NOT NULL, document BLOB NOT NULL) WITHOUT ROWID",
        )
        self._bound = bound
        self._used: list[str] = []
        self._new: dict[str, bytes] = {}

    def find(self, key: str) -> bytes | None:
        """Return the document under a key."""
        row = self.row("SELECT document FROM documents WHERE key = ?", key)
        if row is None:
            return None
        self._used.append(key)
        return bytes(row[0])

    def keep(self, key: str, document: bytes | bytearray) -> None:
        """Keep a document; it is written with others, now and then, and at the end."""
        self._new[key] = bytes(document)
        if len(self._new) >= _BATCH:
            self._write()

    def close(self) -> None:
        """Write what is not written yet, forget what is too much, and close the file."""
        self._write()
        self.attempt(self._mark_used)
        self.attempt(
            lambda database: database.execute(
                "DELETE FROM documents WHERE key IN (SELECT key FROM (SELECT key, "
                "SUM(LENGTH(document)) OVER (ORDER BY used DESC, key) AS total FROM documents) "
                "WHERE total > ?)",
                (self._bound,),
            )
        )
        super().close()

    def _write(self) -> None:
        rows, self._new = self._new, {}
        statement = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)"
        now = int(time.time())
        values = ((key, now, document) for key, document in rows.items())
        self.attempt(lambda database: database.executemany(statement, values))

    def _mark_used(self, database: sqlite3.Connection) -> None:
        now = int(time.time())
        statement = "UPDATE documents SET used = ? WHERE key = ?"
        database.executemany(statement, ((now, key) for key in self._used))
        self._used.clear()
