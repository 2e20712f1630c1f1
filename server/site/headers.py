"""The headers of a site's files, as hosts of files read them.

``headers.json`` has those of each file, for what is uploaded with metadata (S3 and its like).
``_headers`` has those of each folder, for Netlify and Cloudflare Pages, which allow 100 rules:
https://docs.netlify.com/routing/headers/ and
https://developers.cloudflare.com/pages/configuration/headers/
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

Headers = Mapping[str, str]

MAX_RULES = 100
_CACHE_CONTROL = "cache-control"
_REVALIDATE = "no-cache"


def rules(headers: Mapping[str, Headers]) -> str:
    """Return the file ``_headers`` for the headers of files.

    Each folder has one rule, with what all of its files have; those of the documents have rules of
    their own as long as so many are allowed.
    """
    for depth in (2, 1):
        groups: defaultdict[str, list[Headers]] = defaultdict(list)
        for file in sorted(headers):
            groups[_folder(file, depth)].append(headers[file])
        if len(groups) <= MAX_RULES:
            break
    lines: list[str] = []
    for folder, several in groups.items():
        common = _common(several)
        lines += [folder, *(f"  {name}: {common[name]}" for name in sorted(common))]
    return "".join(f"{line}\n" for line in lines)


def _folder(file: str, depth: int) -> str:
    """Return the path of the rule that a file is meant by; no two rules mean one file."""
    first, *others = file.split("/")
    if not others:
        return "/" if file == "index.html" else f"/{file}"
    if depth > 1 and first == "graphql":
        return f"/graphql/{others[0]}/*"
    return f"/{first}/*"


def _common(several: Iterable[Headers]) -> dict[str, str]:
    first, *others = several
    common = {
        name: value for name, value in first.items() if all(it.get(name) == value for it in others)
    }
    # What some files may be kept by is no rule for all of them.
    return {_CACHE_CONTROL: _REVALIDATE} | common
