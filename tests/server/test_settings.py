"""Settings: each field has a variable, and errors state the variable and its value."""

from typing import Any

import pytest
from msgspec.structs import fields, replace

from server.settings import (
    PREFIX,
    Bytes,
    Count,
    LogFormat,
    Names,
    Seconds,
    Settings,
    Switch,
    Text,
    settings_from,
)
from snapshots.errors import InvalidArgument

EXAMPLES: dict[Any, tuple[str, Any]] = {
    Text: ("s, e", "s, e"),
    Bytes: ("7", 7),
    Count: ("7", 7),
    Seconds: ("1.75", 1.75),
    LogFormat: ("json", "json"),
    Names: ("https://a.example, ::1,", ("https://a.example", "::1")),
}
"""For each type but switches, a text and the value that it is parsed to."""


def example(name: str) -> tuple[str, Any]:
    """Return a text for a setting, and the value that it is parsed to, which is not the default."""
    (field,) = (field for field in fields(Settings) if field.name == name)
    if field.type == Switch:
        return ("no", False) if field.default else ("yes", True)
    return EXAMPLES[field.type]


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_setting_is_read_from_its_variable(name: str) -> None:
    """CACHELOG_ and its name in capitals; the other settings have their defaults."""
    text, value = example(name)
    expected = replace(Settings(), **{name: value})
    assert settings_from({PREFIX + name.upper(): text, "OTHER": "x"}) == expected != Settings()


INVALID = {
    "RESPONSE_CACHE": ["-1", "1.5", "1 GB", "", "nan"],
    "LOG_FORMAT": ["", "xml"],
    "MAX_COST": ["0", "x"],
    "REFRESH": ["0", "-1", "nan", "inf", "3600", "fast", ""],
    "ACCESS_LOG": ["", "maybe", "2"],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in INVALID.items() for text in texts]
)
def test_invalid_value_is_an_error(name: str, text: str) -> None:
    """The error states the variable, the value and what is expected."""
    with pytest.raises(InvalidArgument) as error_info:
        settings_from({PREFIX + name: text})
    assert error_info.value.name == PREFIX + name
    assert str(error_info.value).startswith(f"{PREFIX}{name}: {text!r} is not ")


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("CACHELOG_CATALGO", "CACHELOG_CATALOG"),
        ("CACHELOG_CORS_ORIGIN", "CACHELOG_CORS_ORIGINS"),
        ("CACHELOG_RESPONSE_CACHE_BYTES", "CACHELOG_RESPONSE_CACHE"),
        ("CACHELOG_max_body", "CACHELOG_MAX_BODY"),
        ("CACHELOG_REFRSH", "CACHELOG_REFRESH"),
        ("CACHELOG_PORT", ""),  # an option of ``cachelog serve``, and a variable of Kubernetes
    ],
)
def test_unknown_variable_is_an_error(variable: str, nearest: str) -> None:
    """A misspelt variable would be ignored otherwise; the error states the nearest one."""
    with pytest.raises(InvalidArgument) as error_info:
        settings_from({variable: "8000"})
    assert str(error_info.value).startswith(
        f"{variable}: is not a setting; the nearest is {nearest}"
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CACHELOG_TEST_DATA", "data"),
        ("CACHELOG_BUILD_VERSION", "1.2"),
        ("CACHELOG_SERVICE_HOST", "10.0.0.11"),
        ("CACHELOG_SERVICE_PORT", "8000"),
        ("CACHELOG_SERVICE_PORT_HTTP", "8000"),
        ("CACHELOG_PORT", "tcp://10.0.0.11:8000"),
        ("CACHELOG_PORT_8000_TCP", "tcp://10.0.0.11:8000"),
        ("CACHELOG_PORT_8000_TCP_ADDR", "10.0.0.11"),
        ("_CACHELOG_COMPLETE", "complete_bash"),
    ],
)
def test_variables_of_other_programs_are_ignored(variable: str, text: str) -> None:
    """Those of tests, of builds, and of Kubernetes for a service named cachelog."""
    assert settings_from({variable: text}) == Settings()


ADDRESSES = ("a.example", "ftp://a.e/", "https://", "https://a.e/?x", "http://[/", "http://x:y")
PREFIXES = ("bucket", "=https://x.example", "bucket=http://x.example")
PASSWORD = "a:b"  # noqa: S105 - fake
UNUSABLE: tuple[tuple[Any, dict[str, Any], str], ...] = (
    *((Settings.public_address, {"public_url": text}, "PUBLIC_URL: ") for text in ADDRESSES),
    *((Settings.reading, {"s3_prefixes": (text,)}, "S3_PREFIXES") for text in PREFIXES),
    (Settings.reading, {"oci_user": "reader"}, "OCI_PASSWORD: is needed with CACHELOG_OCI_USER"),
    (Settings.reading, {"oci_password": PASSWORD}, "OCI_USER: is needed with CACHELOG_OCI_PASS"),
    (Settings.reading, {"oci_user": "a:c", "oci_password": PASSWORD}, "OCI_USER: .* a colon"),
    (Settings.reading, {"cache_dir": "~nobody-of-this-name/cache"}, "CACHE_DIR: .* user has none"),
)


@pytest.mark.parametrize(("read", "values", "reason"), UNUSABLE)
def test_unusable_settings_are_errors(read: Any, values: dict[str, Any], reason: str) -> None:
    """The error states the variable and what is expected, but no password."""
    with pytest.raises(InvalidArgument, match=f"^CACHELOG_{reason}") as error_info:
        read(Settings(**values))
    assert PASSWORD not in str(error_info.value)
