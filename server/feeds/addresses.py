"""The addresses in feeds: those of feeds themselves, and of the pages that entries lead to."""

from urllib.parse import quote, urlencode

from snapshots.history import Neighbours

FEEDS = "feeds"
"""Where feeds are: below the root of a server, or below the address of a folder of files."""

SUFFIX = ".atom"


class FeedAddresses:
    """Addresses below those of a ``site`` of feeds and of a ``server`` with pages.

    Both end with a slash. Without a server no entry leads anywhere. ``has_pages`` says that there
    are further documents of a feed.
    """

    def __init__(self, site: str, server: str | None, *, has_pages: bool = True) -> None:
        self._site = site
        self._server = server
        self._has_pages = has_pages

    @classmethod
    def of_server(cls, package: str | None) -> "FeedAddresses":
        """Return those in a feed that a server sends: relative to the feed's own address.

        So they hold behind every proxy, and no client has a say in them.
        """
        root = "../" if package is None else "../../"
        return cls(f"{root}{FEEDS}/", root)

    @classmethod
    def of_files(
        cls, base_url: str | None, server_url: str | None, package: str | None
    ) -> "FeedAddresses":
        """Return those in a file; without a base they are relative to its own address."""
        relative = "" if package is None else "../"
        return cls(relative if base_url is None else base_url, server_url, has_pages=False)

    def feed(self, series: str, package: str | None, after: str | None = None) -> str | None:
        """Return where a feed is; None for a further document where there are none."""
        if after is not None and not self._has_pages:
            return None
        query = "" if after is None else "?" + urlencode({"after": after})
        return f"{self._site}{path_of(series, package)}{query}"

    def comparison(self, neighbours: Neighbours, package: str | None) -> str | None:
        """Return where people read what changed between two contents, for ever the same."""
        if self._server is None:
            return None
        base, head = neighbours
        if base is None:
            of_package = "" if package is None else f"/packages/{quote(package, safe='')}"
            return f"{self._server}r/{head.digest}{of_package}"
        pair = f"{self._server}compare/{base.digest}...{head.digest}"
        if package is None:
            return f"{pair}/notes"
        return f"{pair}/specs?{urlencode({'packages': package})}"


def path_of(series: str, package: str | None) -> str:
    """Return the path of a feed below that of all feeds."""
    names = [series] if package is None else [series, package]
    return "/".join(quote(name, safe="") for name in names) + SUFFIX


def parse_path(path: str) -> tuple[str, str | None] | None:
    """Return the series and the package that a path names, without its percent signs.

    None for a path that can be none of a feed. No series has a slash in its name.
    """
    if not path.endswith(SUFFIX):
        return None
    series, slash, package = path.removesuffix(SUFFIX).partition("/")
    if not series or (slash and not package):
        return None
    return series, package or None
