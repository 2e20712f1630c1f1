"""What differs between two revisions, why, and what rules say of it."""
