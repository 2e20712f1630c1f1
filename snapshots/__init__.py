"""The domain: build-cache descriptions in, immutable revisions kept, two of them compared."""
