"""GraphQL over HTTP.

``endpoint`` reads requests and sends responses, ``answers`` looks them up and caches them, and
``execution`` decides where work runs.
"""
