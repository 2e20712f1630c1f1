"""Webhooks: programs that are told over HTTP of each revision that is published."""
