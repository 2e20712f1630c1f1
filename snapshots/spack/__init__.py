"""Spack's domain: names, versions, notation, virtual packages, and the spec query language."""
