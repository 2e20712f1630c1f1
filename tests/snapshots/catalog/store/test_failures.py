"""Messages about failures of a store."""

import pytest

from snapshots.catalog.storage import reason_of, translated
from snapshots.errors import CatalogError

_ARROW = "\n   \x1b[31m↳\x1b[0m "


def outage(seconds: str) -> OSError:
    """Return the error of a store without a server."""
    return OSError(
        f"Kernel error -> Generic S3 error{_ARROW}Error performing GET http://127.0.0.1:1/b/c/"
        f"revisions/_delta_log/_last_checkpoint in {seconds}, after 10 retries, max_retries"
        f"{_ARROW}10, retry_timeout{_ARROW}180s  - HTTP error{_ARROW}error sending request"
        f"{_ARROW}tcp connect error{_ARROW}Connection refused (os error 111)\n"
    )


def test_message_of_an_outage() -> None:
    """It contains the cause, but no durations and terminal codes: it is the same each time."""
    text = reason_of(outage("2.671420252s"))
    assert text == reason_of(outage("301.5ms"))
    assert text == (
        "Generic S3 error: Error performing GET http://127.0.0.1:1/b/c/revisions/_delta_log/"
        "_last_checkpoint - HTTP error: error sending request: tcp connect error: "
        "Connection refused (os error 111)"
    )


@pytest.mark.parametrize("request_id", ["3k89yDkz", "Zn286"])
def test_error_in_xml(request_id: str) -> None:
    """The code and message of an object store's error are shown, but not the id of the request."""
    error = OSError(
        f"Kernel error -> Generic S3 error{_ARROW}Error performing GET http://s3/nobucket?list"
        f"-type=2&prefix=c%2F in 8.4ms - Server returned non-2xx status code{_ARROW}404 Not Found"
        f'{_ARROW}<?xml version="1.0" encoding="utf-8"?>\n<Error><Code>NoSuchBucket</Code>'
        f"<Message>The bucket does not exist</Message><RequestId>{request_id}</RequestId></Error>\n"
    )
    assert reason_of(error) == (
        "Generic S3 error: Error performing GET http://s3/nobucket - Server returned non-2xx "
        "status code: 404 Not Found: NoSuchBucket, The bucket does not exist"
    )


def test_long_message_is_shortened() -> None:
    """The middle is removed: the cause is at the end."""
    text = reason_of(OSError(f"at the start {'x' * 5_000} the cause"))
    assert len(text) < 500
    assert text.startswith("at the start")
    assert text.endswith("the cause")


def test_error_without_a_message() -> None:
    """An error without a message is named by its class."""
    with pytest.raises(CatalogError) as caught, translated("s3://b/c"):
        raise TimeoutError
    assert str(caught.value) == "catalog s3://b/c: TimeoutError"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            OSError(
                "Kernel error: Json error: Encountered 'g'\n   0: <unknown>\n   1: start_thread"
            ),
            "Json error: Encountered 'g'",
        ),
        (
            OSError(28, "No space left on device", "/c/specs/a"),
            "/c/specs/a: No space left on device",
        ),
        (
            OSError(
                "Generic LocalFileSystem error: Unable to copy data to file: "
                "No space left on device"
            ),
            "Unable to copy data to file: No space left on device",
        ),
        (
            OSError(
                "Could not create local directory: /c/specs\nError: Os { code: 30, kind: "
                'ReadOnlyFilesystem, message: "Read-only file system" }'
            ),
            "Could not create local directory: /c/specs: Read-only file system",
        ),
        (
            OSError("loading credentials: failed to load IMDS session token: forbidden."),
            "loading credentials: failed to load IMDS session token: forbidden; "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        (
            OSError("HTTP error: builder error: URL scheme is not allowed"),
            "HTTP error: builder error: URL scheme is not allowed; "
            "set AWS_ALLOW_HTTP=true for an http:// endpoint",
        ),
    ],
)
def test_reasons(error: OSError, text: str) -> None:
    """They contain the file and the cause, without codes and backtraces, and a missing variable."""
    assert reason_of(error) == text
