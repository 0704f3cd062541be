"""Clients of `weigh serve`: one that reads all pages, one that breaks off, one that drips, one that follows events."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

EXPORTS = ("json", "csv", "markdown")


def links(page: str) -> list[str]:
    """Paths of runs, as the list of runs links them, in its order."""
    return [f"/run/{name}/" for name in dict.fromkeys(re.findall(r'href="(?:\.?/)?run/([^"/?]+)/', page))]


class Visitors:
    """They go on until `stop`; `counts` is what they did."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.counts: Counter[str] = Counter()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._again, args=(what, pause), daemon=True)
            for what, pause in ((self._read, 2.0), (self._break_off, 0.2), (self._drip, 0.2), (self._follow, 0.5))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()

    def _again(self, what: Callable[[], None], pause: float) -> None:
        while not self._over.is_set():
            try:
                what()
            except OSError:
                self.counts[f"{what.__name__.strip('_')}: failed"] += 1
            self._over.wait(pause)

    def _ask(self, path: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(self._head(path))
        return connection

    def _head(self, path: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode()

    def _page(self, path: str) -> bytes:
        with self._ask(path) as connection:
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
        whole = b"".join(parts)
        self.counts["pages" if whole.split(b" ", 2)[1:2] == [b"200"] else "other answers"] += 1
        return whole

    def runs(self) -> list[str]:
        """Paths of runs, newest first."""
        return links(self._page("/").decode("utf-8", "replace"))

    def _read(self) -> None:
        for run in self.runs():
            for path in (run, f"{run}report", *(f"{run}export/{format}" for format in EXPORTS)):
                if self._over.is_set():
                    return
                self._page(path)

    def _break_off(self) -> None:
        for run in self.runs()[:2]:
            with self._ask(f"{run}report") as connection:
                connection.recv(100)
            self.counts["broken off"] += 1

    def _drip(self) -> None:
        """A head byte by byte; the server gives it 2 s."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            for byte in self._head("/"):
                if self._over.is_set():
                    return
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    break
                time.sleep(0.1)
        self.counts["dripped"] += 1

    def _follow(self) -> None:
        """A run's events, until they end or for 20 s."""
        until = time.monotonic() + 20
        for run in self.runs()[:1]:
            with self._ask(f"{run}events") as connection:
                connection.settimeout(5)
                while time.monotonic() < until and not self._over.is_set():
                    try:
                        part = connection.recv(1 << 16)
                    except TimeoutError:
                        continue
                    if not part:
                        break
                    self.counts["events"] += part.count(b"\nevent:") + part.startswith(b"event:")
            self.counts["followed"] += 1


__all__ = ["Visitors", "links"]
