"""The system's own settings: changed for a while, and put back whatever happens but SIGKILL."""

from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator

from compare.measure import on_core

READS = pathlib.Path(__file__).resolve().parent / "reads.py"
IRQ = pathlib.Path("/proc/irq")


class SettingError(Exception):
    """What could not be changed, and why."""


def chosen(text: str) -> str:
    """The value in force: of files that list all of them, the one in brackets."""
    found = re.search(r"\[(\S+)\]", text)
    return found.group(1) if found else text.strip()


def put(path: pathlib.Path, value: str) -> None:
    try:
        path.write_text(value)
    except OSError as error:
        raise SettingError(f"`{value}` cannot be written to {path}: {error.strerror}; run as root") from error


@contextlib.contextmanager
def kept(paths: Iterable[pathlib.Path]) -> Iterator[None]:
    """Puts these files back at the end as they were; what may not be written is no longer of interest then."""
    try:
        before = {path: chosen(path.read_text()) for path in paths}
    except OSError as error:
        raise SettingError(f"{error.filename}: {error.strerror}") from error
    # Whoever kills us by force can read what to put back.
    if len(before) == 1:
        print(f"host: {', '.join(f'{path} was `{value}`' for path, value in before.items())}", file=sys.stderr)
    try:
        yield
    finally:
        for path, value in before.items():
            with contextlib.suppress(OSError):
                path.write_text(value)


def movable() -> list[pathlib.Path]:
    """The files that say where devices' interrupts may go, of those that let themselves be moved."""
    found = []
    for path in sorted(IRQ.glob("*/smp_affinity_list")):
        with contextlib.suppress(OSError):
            path.write_text(path.read_text())
            found.append(path)
    return found


def devices_interrupts(text: str) -> dict[int, int]:
    """`/proc/interrupts`: by core, how many of numbered lines there were; the others are the kernel's own."""
    lines = text.splitlines()
    cores = [int(word.removeprefix("CPU")) for word in lines[0].split()]
    counts = dict.fromkeys(cores, 0)
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        if name.strip().isdigit():
            for core, count in zip(cores, rest.split(), strict=False):
                counts[core] += int(count)
    return counts


@contextlib.contextmanager
def reader(core: int, folder: pathlib.Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program on this core that reads from the disk unless it is stopped, as it is at first."""
    program = subprocess.Popen([sys.executable, str(READS), str(folder / "read")], preexec_fn=on_core(core))
    try:
        program.send_signal(signal.SIGSTOP)
        yield program
    finally:
        program.kill()
        program.wait()
