"""All pages, in one list."""

from server.pages.page import Page

PAGES = (
    Page("/", "home"),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
)
