"""Settings, and their environment variables."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from schema.limits import Limits
from snapshots.catalog.library import COMPARISON_BYTES, FRAME_BYTES
from snapshots.errors import InvalidArgument
from snapshots.sources.settings import Login, ReadSettings
from snapshots.texts import http_url

PREFIX = "CACHELOG_"

Text = Annotated[str, Meta(description="a text")]
Bytes = Annotated[int, Meta(ge=0, description="a whole number from 0")]
Count = Annotated[int, Meta(ge=1, description="a whole number from 1")]
Seconds = Annotated[float, Meta(gt=0, lt=3_600, description="a number of seconds below 3600")]
Switch = Annotated[bool, Meta(description="true or false")]
LogFormat = Annotated[Literal["text", "json"], Meta(description="text or json")]
Names = Annotated[tuple[str, ...], Meta(description="names separated by commas")]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings; each field is read from the variable CACHELOG_ and its name in capitals."""

    catalog: Text = "catalog"
    """The location of the catalog: a folder, or a URL of object storage."""

    response_cache: Bytes = 64 << 20
    """Bytes of cached responses; 0 disables the cache."""

    frame_cache: Bytes = FRAME_BYTES
    """Bytes of revisions in memory; their dependencies can take as much again."""

    comparison_cache: Bytes = COMPARISON_BYTES
    """Bytes of comparisons in memory; their explanations can take as much again."""

    refresh: Seconds = 1.0
    """Seconds between two checks for new revisions; at least 5 on object storage."""

    max_body: Bytes = 1 << 20
    """Bytes of a request's body."""

    max_cost: Count = Limits.max_cost
    """Units of cost of a request; see extensions.cost."""

    introspection: Switch = True
    """Whether the schema is available: to GraphiQL, at /schema.graphql, in suggestions."""

    public_url: Text = ""
    """The public address, such as https://example.org/cachelog/, for absolute links."""

    cors_origins: Names = ()
    """Origins whose pages can send requests (CORS), separated by commas; ``*`` for all."""

    access_log: Switch = True
    """Whether each request is logged."""

    log_format: LogFormat = "text"
    """The format of the log: text for people, or json, one object a line, for programs."""

    trusted_proxies: Names = ()
    """Peers trusted for X-Forwarded-For: addresses, networks."""

    metrics: Switch = True
    """Whether /metrics provides metrics for Prometheus."""

    cache_dir: Text = "~/.cache/cachelog"
    """The folder in which imports cache downloads; empty for none."""

    cache_bytes: Bytes = 4 << 30
    """Bytes of cached indexes, and as many of single specs."""

    s3_prefixes: Names = ()
    """URLs of buckets that are read over HTTPS: BUCKET=URL, separated by commas."""

    oci_user: Text = ""
    """The user for OCI registries that require a login."""

    oci_password: Text = ""
    """The password of that user, or a token."""

    recipes: Text = ""
    """The git repository of the recipes whose commits imports record: a path or URL."""

    recipes_url: Text = ""
    """Where its commits are shown: a URL on GitHub, GitLab or Gitea, or none."""

    cluster: Text = ""
    """The Ray cluster for bulk work, ray://HOST:PORT; empty for this machine."""

    notify: Names = ()
    """URLs that an import sends each new revision to, separated by commas."""

    notify_secret: Text = ""
    """The secret that signs these requests; empty for no signature."""

    def public_address(self) -> str:
        """Return the public address of the server, with a slash at its end; empty if not set.

        Raises InvalidArgument for an invalid address.
        """
        if not self.public_url:
            return ""
        url = http_url(self.public_url)
        if url is None or url.query or url.fragment:
            raise InvalidArgument(
                variable_of("public_url"),
                f"{self.public_url!r} is not an http:// or https:// address without ? and #",
            )
        return self.public_url.rstrip("/") + "/"

    def limits(self) -> Limits:
        """Return the limits of one request, of which that of the cost is a setting."""
        return Limits(max_cost=self.max_cost)

    def reading(self) -> ReadSettings:
        """Return the settings of an import.

        Raises InvalidArgument for a malformed prefix, an incomplete login, and a cache folder in
        the home of a user without one.
        """
        prefixes = {}
        for text in self.s3_prefixes:
            bucket, separator, url = text.partition("=")
            if not (bucket and separator and url.startswith("https://")):
                raise InvalidArgument(f"{PREFIX}S3_PREFIXES", f"{text!r} is not BUCKET=https://...")
            prefixes[bucket] = url
        return ReadSettings(
            cache_dir=self._cache_folder(),
            cache_bytes=self.cache_bytes,
            s3_prefixes=prefixes,
            oci_login=self._oci_login(),
        )

    def _cache_folder(self) -> Path | None:
        try:
            return Path(self.cache_dir).expanduser() if self.cache_dir else None
        except RuntimeError:
            reason = f"{self.cache_dir!r} is in a home folder, and the user has none"
            advice = "set an absolute path, or an empty text for no cache"
            raise InvalidArgument(variable_of("cache_dir"), f"{reason}: {advice}") from None

    def _oci_login(self) -> Login | None:
        user, password = variable_of("oci_user"), variable_of("oci_password")
        if bool(self.oci_user) != bool(self.oci_password):
            absent, present = (password, user) if self.oci_user else (user, password)
            raise InvalidArgument(absent, f"is needed with {present}")
        if ":" in self.oci_user:  # RFC 7617, 2
            raise InvalidArgument(user, "a user's name cannot contain a colon")
        return Login(self.oci_user, self.oci_password) if self.oci_user else None


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


RESERVED = ("CACHELOG_TEST_", "CACHELOG_BUILD_")
"""Prefixes of variables that are not settings: those of cachelog's own tests and builds."""

_KUBERNETES = re.compile(PREFIX + r"(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(TCP|UDP|SCTP)\w*)")
"""Variables that Kubernetes sets for a service named cachelog, in addition to CACHELOG_PORT."""


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises InvalidArgument for an invalid value, with its variable and the expected values, and for
    a variable that is not a setting, with the nearest one that is.
    """
    fields = {variable_of(field.name): field for field in msgspec.structs.fields(Settings)}
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable not in fields:
            _check_is_not_meant(variable, text, [*fields])
    values = {
        field.name: _value(variable, environ[variable], field.type)
        for variable, field in fields.items()
        if variable in environ
    }
    return Settings(**values)


def _value(variable: str, text: str, kind: Any) -> Any:
    value: str | list[str] = text
    if kind is Names:
        value = [name.strip() for name in text.split(",") if name.strip()]
    elif kind is Switch:
        value = {"yes": "true", "no": "false"}.get(text.lower(), text)
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        (meta,) = kind.__metadata__
        raise InvalidArgument(variable, f"{text!r} is not {meta.description}") from None


def _check_is_not_meant(variable: str, text: str, variables: list[str]) -> None:
    """Raise InvalidArgument for a variable that resembles a setting but is not one."""
    is_address = variable == f"{PREFIX}PORT" and "://" in text
    if variable.startswith(RESERVED) or _KUBERNETES.fullmatch(variable) or is_address:
        return
    (nearest,) = get_close_matches(variable.upper(), variables, n=1, cutoff=0.0)
    raise InvalidArgument(variable, f"is not a setting; the nearest is {nearest}")
