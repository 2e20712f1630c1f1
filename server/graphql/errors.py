"""Requests that are refused before anything of GraphQL is looked at."""


class BadRequest(Exception):
    """A request that cannot be answered; ``status`` and ``code`` say why to programs."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "BAD_REQUEST",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.message = message
        self.status = status
        self.code = code
        self.headers = headers
        super().__init__(message)
