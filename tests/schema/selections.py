"""Parts of documents, for tests that put very many of them together."""


def times(count: int, part: str) -> str:
    """Return a selection as often as that, under other names."""
    return " ".join(f"a{number}: {part}" for number in range(count))


REVISION = "{ revision { %s } }"
FACETS = "specs(first: 0) { facets { %s } }"
PACKAGES = "packages { %s }"
SPEC = 'spec(hash: "a") { %s }'
PAGE = "specs(first: 1000) { nodes { %s } }"
COMPARE = '{ compare(base: "a", head: "b") { %s } }'
