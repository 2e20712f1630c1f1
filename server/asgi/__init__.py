"""Code that all endpoints share: request ids, lanes, limits, negotiation, ETags, codings."""
