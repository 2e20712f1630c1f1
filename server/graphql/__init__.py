"""GraphQL over HTTP.

``endpoint`` reads and sends, ``answers`` looks up and keeps, ``execution`` decides where work runs.
"""
