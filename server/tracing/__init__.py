"""Spans of what a process does, for OpenTelemetry; nothing of it is imported where it is off."""
