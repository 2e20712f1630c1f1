"""The pages people look at: each is one GraphQL document, run in process, and a template.

``routes`` lists them. A page is added by a document in ``queries``, a template in ``templates``
and one line in that list; the variables that the document declares are the page's parameters.
"""
