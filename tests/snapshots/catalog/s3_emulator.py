"""An S3 emulator: ``python -m tests.snapshots.catalog.s3_emulator PORT``.

It is moto's, without the slow layer of ``moto.server`` that finds the service. Between ``POST``
and ``DELETE`` of ``/-/failing`` or ``/-/unconditional``, requests fail, or overwrite any object.
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


class PersistentHandler(MotoRequestHandler):
    """Keeps connections open, like S3; each has a thread."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # a response is sent at once, not one header at a time
    disable_nagle_algorithm = True


class Faulty:
    """Fails like S3, or ignores If-None-Match like some emulators, while a fault is set."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app
        self._faults = {FAILING: False, UNCONDITIONAL: False}

    def __call__(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        """Respond to a request."""
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
    """Serve on 127.0.0.1 until the process is terminated."""
    app = Faulty(create_backend_app("s3"))
    run_simple("127.0.0.1", port, app, threaded=True, request_handler=PersistentHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
