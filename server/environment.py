"""Settings in the environment: read from CACHELOG_* variables, and written as such."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from server.settings import PREFIX, Names, Settings, Switch, variable_of
from snapshots.errors import InvalidArgument

RESERVED = ("CACHELOG_TEST_", "CACHELOG_BUILD_")
"""How variables begin that are no settings: those of cachelog's own tests and of its build."""

_KUBERNETES = re.compile(PREFIX + r"(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(TCP|UDP|SCTP)\w*)")
"""What Kubernetes sets in each container beside a service named cachelog, and CACHELOG_PORT."""


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises InvalidArgument for a value that cannot be used, with its variable and what is expected,
    and for a variable that is no setting, with the nearest that is one.
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


def environ_of(settings: Settings) -> dict[str, str]:
    """Return the variables that ``settings_from`` reads these settings from."""
    variables = {}
    for field in msgspec.structs.fields(Settings):
        value = getattr(settings, field.name)
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        variables[variable_of(field.name)] = text
    return variables


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


def _check_is_not_meant(variable: str, text: str, known: list[str]) -> None:
    """Raise InvalidArgument for a variable that looks like a setting and is none."""
    is_address = variable == f"{PREFIX}PORT" and "://" in text
    if variable.startswith(RESERVED) or _KUBERNETES.fullmatch(variable) or is_address:
        return
    (nearest,) = get_close_matches(variable.upper(), known, n=1, cutoff=0.0)
    raise InvalidArgument(variable, f"is no setting; the nearest is {nearest}")
