"""From a cause to the commits of the recipes' repository that explain it: docs/commits.md."""
