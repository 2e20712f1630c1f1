"""Tracing with OpenTelemetry, which is imported only if tracing is enabled."""
