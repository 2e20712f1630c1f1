"""What a client takes, as its headers say it: media types and content codings (RFC 9110, 12.5)."""

from collections.abc import Sequence

RESPONSE_JSON = "application/graphql-response+json"
JSON = "application/json"
EVENT_STREAM = "text/event-stream"

_MAX_LENGTH = 4_096
"""How many characters of a header are looked at; browsers send some 150."""


def accepted_media_type(accept: str) -> str | None:
    """Return the media type to answer with; None where the client takes none on offer."""
    weights = _weights(accept)
    if not weights:
        return JSON
    offers = [(_weight(weights, RESPONSE_JSON), RESPONSE_JSON), (_weight(weights, JSON), JSON)]
    if RESPONSE_JSON not in weights:
        offers.reverse()
    weight, best = max(offers, key=lambda offer: offer[0])
    return best if weight > 0 else None


def prefers_html(accept: str) -> bool:
    """Tell whether a browser asks for a page rather than a program for data."""
    weights = _weights(accept)
    html = weights.get("text/html", 0.0)
    return html > max(weights.get(RESPONSE_JSON, 0.0), weights.get(JSON, 0.0))


def takes_events(accept: str) -> bool:
    """Tell whether a client takes server-sent events; it has to say so by their very name."""
    return _weights(accept).get(EVENT_STREAM, 0.0) > 0


def prefers_events(accept: str) -> bool:
    """Tell whether a client takes server-sent events rather than a single answer."""
    weights = _weights(accept)
    events = weights.get(EVENT_STREAM, 0.0)
    return events > max(weights.get(RESPONSE_JSON, 0.0), weights.get(JSON, 0.0))


def accepted_coding(accept_encoding: str, offers: Sequence[str]) -> str:
    """Return the content coding to answer with, the best on offer among those that weigh most."""
    weights = _weights(accept_encoding)
    best, best_weight = "identity", 0.0
    for offer in offers:
        weight = weights.get(offer, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = offer, weight
    return best if best_weight >= weights.get("identity", 0.0) else "identity"


def _weights(header: str) -> dict[str, float]:
    """Parse a header of alternatives with q values (RFC 9110, 12.4.2)."""
    weights = {}
    for part in header[:_MAX_LENGTH].lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if not name:
            continue
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[name] = weight
    return weights


def _weight(weights: dict[str, float], media_type: str) -> float:
    family = media_type.partition("/")[0] + "/*"
    return weights.get(media_type, weights.get(family, weights.get("*/*", 0.0)))
