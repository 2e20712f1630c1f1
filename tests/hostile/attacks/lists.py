"""Large responses to small documents: facets, and lists within lists."""

from collections.abc import Iterator

import orjson

from tests.hostile.attack import (
    Attack,
    Request,
    Target,
    about_revision,
    aliased,
    query,
    selecting,
    sending,
)


def _with_fragment(request: Request, kind: str, selected: str) -> Request:
    """Add the fragment L to the document of a request."""
    text = f"{orjson.loads(request.body)['query']} fragment L on {kind} {{ {selected} }}"
    return query(text)


def _package_of_each_spec(target: Target) -> Request:
    packages = about_revision(
        target, "specs(first:1000){nodes{" + aliased(50, "package{...L}") + "}}"
    )
    return _with_fragment(packages, "RevisionPackage", aliased(99, "versions") + " stackNames")


def _facets_and_leaves(target: Target) -> Request:
    """Multiply by fragments, which needs few tokens."""
    facets = about_revision(target, f"specs {{ facets {{ {aliased(200, 'stacks{...L}')} }} }}")
    return _with_fragment(facets, "FacetCount", aliased(100, "value"))


def _answers_that_do_not_compress(target: Target) -> Iterator[Request]:
    for coding in ("gzip", "zstd", "gzip, br, zstd;q=0.1"):
        made = about_revision(
            target, "specs(first: 1000) { nodes { " + aliased(12, "packageHash") + " } }"
        )
        yield made._replace(headers={**made.headers, "Accept-Encoding": coding})


ATTACKS = (
    Attack("facets x aliases", "200 facets of 100 aliases each", sending(_facets_and_leaves)),
    *selecting(
        about_revision,
        "a list under many aliases, on every object of a long list",
        {
            "variants x 300": "packages(first:1000){nodes{specs(first:1000){nodes{"
            + aliased(300, "variants")
            + "}}}}",
            "stacks x packages": "stacks{packages(first:1000){nodes{versions stackNames}}}",
            "there and back": "specs(first:1000){nodes{package{specs(first:1000){nodes{package"
            "{specs(first:1000){nodes{hash}}}}}}}}",
            "facets of each package": "packages(first:1000){nodes{specs(first:0){facets"
            "{versions{value}stacks{value}}}}}",
        },
    ),
    Attack("package of each spec", "50,000 packages of 100 lists", sending(_package_of_each_spec)),
    Attack("each coding", "large answers, compressed", sending(_answers_that_do_not_compress)),
)
