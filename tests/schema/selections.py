"""Parts of documents, for tests that combine many of them."""


def times(count: int, part: str) -> str:
    """Return a selection repeated under different aliases."""
    return " ".join(f"a{number}: {part}" for number in range(count))


REVISION = "{ revision { %s } }"
FACETS = "specs(first: 0) { facets { %s } }"
PACKAGES = "packages { %s }"
SPEC = 'spec(hash: "a") { %s }'
PAGE = "specs(first: 1000) { nodes { %s } }"
COMPARE = '{ compare(base: "a", head: "b") { %s } }'
