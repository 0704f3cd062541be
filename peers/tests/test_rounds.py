"""Turns of invented tools on an invented server: order, warm-up, hints, what happens when something breaks."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
import tempfile
import unittest
from collections.abc import Iterator, Sequence
from unittest import mock

from compare import rounds, servers
from compare.apart import Apart
from compare.cases import Case
from compare.figures import Turn
from compare.install import Installer, Unavailable
from compare.measure import Finished
from compare.rounds import Plan
from compare.servers import Server, Setting, Target
from compare.tools import Job, Outcome, ParseError, Tool

from . import samples

CORE = max(os.sched_getaffinity(0))


class Counting(Server):
    """Has seen what the tools say they sent, and some more."""

    target = Target("http", 8080)

    def __init__(self, more: int) -> None:
        self.more = more
        self.seen = 0

    def served(self) -> int:
        self.seen += self.more
        return self.seen


class Echo(Tool):
    """Says how many requests it sent in which time; runs as a real process."""

    def __init__(self, name: str, server: Counting, jobs: list[Job]) -> None:
        self.name = name
        self.server = server
        self.jobs = jobs

    def command(self, job: Job) -> Sequence[str]:
        self.jobs.append(job)
        return ["sh", "-c", f"echo {job.seconds * 1000} {job.seconds}"]

    def parse(self, output: Finished, job: Job) -> Outcome:
        requests, seconds = map(int, output.stdout.split())
        self.server.seen += requests
        return Outcome(requests, 0, seconds)


class Broken(Echo):
    def parse(self, output: Finished, job: Job) -> Outcome:
        raise ParseError("broken: no number in its output")


class Moving(Apart):
    """Cores at invented distances, one for each question; at the last one for good."""

    def __init__(self, distances: Sequence[float | None]) -> None:
        self.cores = (CORE, CORE)
        self.distances = list(distances)

    def measure(self) -> float | None:
        return self.distances.pop(0) if len(self.distances) > 1 else self.distances[0]


class Rounds(unittest.TestCase):
    def play(
        self,
        plan: Plan,
        more: int = 0,
        tools: Sequence[type[Echo]] = (Echo, Echo, Echo),
        distances: Sequence[float | None] = (None,),
    ) -> list[Turn]:
        server = Counting(more)
        self.jobs: list[Job] = []
        cast = [kind(f"tool{number}", server, self.jobs) for number, kind in enumerate(tools)]

        @contextlib.contextmanager
        def start(case: Case, setting: Setting) -> Iterator[Server]:
            yield server

        with tempfile.TemporaryDirectory() as name, mock.patch.object(rounds, "start", start):
            setting = Setting(Installer(False), "weigh", pathlib.Path(), pathlib.Path(name), CORE)
            with contextlib.redirect_stderr(io.StringIO()):
                return rounds.carry_out(samples.case("http1-16"), cast, plan, setting, Moving(distances), None)

    def test_every_tool_has_one_turn_a_round_in_seeded_order(self) -> None:
        orders = {}
        for seed in range(4):
            turns = self.play(Plan(rounds=4, seconds=1, warmup=0, seed=seed))
            again = self.play(Plan(rounds=4, seconds=1, warmup=0, seed=seed))
            orders[seed] = [turn.tool for turn in turns]
            self.assertEqual(orders[seed], [turn.tool for turn in again])
            for number in range(4):
                mine = sorted(turn.tool for turn in turns if turn.round == number)
                self.assertEqual(mine, ["tool0", "tool1", "tool2"])
        self.assertGreater(len({tuple(order) for order in orders.values()}), 1)
        self.assertGreater(len({tuple(orders[0][at : at + 3]) for at in range(0, 12, 3)}), 1)

    def test_the_warm_up_is_not_counted_and_gives_the_hint(self) -> None:
        (turn,) = self.play(Plan(rounds=1, seconds=3, warmup=2, seed=1), tools=[Echo])
        self.assertEqual((turn.requests, turn.served, turn.seconds, turn.problem), (3000, 3000, 3.0, None))
        self.assertEqual([(job.seconds, job.rate_hint) for job in self.jobs], [(2, None), (3, 1000.0)])

    def test_a_server_that_saw_more_than_can_be_cut_off_voids_the_turn(self) -> None:
        (turn,) = self.play(Plan(rounds=1, seconds=1, warmup=0, seed=1), more=16, tools=[Echo])
        self.assertIsNone(turn.problem)
        (turn,) = self.play(Plan(rounds=1, seconds=1, warmup=0, seed=1), more=17, tools=[Echo])
        self.assertRegex(str(turn.problem), "counted 1000 requests, the server 1017")

    def test_a_turn_under_which_the_cores_moved_is_taken_again_but_not_for_ever(self) -> None:
        once = Plan(rounds=1, seconds=1, warmup=0, seed=1)
        (turn,) = self.play(once, tools=[Echo], distances=[60, 370, 370, 380])
        self.assertEqual((turn.apart_ns, len(self.jobs)), ((370, 380), 2))
        (turn,) = self.play(once, tools=[Echo], distances=[60, 370, 60, 370, 60, 370])
        self.assertEqual((turn.apart_ns, len(self.jobs)), ((60, 370), rounds.TRIES))
        (turn,) = self.play(once, tools=[Echo])
        self.assertEqual((turn.apart_ns, len(self.jobs)), ((None, None), 1))

    def test_a_broken_tool_leaves_the_others_alone(self) -> None:
        turns = self.play(Plan(rounds=3, seconds=1, warmup=0, seed=1), tools=[Echo, Broken])
        self.assertEqual([turn.problem for turn in turns if turn.tool == "tool0"], [None] * 3)
        # After two vain turns it is not tried again.
        self.assertEqual(
            [turn.problem for turn in turns if turn.tool == "tool1"], ["broken: no number in its output"] * 2
        )
        self.assertEqual({dataclasses.asdict(turn)["requests"] for turn in turns if turn.tool == "tool1"}, {0})


class ServerProcesses(unittest.TestCase):
    def test_are_stopped_when_we_are_interrupted(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            setting = Setting(Installer(False), "weigh", pathlib.Path(), pathlib.Path(name), CORE)
            with self.assertRaises(KeyboardInterrupt), servers.process(["sleep", "600"], setting) as server:
                raise KeyboardInterrupt
            self.assertEqual(server.returncode, -15)

    def test_one_that_ends_at_once_is_said_with_its_last_words(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            setting = Setting(Installer(False), "weigh", pathlib.Path(), pathlib.Path(name), CORE)
            said = "ended with 2 and said: no such option"
            command = ["sh", "-c", "echo no such option >&2; exit 2"]
            with servers.process(command, setting) as server, self.assertRaisesRegex(Unavailable, said):
                servers.await_line(server, setting)


if __name__ == "__main__":
    unittest.main()
