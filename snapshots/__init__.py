"""The domain: reads descriptions of build caches, stores immutable revisions, and compares them."""
