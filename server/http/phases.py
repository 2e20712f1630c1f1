"""The parts of a request, as a connection waits for them one after the other."""

from enum import Enum, auto


class Phase(Enum):
    """Which part of a request a connection waits for."""

    START = auto()
    HEAD = auto()
    BODY = auto()
    NONE = auto()
    """The last request was read to its end."""

    CLOSING = auto()
    """What the client still sends does not matter."""
