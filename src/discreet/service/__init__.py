"""A release as a web service: histories come in, recommendations go out, and nothing is kept.

::

    asked      what a request may say, and the one sentence where it says something else
    ready      a release made ready: its scorer, names, search, certificate and page
    answers    from a request and a ready release to an answer
    swapping   the release at hand, exchanged for a new one while requests run
    app        the routes, with their OpenAPI description
    guard      around all of them: limits, rates, headers, counts, and logs without bodies
    workers    processes that share a port

Everything about a user is in the request. Nothing of it is written, logged or counted.
"""
