"""How idle cores wait: for every tool alike, whoever asks for it by itself."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator

LATENCY = "/dev/cpu_dma_latency"


@contextlib.contextmanager
def polling() -> Iterator[bool]:
    """Idle cores poll instead of sleeping, where this may be asked for; the kernel forgets it with the descriptor."""
    try:
        file = os.open(LATENCY, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(file, struct.pack("i", 0))
        yield True
    finally:
        os.close(file)
