"""What stays in a catalog and what goes: policies, the dropping of revisions, and the cleaning."""
