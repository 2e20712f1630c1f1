"""All pages, in one list."""

from server.pages.page import Page
from server.pages.views import compare, coverage, notes
from server.pages.views.home import home_view
from server.pages.views.package import package_view
from server.pages.views.search import search_view
from server.pages.views.series import series_view
from server.pages.views.spec import spec_view

COMPARISON = "/compare/{base}...{head}"

PAGES = (
    Page("/", "home", view=home_view),
    Page("/series/{name}", "series", subject="series", view=series_view, table="series.revisions"),
    Page(
        "/search",
        "search",
        subject="revision",
        view=search_view,
        table="found.specs",
        instead=(("in", None),),  # of the whole catalog the newest, where there is no develop
    ),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
    Page(
        "/r/{ref}/packages/{name}",
        "package",
        subject="revision.package",
        view=package_view,
        table="revision.package.specs",
    ),
    Page(
        "/r/{ref}/stacks/{name}",
        "stack",
        subject="revision.stack",
        table="revision.stack.packages",
    ),
    Page(
        "/r/{ref}/specs/{hash}",
        "spec",
        subject="revision.spec",
        view=spec_view,
        table="neededBy.spec.dependents",
    ),
    Page("/hash", "hash_form", leads_to="/hash/{hash}"),
    Page("/hash/{hash}", "hash", subject="hash"),
    Page("/compare", "compare_pickers", leads_to=COMPARISON, table="revisions"),
    Page(COMPARISON, "compare", subject="compare", view=compare.why, table="compare.causes"),
    Page(
        f"{COMPARISON}/causes/{{package}}",
        "compare_cause",
        subject="compare.cause",
        view=compare.cause,
        table="compare.cause.specs",
    ),
    Page(
        f"{COMPARISON}/packages",
        "compare_packages",
        subject="compare",
        view=compare.packages,
        table="compare.packages",
    ),
    Page(
        f"{COMPARISON}/specs",
        "compare_specs",
        subject="compare",
        view=compare.specs,
        table="compare.specs",
    ),
    Page(f"{COMPARISON}/stacks", "compare_stacks", subject="compare", table="compare.stacks"),
    Page(
        f"{COMPARISON}/coverage",
        "compare_coverage",
        subject="compare",
        view=coverage.matrix,
        table="compare.coverage",
    ),
    Page(f"{COMPARISON}/notes", "compare_notes", subject="compare", view=notes.notes),
    Page(
        f"{COMPARISON}/notes.md",
        "compare_notes_markdown",
        subject="compare",
        template="compare_notes.md",
    ),
)

TABS = tuple(
    tab
    for tab in (it.path.removeprefix(COMPARISON) for it in PAGES if it.path.startswith(COMPARISON))
    if "{" not in tab
)
"""What stands behind the address of a comparison: nothing for its causes, ``/packages``, others."""
