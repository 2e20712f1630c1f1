"""Readers of build caches: by an index, without an index, and by a list of tags and stacks.

An index is a database of Spack, of versions 5 to 9, which an installation also has. Build caches
have layout 2 or 3, the latter also without an index. The list is that of a public cache. All are
in folders or at http(s):// and s3:// URLs. A build cache can also be a repository of an OCI
registry, at an oci:// or oci+http:// URL.
"""
