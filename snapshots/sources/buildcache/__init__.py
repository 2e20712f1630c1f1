"""A build cache's own description: an index, a build cache, a list of tags and stacks.

The index is a database of Spack's, of versions 5 to 9; build caches are of layout 2 or 3, and of
layout 3 also without an index; the list is what a public cache offers. All lie in folders or at
http(s):// and s3:// URLs. A build cache can also be a repository of an OCI registry, at an oci://
or oci+http:// URL. An installation has such a database, too.
"""
