"""The API with default settings."""

from schema.api import API

api = API()
