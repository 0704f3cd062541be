"""The codec of the workload person over HTTP: JSON. That of gRPC is generated: see person_grpc.py."""

import json
from typing import Any

MEDIA_TYPE = "application/json"


def write(message: Any) -> bytes:
    """Write a message; raises a ValueError where a text has half of a surrogate pair, which JSON can escape."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def read(body: bytes) -> Any:
    """Read a value; raises a ValueError where the bytes are no JSON."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
