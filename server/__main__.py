"""``cachelog``, and ``python -m cachelog``, are the command line.

The build installs this file as the module ``cachelog`` too: what stands at the top level of the
source has other names.
"""

import os
import sys
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal


def main() -> None:
    """Run the command line.

    While it is being loaded Ctrl+C ends the process at once: there is nothing to put in order, and
    nobody wants to know which module was read.
    """
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
