"""One revision in memory: columns of codes, questions answered by arithmetic on them."""
