"""Cache pages: one Markdown file per package and tag, as on the build-cache website.

``_cache/TAG/PACKAGE/specs.md`` has a front matter with a ``meta`` summary and ``spec_details``, a
list with one object per spec. Pages of every year are supported except those of 2022, which have no
hashes.
"""
