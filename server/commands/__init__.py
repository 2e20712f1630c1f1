"""The commands of ``cachelog``, grouped by subject."""
