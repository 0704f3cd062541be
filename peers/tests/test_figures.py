"""Ratios, spreads, verification of counts, order of turns, and what is shown of them."""

from __future__ import annotations

import dataclasses
import json
import unittest
from typing import Any

from compare.cases import Figure, Goal
from compare.figures import Spread, Turn, ratios, summarise, uncounted
from compare.render import render
from compare.rounds import failed, hopeless, taken, trouble
from compare.tools import Outcome

from . import samples


def turn(number: int, tool: str, requests: int = 1000, cpu: float = 0.5, **more: Any) -> Turn:
    outcome = Outcome(requests, 0, 2.0, p50_us=more.pop("p50_us", 10.0), p99_us=20.0)
    made = taken(
        number, tool, samples.finished("", cpu=cpu), outcome, (requests, 0.0, more.pop("apart_ns", (60.0, 61.0))), None
    )
    return dataclasses.replace(made, **more)


class Spreads(unittest.TestCase):
    def test_quartiles_of_a_known_sample(self) -> None:
        """Oracle: type 7 of Hyndman and Fan for 1 to 10, as R's `quantile(1:10)` prints it."""
        spread = Spread.of([float(value) for value in (3, 1, 2, 10, 9, 8, 4, 5, 7, 6)])
        self.assertEqual(spread, Spread(5.5, 3.25, 7.75, 1.0, 10.0, 10))

    def test_of_one_and_of_none(self) -> None:
        self.assertEqual(Spread.of([2.0]), Spread(2.0, 2.0, 2.0, 2.0, 2.0, 1))
        self.assertIsNone(Spread.of([]))


class Ratios(unittest.TestCase):
    def test_are_of_the_same_round(self) -> None:
        turns = [turn(0, "wrk", 100), turn(0, "weigh", 200), turn(1, "weigh", 300), turn(1, "wrk", 100)]
        self.assertEqual(ratios(turns, "wrk", Figure.PER_CPU), [2.0, 3.0])
        self.assertEqual(ratios(turns, "wrk", Figure.RATE), [2.0, 3.0])

    def test_a_turn_that_does_not_count_takes_its_round_along(self) -> None:
        turns = [turn(0, "wrk", 100, problem="errors"), turn(0, "weigh"), turn(1, "wrk", 500), turn(1, "weigh")]
        self.assertEqual(ratios(turns, "wrk", Figure.PER_CPU), [2.0])

    def test_are_of_cores_equally_far_apart(self) -> None:
        near, far, moved = (60.0, 70.0), (370.0, 380.0), (60.0, 370.0)
        turns = [
            turn(number, tool, requests, apart_ns=apart)
            for number, (weighs, wrks) in enumerate([(near, near), (far, far), (near, far), (moved, moved), (far, far)])
            for tool, requests, apart in (("weigh", 1200 + number, weighs), ("wrk", 1000, wrks))
        ]
        self.assertEqual(ratios(turns, "wrk", Figure.PER_CPU), [1.2, 1.201, 1.204])
        said = summarise(samples.case("http1-16"), turns, ["weigh", "wrk"])["ratios"]["wrk"]
        self.assertEqual((said["rounds"], said["of_rounds"]), (3, 5))
        self.assertEqual(
            [(part["apart_ns"], part["rounds"], part["per_cpu"]["median"]) for part in said["by_distance"]],
            [([60.0, 70.0], 1, 1.2), ([370.0, 380.0], 2, (1.201 + 1.204) / 2)],
        )

    def test_what_a_tool_leaves_uncounted_is_by_littles_law(self) -> None:
        # 16 connections at 1,000/s: 16 ms from one reply to the next, of which 12 are in the mean.
        self.assertEqual(uncounted(samples.case("http1-16"), turn(0, "wrk", 2000, mean_us=12_000.0)), 4000.0)
        self.assertIsNone(uncounted(samples.case("http1-16"), turn(0, "bare", 2000)))
        self.assertIsNone(uncounted(samples.case("open-1k"), turn(0, "weigh", 2000, mean_us=10.0)))

    def test_a_figure_that_a_tool_does_not_give_has_none(self) -> None:
        turns = [turn(0, "h2load", p50_us=None), turn(0, "weigh")]
        self.assertEqual(ratios(turns, "h2load", Figure.P50), [])

    def test_goals_are_bounds_from_the_right_side(self) -> None:
        self.assertTrue(Goal("wrk", Figure.PER_CPU, 1.2).met(1.2))
        self.assertFalse(Goal("wrk", Figure.PER_CPU, 1.2).met(1.19))
        self.assertTrue(Goal("wrk", Figure.P99, 1.05).met(1.05))
        self.assertFalse(Goal("wrk", Figure.P99, 1.05).met(1.06))


