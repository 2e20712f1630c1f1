"""An emulator of S3: ``python -m tests.snapshots.catalog.s3_emulator PORT``.

It is moto's, without what ``moto.server`` puts before it: that finds out which of all services is
meant, and looks through moto's folder for each request.
"""

import sys

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple


class KeepingHandler(MotoRequestHandler):
    """Keeps connections open, as S3 does: each is a thread, and they are many."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer is sent as a whole, not a header at a time
    disable_nagle_algorithm = True


def main(port: int) -> None:
    """Serve on 127.0.0.1 until the process is ended."""
    app = create_backend_app("s3")
    run_simple("127.0.0.1", port, app, threaded=True, request_handler=KeepingHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
