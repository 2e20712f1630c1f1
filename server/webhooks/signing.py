"""Signatures of deliveries, as GitHub signs its own: HMAC-SHA256 of the body, in hexadecimals.

Source: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

import hmac

HEADER = "X-Cachelog-Signature-256"


def signature(body: bytes, secret: str) -> str:
    """Return the signature of a body by a secret that both sides know."""
    return f"sha256={hmac.new(secret.encode(), body, 'sha256').hexdigest()}"
