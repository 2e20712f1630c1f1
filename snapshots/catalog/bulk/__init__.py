"""Work over many parts of a catalog: one function, mapped here, in processes or on a cluster."""
