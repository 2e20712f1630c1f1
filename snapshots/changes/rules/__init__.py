"""Rules that a comparison, or one revision, is judged by: records, their file, and the verdict."""
