"""Spack's own notions: names, versions, spellings, and its query language."""
