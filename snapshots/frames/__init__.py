"""One revision in memory: columns of codes, and queries evaluated by arithmetic on them."""
