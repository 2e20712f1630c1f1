"""Things that are made once, however many wait for them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from server.asgi.errors import BadRequest
from server.asgi.makings import Makings


class Workshop:
    """Makes a text when it is let; counts what was begun and what was ended early."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.num_begun = 0
        self.num_cancelled = 0

    async def make(self) -> str:
        """Return a text as soon as it is released."""
        self.num_begun += 1
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        return "made"


def run(test: Callable[[Workshop], Awaitable[None]]) -> None:
    """Run a test in an event loop."""

    async def running() -> None:
        async with asyncio.timeout(20):
            await test(Workshop())

    asyncio.run(running())


def test_it_is_made_once_for_all_who_wait() -> None:
    """What is asked for later is made anew: keeping it is for others."""

    async def test(shop: Workshop) -> None:
        makings: Makings[str] = Makings("page", outlasts=False)
        waiting = [asyncio.create_task(makings.value("a", shop.make)) for _ in range(9)]
        other = asyncio.create_task(makings.value("b", shop.make))
        await asyncio.sleep(0)
        assert "a" in makings
        shop.release.set()
        assert await asyncio.gather(*waiting, other) == ["made"] * 10
        assert shop.num_begun == 2
        assert "a" not in makings
        assert await makings.value("a", shop.make) == "made"
        assert shop.num_begun == 3

    run(test)


@pytest.mark.parametrize("outlasts", [True, False])
def test_who_hangs_up_takes_it_from_nobody(outlasts: bool) -> None:
    """Where all have, it goes on only if it is to be kept for the next one."""

    async def test(shop: Workshop) -> None:
        makings: Makings[str] = Makings("page", outlasts=outlasts)
        first, second = [asyncio.create_task(makings.value("a", shop.make)) for _ in range(2)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0.01)
        assert (shop.num_begun, shop.num_cancelled) == (1, 0)
        second.cancel()
        await asyncio.sleep(0.01)
        assert shop.num_cancelled == (not outlasts)
        assert ("a" in makings) is outlasts
        shop.release.set()
        assert await makings.value("a", shop.make) == "made"
        assert shop.num_begun == (1 if outlasts else 2)

    run(test)


def test_who_waited_long_is_told_to_come_back() -> None:
    """It goes on being made, so that they find it."""

    async def test(shop: Workshop) -> None:
        makings: Makings[str] = Makings("page", seconds=0.01, outlasts=False)
        with pytest.raises(BadRequest, match="this page is still being made") as caught:
            await makings.value("a", shop.make)
        assert caught.value.status == 503
        assert (b"retry-after", b"2") in caught.value.headers
        again = asyncio.create_task(makings.value("a", shop.make))
        await asyncio.sleep(0)
        shop.release.set()
        assert await again == "made"
        assert (shop.num_begun, shop.num_cancelled) == (1, 0)

    run(test)


def test_an_error_is_that_of_all_who_wait() -> None:
    """And of nobody who asks afterwards."""

    async def fails() -> str:
        await asyncio.sleep(0.01)
        raise KeyError("x")

    async def test(shop: Workshop) -> None:
        makings: Makings[str] = Makings("page", outlasts=False)
        found = await asyncio.gather(
            *(makings.value("a", fails) for _ in range(3)), return_exceptions=True
        )
        assert [type(it) for it in found] == [KeyError] * 3
        shop.release.set()
        assert await makings.value("a", shop.make) == "made"

    run(test)
