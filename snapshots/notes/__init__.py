"""Changes in readable form: release notes, feeds, and comments, with their JSON."""
