"""Signatures of deliveries, as GitHub signs its own: HMAC-SHA256 of the body, in hexadecimals.

Source: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

import hmac

HEADER = "X-Cachelog-Signature-256"


def signature(body: bytes, secret: str) -> str:
    """Return the signature of a body by a secret that both sides know.

    A secret from the environment can hold bytes that are no UTF-8: these very bytes count.
    """
    key = secret.encode(errors="surrogateescape")
    return f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"
