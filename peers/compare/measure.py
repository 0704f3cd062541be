"""Runs one client on one core and says what it cost: its threads, its processes, and what the kernel did for it.

Two accounts of CPU time are kept. `wait4` gives the process and every descendant that was waited for; io_uring's
workers and its polling thread are threads of the process that uses them (Linux 5.12 and later), so they are in it. A
control group of the client's own, where one may be made, also holds descendants that nobody waited for. The larger
counts.
Decides nothing and reads no tool's output.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

_PR_SET_PDEATHSIG = 1


class CommandError(Exception):
    """A program ended badly or did not end; the message names it and shows the end of what it said."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """What a program said and cost. CPU in seconds, user and system; `cpu_group` where such a group could be made."""

    command: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    wall: float
    cpu_waited: float
    cpu_group: float | None

    @property
    def cpu(self) -> float:
        return max(self.cpu_waited, self.cpu_group or 0.0)

    def expect(self, *codes: int) -> None:
        """Raises unless it ended with one of these exit codes."""
        if self.code in (codes or (0,)):
            return
        said = " ".join((self.stderr if self.stderr.strip() else self.stdout).split()) or "nothing"
        said = said if len(said) < 400 else f"{said[:250]} … {said[-100:]}"
        name = pathlib.Path(self.command[0]).name
        raise CommandError(f"`{' '.join([name, *self.command[1:]])}` ended with {self.code} and said: {said}")


def on_core(core: int, group: pathlib.Path | None = None) -> Callable[[], None]:
    """What a child does before its program starts: one core, its control group, and death with its parent."""
    library = ctypes.CDLL(None)

    def prepare() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.sched_setaffinity(0, {core})
        if group is not None:
            (group / "cgroup.procs").write_text("0")

    return prepare


class Group:
    """A control group that only counts CPU time, of version 1 or 2."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def seconds(self) -> float:
        version1 = self.folder / "cpuacct.usage"
        if version1.exists():
            return int(version1.read_text()) / 1e9
        fields = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(fields["usage_usec"]) / 1e6


def _group_parents() -> Iterator[pathlib.Path]:
    root = pathlib.Path("/sys/fs/cgroup")
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from (mount / path.lstrip("/") for mount in (root, root / "unified"))
        elif "cpuacct" in controllers.split(","):
            yield from (root / name / path.lstrip("/") for name in (controllers, "cpuacct"))


@contextlib.contextmanager
def cpu_group() -> Iterator[Group | None]:
    """A fresh control group, removed at the end; nothing where none may be made."""
    for parent in _group_parents():
        folder = parent / f"weigh-peers-{os.getpid()}"
        try:
            folder.mkdir()
            group = Group(folder)
            group.seconds()
            # Whether a process may be moved in shows only when one is.
            subprocess.run(["true"], check=True, preexec_fn=on_core(min(os.sched_getaffinity(0)), folder))
        except (OSError, subprocess.SubprocessError, KeyError, ValueError):
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield group
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return
    yield None


def run(
    command: Sequence[str],
    core: int,
    limit: float,
    group: Group | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs a program on one core to its end, at most `limit` seconds. Its output goes to files: nothing reads along."""
    before = group.seconds() if group else 0.0
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=dict(os.environ, **(environment or {})),
                start_new_session=True,
                preexec_fn=on_core(core, group.folder if group else None),
            )
        except OSError as error:
            raise CommandError(f"`{command[0]}` could not be started: {error}") from error
        code, cpu = _wait(process, limit)
        wall = time.monotonic() - start
        stdout.seek(0)
        stderr.seek(0)
        return Finished(
            command=tuple(command),
            code=code,
            stdout=stdout.read(),
            stderr=stderr.read(),
            wall=wall,
            cpu_waited=cpu,
            cpu_group=group.seconds() - before if group else None,
        )


def _wait(process: subprocess.Popen[bytes], limit: float) -> tuple[int, float]:
    """Exit code and CPU seconds. Kills the whole session of what does not end, also when we are interrupted."""
    ended = False
    watch = os.pidfd_open(process.pid)
    try:
        ended = bool(select.select([watch], [], [], limit)[0])
    finally:
        os.close(watch)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        # What it left behind in its session would disturb the next turn.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if not ended:
        raise CommandError(f"it did not end within {limit:.0f} s and was killed")
    return process.returncode, usage.ru_utime + usage.ru_stime
