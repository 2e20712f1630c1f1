"""The HTML pages: each is a GraphQL document, executed in this process, and a template.

``routes`` lists them. To add a page, add a document to ``queries``, a template to ``templates`` and
an entry to that list; the variables that the document declares are the page's parameters.
"""
