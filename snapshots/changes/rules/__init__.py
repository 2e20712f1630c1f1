"""Rules for comparisons and revisions: records, rule files, and the verdict."""
