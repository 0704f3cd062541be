"""CPU accounting over threads, processes and io_uring's kernel threads; limits; the bare loop on a real socket."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from unittest import mock
from xml.etree import ElementTree

from compare.apart import Apart, alike, groups
from compare.install import Installer, Jars, Recipe, Unavailable, build, make_home, pom
from compare.measure import CommandError, cpu_group, run

from . import samples

CORE = max(os.sched_getaffinity(0))
BARE = pathlib.Path(__file__).parents[1] / "bare" / "bare.c"

# Each program spends what it says it spent, by the clock of what is spending, and prints it in seconds.
_SPEND = """
import os, threading, time
def spend(clock):
    end = time.clock_gettime(clock) + 0.1
    while time.clock_gettime(clock) < end:
        pass
"""
_THREAD = (
    _SPEND + "t = threading.Thread(target=spend, args=(time.CLOCK_THREAD_CPUTIME_ID,)); t.start(); t.join(); print(0.1)"
)
_CHILD = (
    _SPEND
    + """
if os.fork() == 0:
    spend(time.CLOCK_PROCESS_CPUTIME_ID); os._exit(0)
os.wait(); print(0.1)
"""
)
# Its parent does not wait for it: only a control group sees what it spent.
_ORPHAN = (
    _SPEND
    + """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
out, into = os.pipe()
if os.fork() == 0:
    os.close(out); spend(time.CLOCK_PROCESS_CPUTIME_ID); os._exit(0)
os.close(into); os.read(out, 1); print(0.1)
"""
)
# io_uring's polling thread, once woken, spins for as long as it is told to. It is woken until the kernel has charged it
# with 10 ticks, whatever time that takes. 425 is io_uring_setup, 426 io_uring_enter, on every architecture.
_URING = """
import ctypes, os, struct, time
library = ctypes.CDLL(None, use_errno=True)
parameters = ctypes.create_string_buffer(120)
struct.pack_into("III", parameters, 8, 2, 0, 1000)  # flags: SQPOLL; cpu; idle ms
ring = library.syscall(425, 4, parameters)
if ring < 0:
    raise SystemExit(f"unavailable: {os.strerror(ctypes.get_errno())}")
def polling():
    for task in os.listdir("/proc/self/task"):
        name, fields = open(f"/proc/self/task/{task}/stat").read().rsplit(")", 1)
        if "iou-sqp" in name:
            return sum(map(int, fields.split()[11:13]))
    return 0
for _ in range(2000):
    library.syscall(426, ring, 0, 0, 2, None, 0)  # flags: SQ_WAKEUP
    time.sleep(0.01)
    if polling() >= 10:
        break
else:
    raise SystemExit("unavailable: the kernel shows no such thread at work")
