"""All pages, in one list."""

from server.pages.page import Page
from server.pages.views.home import home_view
from server.pages.views.series import series_view
from server.pages.views.spec import spec_view

PAGES = (
    Page("/", "home", view=home_view),
    Page("/series/{name}", "series", subject="series", view=series_view, table="series.revisions"),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
    Page(
        "/r/{ref}/specs/{hash}",
        "spec",
        subject="revision.spec",
        view=spec_view,
        table="neededBy.spec.dependents",
    ),
    Page("/hash", "hash_form", leads_to="/hash/{hash}"),
    Page("/hash/{hash}", "hash", subject="hash"),
)
