"""Commits of the recipe repository: what they touch, and which of them lie between two states.

docs/causes.md defines the terms. This module does not run git: it uses the stored results of
imports.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cached_property
from operator import attrgetter
from urllib.parse import quote, urlsplit

import msgspec

from snapshots.errors import InvalidArgument
from snapshots.texts import is_plain, quoted, short_digest

SWEEPING = 200
"""A commit that touches more packages than this is sweeping: it explains no package well."""

OID_PREFIX_MIN = 7
"""Minimum number of hexadecimal digits in an abbreviated commit hash."""

_PULL_REQUEST = re.compile(r"\(#([1-9]\d{0,8})\)\s*\Z", re.ASCII)
_OID = re.compile(rf"[0-9a-f]{{{OID_PREFIX_MIN},64}}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
"""The pins of Spack that can be linked. A pin is arbitrary text from a file of the repository."""


def without_pull_request(subject: str) -> str:
    """Return a subject without its trailing pull request, unless nothing else is left."""
    return _PULL_REQUEST.sub("", subject).rstrip() or subject


class SpackChange(msgspec.Struct, frozen=True):
    """The commits of Spack before and after; None if unknown, or if there was none."""

    before: str | None
    after: str | None


class Commit(msgspec.Struct, frozen=True, gc=False):
    """A commit and the packages and stacks that it touches; a merge touches nothing.

    ``package_of`` and ``stack_of`` determine these from paths. ``subject`` is the first line of the
    message, with invisible characters escaped. ``packages`` and ``stacks`` are sorted names.
    """

    oid: str
    parents: tuple[str, ...]
    committed_at: datetime
    subject: str
    packages: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    spack: SpackChange | None = None

    @property
    def pull_request(self) -> int | None:
        """The number of the pull request at the end of the subject, as in ``(#5277)``."""
        match = _PULL_REQUEST.search(self.subject)
        return int(match[1]) if match else None

    @property
    def is_sweeping(self) -> bool:
        """Whether the commit touches more than ``SWEEPING`` packages."""
        return len(self.packages) > SWEEPING

    @property
    def order(self) -> tuple[bool, float, str]:
        """The sort key: newest first, sweeping commits after all others."""
        return self.is_sweeping, -self.committed_at.timestamp(), self.oid


# -- links


class Links(msgspec.Struct, frozen=True):
    """URL templates: of a commit, with ``{hash}``, and of a pull request, with ``{number}``.

    The template of a comparison of two commits of Spack has ``{before}`` and ``{after}``. ``name``
    is that of the repository, without its owner and host.
    """

    commit_template: str | None = None
    pull_request_template: str | None = None
    spack_template: str | None = None
    name: str = "recipes"

    def reference(self, commit: Commit) -> str:
        """Return the pull request of a commit, or else its hash: spack-packages#5277."""
        number = commit.pull_request
        return short_digest(commit.oid) if number is None else f"{self.name}#{number}"

    def commit(self, oid: str) -> str | None:
        """Return the URL of a commit; None without a template."""
        template = self.commit_template
        return None if template is None else template.replace("{hash}", oid)

    def pull_request(self, number: int) -> str | None:
        """Return the URL of a pull request; None without a template."""
        template = self.pull_request_template
        return None if template is None else template.replace("{number}", str(number))

    def spack(self, change: SpackChange) -> str | None:
        """Return the URL of a comparison of two commits of Spack.

        None without a template, or if a side is unknown or not the name of a commit, branch or tag.
        """
        template, sides = self.spack_template, (change.before or "", change.after or "")
        if template is None or not all(map(_REF.fullmatch, sides)):
            return None
        before, after = (quote(name, safe="") for name in sides)
        return template.replace("{before}", before).replace("{after}", after)


SPACK_COMPARE = "https://github.com/spack/spack/compare/{before}...{after}"
"""The comparison of two commits of Spack, which is on GitHub regardless of the recipes' forge."""

_FORGES = {
    "github": ("{base}/commit/{{hash}}", "{base}/pull/{{number}}"),
    "gitlab": ("{base}/-/commit/{{hash}}", "{base}/-/merge_requests/{{number}}"),
    "gitea": ("{base}/commit/{{hash}}", "{base}/pulls/{{number}}"),
}
_FORGE_OF_LABEL = {**{name: name for name in _FORGES}, "codeberg": "gitea", "forgejo": "gitea"}
_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?([A-Za-z0-9.-]+\.[A-Za-z]+):(?!/)(.+)")
_ADDRESS = re.compile(r"https?://[^\s\"'<>\\{}]+")


def links_of(setting: str, repository: str) -> Links:
    """Return the link templates for a repository's commits, from the setting CACHELOG_RECIPES_URL.

    If the setting is empty, they follow from the repository's URL, provided that its host name
    contains GitHub, GitLab, Gitea, Forgejo or Codeberg. Otherwise, it is ``none``, the URL of a
    repository on such a host, or ``FORGE:URL`` for another host. Raises InvalidArgument.
    """
    name = _name_of(repository)
    if setting == "none":
        return Links(name=name)
    if not setting:
        base = _web_address(repository) or ""
        return _of_forge(base, _forge_of(base), name)
    prefix, _, base = setting.partition(":")
    forge: str | None = prefix
    if prefix not in _FORGES:
        forge, base = _forge_of(setting), setting
    if not _ADDRESS.fullmatch(base) or not forge:
        known = ", ".join(_FORGES)
        reason = f"{quoted(setting)} is neither none nor a URL on a forge ({known})"
        raise InvalidArgument("CACHELOG_RECIPES_URL", reason)
    return _of_forge(base.rstrip("/").removesuffix(".git"), forge, _name_of(base))


def _name_of(repository: str) -> str:
    """Return the last part of a path or URL; a default if it is no usual name."""
    last = re.split(r"[/:\\]", repository.rstrip("/").removesuffix(".git"))[-1]
    return last if _REF.fullmatch(last) else Links().name


def _of_forge(base: str, forge: str | None, name: str) -> Links:
    if forge is None:
        return Links(spack_template=SPACK_COMPARE, name=name)
    commit, pull_request = (template.format(base=base) for template in _FORGES[forge])
    return Links(commit, pull_request, SPACK_COMPARE, name)


def _web_address(repository: str) -> str | None:
    """Return the URL of a repository's web page; None for a folder."""
    match = _SCP_LIKE.fullmatch(repository)
    address = f"https://{match[1]}/{match[2]}" if match else repository
    if not _ADDRESS.fullmatch(address):
        return None
    return address.rstrip("/").removesuffix(".git")


def _forge_of(base: str) -> str | None:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:
        return None
    labels = host.split(".")
    return next((_FORGE_OF_LABEL[label] for label in labels if label in _FORGE_OF_LABEL), None)


# -- the commits between two commits


class RecipesOrigin(Enum):
    """How the recipes of a revision were found.

    - GIVEN: They were given.
    - REF: By a ref that is named after the tag.
    - DATE: By date: the last commit of the default branch until then.
    """

    GIVEN = "given"
    REF = "ref"
    DATE = "date"


class Recipes(msgspec.Struct, frozen=True):
    """The recipe commit of a revision.

    ``repository`` is the path or URL as specified, without credentials. ``line`` distinguishes
    histories of one repository that have no commits in common, as before and after a rewrite: it
    is the number of earlier histories.
    """

    repository: str
    commit: str
    found_by: RecipesOrigin
    line: int = 0

    @property
    def source(self) -> tuple[str, int]:
        """The repository and its line: the scope of a comparison. Ignores a trailing ``.git``."""
        return self.repository.rstrip("/").removesuffix(".git"), self.line


class Between(msgspec.Struct, frozen=True):
    """The commits between two recipe commits, each list in the order of ``Commit.order``.

    ``reached`` are reachable from head's commit but not from base's, ``taken_back`` from base's but
    not from head's.
    """

    reached: Sequence[Commit] = ()
    taken_back: Sequence[Commit] = ()

    def touching(self, package: str) -> list[Commit]:
        """Return the commits that changed the recipe of a package, without sweeping ones."""
        return [
            commit
            for commit in self.reached
            if package in commit.packages and not commit.is_sweeping
        ]


class CommitGraph:
    """The stored commits of one repository.

    These are the commits that are reachable from some revision's commit but not from all of them.
    They include every commit that is reachable from only one of any two revisions' commits.
    """

    def __init__(self, commits: Iterable[Commit]) -> None:
        self.commits: Mapping[str, Commit] = {commit.oid: commit for commit in commits}

    def missing_parents(self) -> set[str]:
        """Return the parents of stored commits that are not stored themselves.

        They are reachable from all revisions' commits. A shallow clone may lack them.
        """
        parents = {parent for commit in self.commits.values() for parent in commit.parents}
        return parents - self.commits.keys()

    def between(self, base: str, head: str) -> Between:
        """Return the commits between two revisions' commits, without merges."""
        if base == head:
            return Between()
        # As in git: walk from the newest commit until all remaining ones are reachable from both.
        heights = self._heights
        colours: dict[str, int] = defaultdict(int)
        queue: list[tuple[int, str]] = []
        num_one_sided = 0
        for oid, colour in ((base, 1), (head, 2)):
            if oid in heights:
                colours[oid] = colour
                heapq.heappush(queue, (-heights[oid], oid))
                num_one_sided += 1
        sides: dict[int, list[Commit]] = {1: [], 2: [], 3: []}
        while queue and num_one_sided:
            _, oid = heapq.heappop(queue)
            colour, commit = colours[oid], self.commits[oid]
            num_one_sided -= colour != 3
            if len(commit.parents) < 2:
                sides[colour].append(commit)
            for parent in commit.parents:
                if parent not in heights:
                    continue
                before = colours[parent]
                if before == 0:
                    heapq.heappush(queue, (-heights[parent], parent))
                colours[parent] = before | colour
                num_one_sided += (before | colour in (1, 2)) - (before in (1, 2))
        return Between(*(sorted(sides[colour], key=attrgetter("order")) for colour in (2, 1)))

    @cached_property
    def _heights(self) -> dict[str, int]:
        """A number for each commit that is greater than those of its parents."""
        num_children: dict[str, int] = defaultdict(int)
        for commit in self.commits.values():
            for parent in commit.parents:
                num_children[parent] += 1
        pending = [oid for oid in self.commits if oid not in num_children]
        height = len(self.commits)
        heights: dict[str, int] = {}
        while pending:
            oid = pending.pop()
            heights[oid] = height
            height -= 1
            for parent in self.commits[oid].parents:
                num_children[parent] -= 1
                if not num_children[parent] and parent in self.commits:
                    pending.append(parent)
        return heights


def is_oid_prefix(text: str) -> bool:
    """Return whether a text can be a commit's hash or an abbreviation of one."""
    return is_plain(text) and _OID.fullmatch(text) is not None
