"""Long headers, and floods of requests that fill caches."""

from collections.abc import Iterator

from tests.hostile.attack import Attack, Request, Target, fresh, query, sending

_TINY = "{ tags { name } }"


def _long_headers(_target: Target) -> Iterator[Request]:
    for name, text in (
        ("Content-Type", "application/json;charset=" + "u" * 50_000),
        ("Accept", "a/b;q=1," * 7_000),
        ("Accept-Encoding", "gzip;q=0.1," * 5_000),
    ):
        request = query(_TINY)
        yield request._replace(headers={**request.headers, name: text})


def _columns(target: Target) -> Iterator[Request]:
    kinds = ("versions", "compilers", "targets", "platforms", "operatingSystems", "stacks")
    fields = ("VERSION", "HASH", "COMPILER", "TARGET", "SIZE", "PACKAGE")
    for number in range(400):
        picked = [kind for bit, kind in enumerate(kinds) if number >> bit & 1]
        filters = ",".join(f'{kind}:["{fresh()}","linux"]' for kind in picked)
        order = f"{{field:{fields[number % 6]}}}"
        ref = target.digests[number % len(target.digests)]
        yield query(
            f'{{ revision(ref:"{ref}") {{ specs(first:5,orderBy:{order},filter:{{{filters}}})'
            "{ facets { versions { value } stacks { value } } nodes { hash } } } }"
        )


ATTACKS = (
    Attack("long headers", "lists of very many parts", sending(_long_headers)),
    Attack("flood: columns", "400 filters and orders", sending(_columns), True),
)
