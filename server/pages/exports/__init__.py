"""Tables whole: the rows of a page's own list, as lines of CSV or of JSON."""
