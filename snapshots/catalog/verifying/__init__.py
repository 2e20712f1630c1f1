"""Everything in a catalog is read, and what does not fit is named, with what to do about it."""
