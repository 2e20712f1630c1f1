"""All pages, in one list."""

from server.pages.page import Page
from server.pages.views.spec import spec_view

PAGES = (
    Page("/", "home"),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
    Page(
        "/r/{ref}/specs/{hash}",
        "spec",
        subject="revision.spec",
        view=spec_view,
        table="neededBy.spec.dependents",
    ),
)
