"""The API as it is where nobody sets anything."""

from schema.api import API

api = API()
