"""One sitting: everything is started in one go, looked at until the time is over, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator

from .cases import SERVERS, Hostile, experiment
from .sample import take
from .visitors import Visitors

KEPT_RUNS = 4


class SoakError(Exception):
    """The soak could not be held."""


class Sitting:
    """The processes of a soak, by what they are for."""

    def __init__(self, weigh: str, out: pathlib.Path, blocks: int, seconds: int) -> None:
        self.weigh, self.out, self.blocks, self.seconds = weigh, out, blocks, seconds
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weigh-soak-"))
        self.began = time.monotonic()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        self._small: subprocess.Popen[bytes] | None = None
        self._next_progress = 0.0

    def note(self, line: dict[str, object]) -> None:
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def at(self) -> float:
        return time.monotonic() - self.began

    def spawn(self, who: str, words: list[str]) -> subprocess.Popen[bytes]:
        """At the lowest priority, in a group of its own, so that Ctrl-C is ours to pass on."""
        said = (self.folder / f"{who.replace(' ', '-')}.out").open("wb")
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd=self.folder, process_group=0
        )

    def start(self, who: str, words: list[str]) -> None:
        self.processes[who] = self.spawn(who, words)

    def said(self, who: str) -> str:
        return (self.folder / f"{who.replace(' ', '-')}.out").read_text(encoding="utf-8", errors="replace")

    def port_of(self, who: str, before: str) -> int:
        """The port that a process names behind `before`."""
        for _ in range(300):
            _, found, behind = self.said(who).partition(before)
            digits = behind[: len(behind) - len(behind.lstrip("0123456789"))]
            if found and digits and behind[len(digits) :]:
                return int(digits)
            time.sleep(0.1)
        raise SoakError(f"`{who}` does not say its port: {self.said(who)[:200]}")

    def start_all(self) -> None:
        for server in SERVERS:
            self.start(f"hostile {server.name}", [self.weigh, "--quiet", "hostile", server.name, "--port", "0"])
        for server in SERVERS:
            self._load(server)
        shown = self.folder / "shown"
        shown.mkdir()
        self.start("serve", [self.weigh, "serve", str(shown), "--port", "0"])
        threading.Thread(target=self._small_runs, args=(shown,), daemon=True).start()
        (self.folder / "long.toml").write_text(experiment(self.weigh, self.blocks, self.seconds * 3 // 4))
        self.start("run", [self.weigh, "run", "long.toml", "--out", "long"])

    def _load(self, server: Hostile) -> None:
        port = self.port_of(f"hostile {server.name}", "ready ")
        self.start(f"load {server.name}", server.load(self.weigh, port, self.seconds))

    def _small_runs(self, shown: pathlib.Path) -> None:
        """A small run a minute, so that there are events to follow; the oldest are removed."""
        (self.folder / "small.toml").write_text(experiment(self.weigh, 4, 8))
        while not self._over.is_set():
            self._small = self.spawn("small", [self.weigh, "run", "small.toml", "--out", str(shown)])
            self._small.wait()
            for old in sorted(path for path in shown.iterdir() if path.is_dir())[:-KEPT_RUNS]:
                shutil.rmtree(old, ignore_errors=True)
            self._over.wait(40)

    def look(self, every: float) -> None:
        """Samples until the time is over."""
        visitors = Visitors(self.port_of("serve", "127.0.0.1:"))
        visitors.start()
        ended: set[str] = set()
        while self.at() < self.seconds:
            for who, process in self.processes.items():
                if who in ended:  # its number may be another process's by now
                    continue
                if process.poll() is not None:
                    ended.add(who)
                    self.note({"kind": "ended", "at": round(self.at(), 1), "who": who, "code": process.returncode})
                elif sample := take(self.at(), who, process.pid):
                    self.note(sample.line())
            self.note_progress()
            time.sleep(every)
        visitors.stop()
        self.note({"kind": "visitors", "at": round(self.at(), 1), "counts": dict(visitors.counts)})

    def blocks_done(self) -> int:
        return sum(1 for _ in (self.folder / "long").glob("*/blocks/*.json"))

    def written(self) -> int:
        """Bytes of the long run's folder."""
        total = 0
        for path in (self.folder / "long").rglob("*"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size if path.is_file() else 0
        return total

    def note_progress(self) -> None:
        """A few times a minute: a run of many blocks has many files."""
        if self.at() >= self._next_progress:
            self._next_progress = self.at() + 15
            blocks, written = self.blocks_done(), self.written()
            self.note({"kind": "progress", "at": round(self.at(), 1), "blocks": blocks, "run_bytes": written})

    def finish(self) -> None:
        """Waits for loads, whose time is over too, and keeps what they counted; then the long run's report."""
        self.note({"kind": "run", "at": round(self.at(), 1), "blocks": self.blocks_done(), "of": self.blocks})
        for server in SERVERS:
            process = self.processes[f"load {server.name}"]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            self.note(
                {
                    "kind": "load",
                    "who": f"load {server.name}",
                    "code": process.poll(),
                    "said": self.said(f"load {server.name}")[:1500],
                }
            )
        self.report()

    def report(self) -> None:
        """The report of the long run, with its time and peak memory."""
        process = self.processes["run"]
        if process.poll() is None:
            return
        for run in (path for path in (self.folder / "long").iterdir() if path.is_dir()):
            began = time.monotonic()
            page = self.folder / "page.html"
            pid = self.spawn("report", [self.weigh, "report", str(run), "-o", str(page)]).pid
            _, status, used = os.wait4(pid, 0)
            self.note(
                {
                    "kind": "report",
                    "seconds": round(time.monotonic() - began, 1),
                    "peak_kib": used.ru_maxrss,
                    "cpu_s": round(used.ru_utime + used.ru_stime, 1),
                    "code": os.waitstatus_to_exitcode(status),
                    "page_bytes": page.stat().st_size if page.exists() else 0,
                    "run_bytes": self.written(),
                    "run_code": process.returncode,
                    "run_said": self.said("run")[-1500:],
                    "said": self.said("report")[-500:],
                }
            )

    def end(self) -> None:
        """Everything that was started; a run ends its own servers at SIGINT."""
        self._over.set()
        processes = [*self.processes.values(), *([self._small] if self._small else [])]
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def sitting(weigh: str, out: pathlib.Path, blocks: int, seconds: int) -> Iterator[Sitting]:
    one = Sitting(weigh, out, blocks, seconds)
    try:
        one.start_all()
        yield one
    finally:
        one.end()


__all__ = ["Sitting", "SoakError", "sitting"]
