"""Feeds that tell of each revision as it comes, in Atom (RFC 4287)."""
