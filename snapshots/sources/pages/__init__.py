"""Cache pages: one Markdown file per package and tag, as the build-cache site keeps them.

``_cache/TAG/PACKAGE/specs.md``: front matter with a ``meta`` summary and ``spec_details``, a list
with one object per spec. Pages of every year can be read except those of 2022, which hold no
hashes.
"""