print(polling() / os.sysconf("SC_CLK_TCK"))
"""


class Cpu(unittest.TestCase):
    def spent(self, program: str) -> tuple[float, float, float | None]:
        """What the program says it spent, and both accounts."""
        with cpu_group() as group:
            done = run([sys.executable, "-c", program], CORE, 60, group)
        if "unavailable" in done.stderr:
            self.skipTest(done.stderr.strip())
        done.expect()
        return float(done.stdout), done.cpu_waited, done.cpu_group

    def test_threads_and_children_are_in_both_accounts(self) -> None:
        for program in (_THREAD, _CHILD):
            said, waited, group = self.spent(program)
            self.assertGreaterEqual(waited, said)
            if group is not None:
                self.assertGreaterEqual(group, said)

    def test_a_child_that_nobody_waits_for_is_in_the_group(self) -> None:
        said, _, group = self.spent(_ORPHAN)
        if group is None:
            self.skipTest("no control group may be made here")
        self.assertGreaterEqual(group, said)

    def test_the_kernel_threads_of_io_uring_are_in_both_accounts(self) -> None:
        said, waited, group = self.spent(_URING)
        self.assertGreaterEqual(waited, said)
        if group is not None:
            self.assertGreaterEqual(group, said)

    def test_the_larger_account_counts(self) -> None:
        done = samples.finished("", cpu=2.0)
        self.assertEqual(done.cpu, 2.0)
        self.assertEqual(type(done)(**{**vars(done), "cpu_group": 3.0}).cpu, 3.0)


class Running(unittest.TestCase):
    def test_what_does_not_end_is_killed_with_its_children(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            note = pathlib.Path(folder) / "pid"
            with self.assertRaisesRegex(CommandError, "did not end within"):
                run(["sh", "-c", f"sleep 600 & echo $! > {note}.new; mv {note}.new {note}; wait"], CORE, 2)
            child = int(note.read_text())
            # It dies when it is next scheduled; a zombie is as good as gone.
            while alive(child):
                time.sleep(0.01)

    def test_it_runs_on_one_core(self) -> None:
        done = run([sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"], CORE, 60)
        self.assertEqual(done.stdout.strip(), f"[{CORE}]")

    def test_a_bad_end_says_command_code_and_last_words(self) -> None:
        done = run(["sh", "-c", "echo one; echo two  three >&2; exit 7"], CORE, 60)
        with self.assertRaisesRegex(CommandError, "`sh -c .*` ended with 7 and said: two three$"):
            done.expect()
        done.expect(0, 7)

    def test_what_cannot_be_started_is_said(self) -> None:
        with self.assertRaisesRegex(CommandError, "`/nowhere/tool` could not be started"):
            run(["/nowhere/tool"], CORE, 60)


def alive(process: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rsplit(")", 1)[1].split()[0] not in "ZX"


JARS = Jars(
    "org.example", ("shout", "settings"), "org.example.Shout", "-Xmx1m -Dhome='{home}'", "settings", ("lib/more",)
)


class Installing(unittest.TestCase):
    def test_what_no_registry_offers_names_the_next_step(self) -> None:
        with self.assertRaisesRegex(Unavailable, "no registry offers it; build it"):
            Installer(True).have(Recipe("no-such-program", by_hand="build it"))

    def test_nothing_is_installed_when_that_was_forbidden(self) -> None:
        with self.assertRaisesRegex(Unavailable, "--no-install was given; would run `go install example.org/x@v1`"):
            Installer(False).have(Recipe("no-such-program", module="example.org/x", version="v1"))

    def test_maven_is_named_where_it_is_forbidden_or_not_there(self) -> None:
        recipe = Recipe("no-such-program", jars=JARS, version="1.2")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(Unavailable, "--no-install was given; would run `mvn .*copy-dependencies"):
                Installer(False, pathlib.Path(folder)).have(recipe)
            with (
                mock.patch.dict(os.environ, {"PATH": folder}),
                self.assertRaisesRegex(Unavailable, "`mvn`, which would build it, is not there either"),
            ):
                Installer(True, pathlib.Path(folder)).have(recipe)

    def test_maven_is_asked_for_all_parts_in_the_pinned_version(self) -> None:
        project = ElementTree.fromstring(pom(JARS, "1.2"))
        name = "{http://maven.apache.org/POM/4.0.0}"
        asked = [[field.text for field in one] for one in project.iter(f"{name}dependency")]
        self.assertEqual(asked, [["org.example", "shout", "1.2"], ["org.example", "settings", "1.2"]])

    def test_a_program_of_jars_starts_in_its_home_with_its_settings(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder) / "a home"
            (home / "lib").mkdir(parents=True)
            with zipfile.ZipFile(home / "lib" / "settings-1.2.jar", "w") as jar:
                jar.writestr("META-INF/LICENSE", "")
                jar.writestr("bin/shout.properties", "loud=yes")
            make_home(home, Recipe("shout", jars=JARS, version="1.2"))
            self.assertEqual((home / "bin" / "shout.properties").read_text(), "loud=yes")
            self.assertEqual(sorted(path.name for path in home.iterdir()), ["bin", "lib"])
            self.assertTrue((home / "lib" / "more").is_dir())
            # Says what the virtual machine would be given.
            java = pathlib.Path(folder) / "java"
            java.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
            java.chmod(0o755)
            path = f"{folder}{os.pathsep}{os.environ['PATH']}"
            done = run(
                [str(home / "bin" / "shout"), "two words"], CORE, 60, environment={"PATH": path, "JVM_ARGS": "-Xint"}
            )
            words = ["-Xmx1m", f"-Dhome={home}", "-Xint", "-cp", f"{home}/lib/*", "org.example.Shout", "two words"]
            self.assertEqual(done.stdout.splitlines(), words)

    def test_a_pinned_version_in_the_cache_goes_first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "sh-v1" / "bin" / "sh"
            program.parent.mkdir(parents=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            installer = Installer(False, pathlib.Path(folder))
            self.assertEqual(installer.have(Recipe("sh", module="m", version="v1")), str(program))
            self.assertEqual(installer.have(Recipe("sh", module="m", version="v2")), shutil.which("sh"))


def serve(listener: socket.socket, request: bytes, reply: bytes, seen: list[int]) -> None:
    """Answers each whole request on one connection, in two pieces, and counts them."""
    connection, _ = listener.accept()
    with connection:
        pending = b""
        while piece := connection.recv(65536):
            pending += piece
            while pending.startswith(request):
                pending = pending[len(request) :]
                seen[0] += 1
                connection.sendall(reply[:1])
                connection.sendall(reply[1:])


@unittest.skipUnless(shutil.which("cc") or shutil.which("gcc"), "no C compiler")
class Apartness(unittest.TestCase):
    def test_distances_are_one_within_a_factor_and_part_at_a_gap(self) -> None:
        self.assertTrue(alike([60.0, None, 90.0]))
        self.assertFalse(alike([60.0, 370.0]))
        self.assertTrue(alike([None, None]))
        self.assertEqual(groups([370.0, 62.0, 60.0, 390.0, 95.0]), [(60.0, 95.0), (370.0, 390.0)])
        self.assertEqual(groups([]), [])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "it takes two cores")
    def test_two_cores_are_some_distance_apart(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            cores = sorted(os.sched_getaffinity(0))
            apart = Apart(Installer(False, pathlib.Path(name)), BARE.parents[2], (cores[0], cores[-1]))
            distance = apart.measure()
            self.assertTrue(distance is not None and distance > 0, apart.why_not)
            apart.cores = (cores[0], cores[0])
            self.assertIsNone(apart.measure())


class BareLoop(unittest.TestCase):
    def bare(self, reply: bytes, expected: int, seconds: str = "1") -> tuple[int, str, str, int]:
        request, seen = b"ask\n", [0]
        with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as listener:
            folder = pathlib.Path(name)
            (folder / "request").write_bytes(request)
            server = threading.Thread(target=serve, args=(listener, request, reply, seen))
            server.start()
            port = str(listener.getsockname()[1])
            words = ["127.0.0.1", port, "1", seconds, str(expected), "1", str(folder / "request")]
            done = run([build(BARE, folder), *words], CORE, 60)
            if seconds == "0":  # it never connected
                socket.create_connection(("127.0.0.1", int(port))).close()
            server.join()
        return done.code, done.stdout, done.stderr, seen[0]

    def test_counts_replies_by_their_length(self) -> None:
        code, said, _, seen = self.bare(b"0123456789", 10)
        self.assertEqual(code, 0)
        counted = int(said.split('"requests": ')[1].split(",")[0])
        self.assertGreater(counted, 0)
        self.assertIn(seen - counted, (0, 1))

    def test_a_longer_reply_ends_it(self) -> None:
        code, _, said, _ = self.bare(b"0123456789", 5)
        self.assertEqual((code, said), (1, "bare: the reply is longer than REPLY_BYTES: unexpected\n"))

    def test_wrong_arguments_are_named(self) -> None:
        code, _, said, _ = self.bare(b"0123456789", 10, seconds="0")
        self.assertEqual((code, said), (2, "bare: SECONDS is `0`, allowed: 1 to 86400\n"))


if __name__ == "__main__":
    unittest.main()
