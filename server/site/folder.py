"""The folder of a site: its files, its index, and the headers that hosts send."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from server.output_files import write
from snapshots.errors import InvalidArgument, OutputError

Headers = dict[str, str]

MAX_HEADER_RULES = 100
_CACHE_CONTROL = "cache-control"
_REVALIDATE = "no-cache"


def rules(headers: Mapping[str, Headers]) -> str:
    """Return the content of ``_headers`` for the headers of files.

    There is one rule per folder, with the headers that all its files share. Each document has a
    separate rule unless there would be more than MAX_HEADER_RULES.
    """
    for depth in (2, 1):
        groups: defaultdict[str, list[Headers]] = defaultdict(list)
        for file in sorted(headers):
            groups[_folder(file, depth)].append(headers[file])
        if len(groups) <= MAX_HEADER_RULES:
            break
    lines: list[str] = []
    for folder, several in groups.items():
        common = dict(set.intersection(*({*of_file.items()} for of_file in several)))
        # Without a common Cache-Control, the files of a rule have to be revalidated.
        common.setdefault(_CACHE_CONTROL, _REVALIDATE)
        lines += [folder, *(f"  {name}: {value}" for name, value in sorted(common.items()))]
    return "".join(f"{line}\n" for line in lines)


def _folder(file: str, depth: int) -> str:
    """Return the path of the only rule that applies to a file."""
    first, *others = file.split("/")
    if not others:
        return "/" if file == "index.html" else f"/{file}"
    if depth > 1 and first == "graphql":
        return f"/graphql/{others[0]}/*"
    return f"/{first}/*"


INDEX, HEADERS, RULES = "index.json", "headers.json", "_headers"
_FORMAT = "cachelog-site"


class SiteFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A file of a site: the answer to a document, or a server's response at an address.

    A ``permanent`` file never changes. ``links`` are the addresses that a page links to, and
    whether the site had them when it was written. ``next`` is the cursor or the address of the next
    part of a list.
    """

    document: str = ""
    variables: Mapping[str, Any] = {}
    address: str = ""
    permanent: bool = False
    links: Mapping[str, bool] = {}
    next: str = ""


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """``index.json``: the contents of a site; ``made_by`` identifies what created its files."""

    format: str = _FORMAT
    made_by: str = ""
    documents: Mapping[str, str] = {}
    series: Mapping[str, list[dict[str, str]]] = {}
    files: Mapping[str, SiteFile] = {}


class SiteFolder:
    """The files of a site; ``made_by`` identifies everything they depend on except the catalog.

    Each file is written atomically, and only if it differs. Raises InvalidArgument for a folder
    that has files but is not a site, and OutputError if it cannot be read or written.
    """

    def __init__(self, path: Path, made_by: str) -> None:
        self.path = path
        self._made_by = made_by
        self._before = self._read()
        self._headers: dict[str, Headers] = self._read_headers() if self._before.files else {}
        self._entries: dict[str, SiteFile] = {}
        self.num_written = self.num_kept = self.num_removed = 0
        # From now on the folder is recognized as a site, even if the export fails.
        write(self.path / INDEX, _json(self._before))

    def keep(
        self, file: str, still_lead: Callable[[Mapping[str, bool]], bool] = lambda _: True
    ) -> SiteFile | None:
        """Leave a permanent file unchanged; return its entry, or None if it has to be written.

        The file must exist, created with the same ``made_by``, and its links must still lead to the
        same pages.
        """
        entry = self._before.files.get(file)
        is_same = self._before.made_by == self._made_by and file in self._headers
        if entry is None or not (is_same and entry.permanent and (self.path / file).is_file()):
            return None
        if not still_lead(entry.links):
            return None
        self._entries[file] = entry
        self.num_kept += 1
        return entry

    def put(self, file: str, body: bytes, headers: Headers, entry: SiteFile) -> None:
        """Write a file unless it has this content already."""
        if write(self.path / file, body):
            self.num_written += 1
        else:
            self.num_kept += 1
        self._headers[file] = headers
        self._entries[file] = entry

    def earlier(self) -> Mapping[str, SiteFile]:
        """Return the files of earlier runs that still exist."""
        files = self._before.files.items()
        return {file: entry for file, entry in files if (self.path / file).is_file()}

    def finish(
        self, documents: Mapping[str, str], series: Mapping[str, Any], *, prune: bool
    ) -> None:
        """Write the headers and the index; with ``prune``, remove files that are not in it."""
        stale = {file: entry for file, entry in self.earlier().items() if file not in self._entries}
        if prune:
            self._remove(stale)
            stale = {}
        elif self._before.made_by != self._made_by:
            stale = {
                file: msgspec.structs.replace(entry, permanent=False)
                for file, entry in stale.items()
            }
        entries = {**stale, **self._entries}
        headers = {file: self._headers[file] for file in sorted(entries) if file in self._headers}
        write(self.path / HEADERS, _json(headers))
        write(self.path / RULES, rules(headers).encode())
        index = Index(
            made_by=self._made_by,
            documents=documents,
            series=series,
            files=dict(sorted(entries.items())),
        )
        write(self.path / INDEX, _json(index))

    def _remove(self, files: Mapping[str, SiteFile]) -> None:
        for file in files:
            path = self.path / file
            try:
                path.unlink(missing_ok=True)
                self.num_removed += 1
                for folder in path.relative_to(self.path).parents:
                    if folder.name and not any((self.path / folder).iterdir()):
                        (self.path / folder).rmdir()
            except OSError as error:
                raise OutputError(str(path), error.strerror or str(error)) from None

    def _read(self) -> Index:
        try:
            text = (self.path / INDEX).read_bytes()
        except FileNotFoundError:
            if self.path.is_dir() and any(self.path.iterdir()):
                raise InvalidArgument(
                    "FOLDER", f"{self.path} has files, and no {INDEX} that describes a site"
                ) from None
            return Index()
        except OSError as error:
            raise OutputError(str(self.path), error.strerror or str(error)) from None
        try:
            index = msgspec.json.decode(text, type=Index)
        except msgspec.DecodeError as error:
            index, reason = Index(format=""), f": {error}"
        else:
            reason = ""
        names = [Path(file) for file in index.files]
        if index.format != _FORMAT or any(
            name.is_absolute() or ".." in name.parts for name in names
        ):
            raise InvalidArgument("FOLDER", f"{self.path / INDEX} does not describe a site{reason}")
        return index

    def _read_headers(self) -> dict[str, Headers]:
        try:
            text = (self.path / HEADERS).read_bytes()
            return msgspec.json.decode(text, type=dict[str, Headers])
        except (OSError, msgspec.DecodeError):
            return {}


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
