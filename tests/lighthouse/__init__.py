"""Lighthouse on the pages of the demo."""
