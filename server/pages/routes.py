"""All pages, in one list."""

from server.pages.page import Page
from server.pages.views.home import home_view
from server.pages.views.package import package_view
from server.pages.views.search import search_view
from server.pages.views.series import series_view
from server.pages.views.spec import spec_view

PAGES = (
    Page("/", "home", view=home_view),
    Page("/series/{name}", "series", subject="series", view=series_view, table="series.revisions"),
    Page(
        "/search",
        "search",
        subject="revision",
        view=search_view,
        table="found.specs",
        instead={"in": None},  # of the whole catalog the newest, where there is no develop
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
)
