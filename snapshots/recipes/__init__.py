"""Attribution of a comparison's causes to commits of the recipe repository: docs/causes.md."""
