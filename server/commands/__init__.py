"""The commands of ``cachelog``, by what they are about."""
