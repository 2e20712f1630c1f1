"""All pages, in one list."""

from server.pages.page import Page
from server.pages.views.home import home
from server.pages.views.series import series

PAGES = (
    Page("/", "home", view=home),
    Page("/series/{name}", "series", subject="series", view=series, table="series.revisions"),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
)
