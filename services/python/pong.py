"""The workload pingpong over HTTP."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from server import Reply, Request, Route, problem

if TYPE_CHECKING:
    from main import Configuration

# Sizes of a body that the contract allows, in bytes.
SMALLEST_BODY = 4
LARGEST_BODY = 100_000_000


@asynccontextmanager
async def routes(_: "Configuration") -> AsyncIterator[list[Route]]:
    """Give the paths of the workload."""
    yield [Route("GET", "/pong/{n}", pong)]


async def pong(request: Request) -> Reply:
    """Answer GET /pong/{n}. The body is made anew for each request."""
    size = size_of(request)
    if size is None:
        return wrong_size()
    return Reply(200, "text/plain", b"p" + b"o" * (size - 3) + b"ng")


def size_of(request: Request) -> int | None:
    """Read the size that the path names: digits only, no leading zero."""
    text = request.parameters[0]
    size = int(text) if re.fullmatch(rb"0|[1-9][0-9]{0,99}", text) else 0
    return size if SMALLEST_BODY <= size <= LARGEST_BODY else None


def wrong_size() -> Reply:
    """Refuse any other size."""
    return problem(400, f"the size must be a whole number from {SMALLEST_BODY} to {LARGEST_BODY}")
