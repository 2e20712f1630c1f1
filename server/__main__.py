"""``cachelog``, and ``python -m cachelog``: the command line.

The build also installs this file as the module ``cachelog``. The top-level packages of the source
have other names.
"""

import gc
import os
import sys
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

from snapshots.program import importer_name

_YOUNG_OBJECTS = 10_000
"""The number of new objects after which they are examined for cycles; Python's default is 700.

By the default, a sixth of the start of a server would be spent on modules, which all remain.
"""


def main() -> None:
    """Run the command line.

    While it is being imported, Ctrl+C ends the process immediately. There is nothing to clean up,
    and a traceback would only show which module was being imported.
    """
    gc.set_threshold(_YOUNG_OBJECTS)
    if sys.argv[1:] == ["--version"]:  # without importing all options
        print(importer_name())
        return
    is_ours = getsignal(SIGINT) is default_int_handler
    if is_ours:
        signal(SIGINT, SIG_DFL)
    from server import cli

    if is_ours:
        signal(SIGINT, default_int_handler)
    try:
        cli.main()
    except SystemExit as leaving:
        if leaving.code == cli.INTERRUPTED and "daft" in sys.modules:
            sys.stdout.flush()
            os._exit(cli.INTERRUPTED)  # Daft's threads would abort the process while it cleans up
        raise


if __name__ == "__main__":
    main()
