"""An emulator of S3: ``python -m tests.snapshots.catalog.s3_emulator PORT``.

It is moto's, without what ``moto.server`` puts before it: that finds out which of all services is
meant, and looks through moto's folder for each request. ``POST /-/failing`` lets every request
fail with status 503 until ``DELETE /-/failing``; after ``POST /-/unconditional`` no object is kept
from being replaced, until ``DELETE``. The log has the range that a request asks for.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple
from werkzeug.wrappers import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

FAILING, UNCONDITIONAL = "/-/failing", "/-/unconditional"


class KeepingHandler(MotoRequestHandler):
    """Keeps connections open, as S3 does: each is a thread, and they are many."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer is sent as a whole, not a header at a time
    disable_nagle_algorithm = True


class Faulty:
    """Fails as S3 does, or ignores If-None-Match as some emulators do, while a fault is set."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app
        self._faults = {FAILING: False, UNCONDITIONAL: False}

    def __call__(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        """Answer a request."""
        if environ["PATH_INFO"] in self._faults:
            self._faults[environ["PATH_INFO"]] = environ["REQUEST_METHOD"] == "POST"
            return Response(status=204)(environ, start)
        if self._faults[UNCONDITIONAL]:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if self._faults[FAILING]:
            text = "<Error><Code>ServiceUnavailable</Code><Message>Out of order</Message></Error>"
            return Response(text, 503, content_type="application/xml")(environ, start)
        return self._app(environ, start)


def main(port: int) -> None:
    """Serve on 127.0.0.1 until the process is ended."""
    app = Faulty(create_backend_app("s3"))
    run_simple("127.0.0.1", port, app, threaded=True, request_handler=KeepingHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
