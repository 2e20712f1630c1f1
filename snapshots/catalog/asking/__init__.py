"""What is asked of a catalog, answered from memory where that is possible."""