class Counts(unittest.TestCase):
    def test_must_go_together(self) -> None:
        done = Outcome(1000, 0, 1.0)
        self.assertIsNone(trouble(done, None, 16))
        self.assertIsNone(trouble(done, 1000, 16))
        self.assertIsNone(trouble(done, 1016, 16))
        self.assertRegex(str(trouble(done, 1017, 16)), "counted 1000 requests, the server 1017")
        # A tool that counts what never happened is wrong by any number.
        self.assertRegex(str(trouble(done, 999, 16)), "the server 999")

    def test_errors_and_emptiness_do_not_count(self) -> None:
        self.assertRegex(str(trouble(Outcome(1000, 1, 1.0), 1001, 16)), "1 errors")
        self.assertRegex(str(trouble(Outcome(0, 0, 1.0), 0, 16)), "no request")

    def test_a_tool_whose_first_two_turns_fail_is_left_out(self) -> None:
        once = [failed(0, "oha", "no")]
        self.assertFalse(hopeless("oha", once))
        self.assertTrue(hopeless("oha", [*once, failed(1, "oha", "no")]))
        self.assertFalse(hopeless("oha", [*once, turn(1, "oha")]))
        self.assertFalse(hopeless("wrk", [*once, failed(1, "oha", "no")]))


def result() -> dict[str, Any]:
    """A small result with everything that a table may hold."""
    closed = [
        turn(number, tool, requests) for number in range(3) for tool, requests in (("weigh", 1200), ("wrk", 1000))
    ]
    closed.append(failed(0, "oha", "no such | thing"))
    opened = [turn(0, "weigh", 1998, offered=1000.0, lag_p99_us=12.5, remark="invalid: late")]
    return {
        "schema": 1,
        "date": "2026-01-02T03:04:05Z",
        "host": {
            "cpu": "Some CPU",
            "virtual": True,
            "cores": 2,
            "server_core": 0,
            "client_core": 1,
            "kernel": "6.1",
            "clock_source": "tsc",
            "governor": None,
            "revision": "abc",
        },
        "settings": {"rounds": 3, "seconds": 2, "warmup": 1, "seed": 1},
        "steal": 0.0123,
        "tools": {"weigh": "weigh 1", "wrk": "wrk 4"},
        "cases": [
            summarise(samples.case("http1-16"), closed, ["weigh", "wrk", "oha"]),
            summarise(samples.case("open-1k"), opened, ["weigh"]),
        ],
        "unavailable": [{"what": "wrk2", "why": "not installed"}],
    }


class Tables(unittest.TestCase):
    def test_markdown(self) -> None:
        text = render(result(), "markdown")
        full, same = "1.20 [1.20, 1.20] (1.20–1.20)", "1.00 [1.00, 1.00] (1.00–1.00)"
        for line in (
            f"| http1-16 | wrk | 60–61 ns | {full} | {full} | {same} | {same} | 3 of 3 |",
            "| http1-16 | oha | ? | – | – | – | – | 0 of 1 |",
            "| http1-16 | requests per CPU second ≥ 1.2 × wrk | 1.2 | met |",
            "| open-1k | achieved / due ≥ 0.999 | 0.999 | met |",
            "| open-1k | lag p99 (µs) ≤ 100.0 | 12.5 | met |",
            "| http1-16 | requests per CPU second ≥ 1.9 × oha | – | not measured |",
            "| http1-16 | oha, 1 of 1 turns, first: no such \\| thing |",
            "| open-1k | weigh | 0.9990 [0.9990, 0.9990] | 12.5 [12.5, 12.5] | 10.0 [10.0, 10.0] | 20.0 [20.0, 20.0] |"
            + " 3,996 [3,996, 3,996] |",
            "| open-1k | weigh, 1 of 1 turns, first: invalid: late |",
            "| wrk2 | not installed |",
        ):
            self.assertIn(line, text.splitlines())

    def test_every_row_of_a_table_has_its_columns(self) -> None:
        width = None
        for line in render(result(), "markdown").splitlines():
            if not line.startswith("|"):
                width = None
                continue
            cells = line.replace("\\|", "").count("|")
            width = width or cells
            self.assertEqual(cells, width, line)

    def test_text_is_aligned_and_json_is_the_result(self) -> None:
        lines = render(result(), "text").splitlines()
        start = lines.index("GOALS") + 4
        self.assertEqual(lines[start].index("goal"), lines[start + 1].index("requests"))
        self.assertEqual(render(json.loads(render(result(), "json")), "text").splitlines(), lines)

    def test_a_result_without_cases_still_says_what_was_not_measured(self) -> None:
        nothing = {**result(), "cases": [], "steal": None}
        self.assertIn("| wrk2 | not installed |", render(nothing, "markdown"))


if __name__ == "__main__":
    unittest.main()
