"""``python -m cachelog`` is the command line, as ``cachelog`` is.

The build installs this file as the module ``cachelog`` too: what stands at the top level of the
source has other names.
"""

from server.cli import main

if __name__ == "__main__":
    main()
