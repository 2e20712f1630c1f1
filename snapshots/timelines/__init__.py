"""What the kept changes of neighbours tell of hashes, packages and series through time; pure."""
