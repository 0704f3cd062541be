"""One binary beside itself: what is run, what is kept, how effects are told apart."""

from __future__ import annotations

import collections
import json
import math
import pathlib
import tempfile
import tomllib
import unittest
from typing import Any

from differences.book import Book
from differences.tries import TryError
from position.cases import BY_NAME, CASES, NAMES, PLANTED, PORTS, SAME, SETUPS, Setup, experiment, setup
from position.command import arguments, kept, missing
from position.figures import inverted, least_squares, mean, overdispersion, share
from position.render import render
from position.tries import Cost, Try, planted, taken


def one(number: int = 0, ratio: float = 1.0, case: str = SAME.name, **more: Any) -> Try:
    cost = Cost(ratio, ratio * 0.995, ratio * 1.005)
    known: dict[str, Any] = {
        "case": case, "number": number, "at": "2026-01-02T03:04:05Z", "setup": setup(number),
        "costs": {"response p50": cost}, "difference_ns": None, "truth_ns": None, "validity": "valid", "took": 10.2,
    }  # fmt: skip
    return Try(**{**known, **more})


class Cases(unittest.TestCase):
    def test_every_run_is_an_experiment_file(self) -> None:
        for case in CASES:
            for number in range(len(SETUPS)):
                read = tomllib.loads(experiment(case, setup(number), ("/a/weigh", "/b/weigh"), "/records", 7))
                self.assertEqual((read["plan"]["seed"], read["plan"]["headline"]), (7, case.quantity))
                self.assertEqual(len(read["variant"]), 2)

    def test_a_setup_says_who_has_which_name_copy_and_port(self) -> None:
        read = tomllib.loads(experiment(SAME, Setup(1, -1, 1), ("/a/weigh", "/b/weigh"), "/records", 1))
        first, second = read["variant"]
        self.assertEqual((first["name"], second["name"]), NAMES)
        self.assertEqual((first["command"][0], second["command"][0]), ("/b/weigh", "/a/weigh"))
        self.assertEqual((first["ready"]["port"], second["ready"]["port"]), PORTS)
        self.assertEqual([each["command"][5] for each in (first, second)], [str(port) for port in PORTS])

    def test_free_ports_are_asked_for_by_silence(self) -> None:
        read = tomllib.loads(experiment(SAME, Setup(-1, 1, 0), ("/a", "/b"), "/records", 1))
        self.assertTrue(all("ready" not in each and "--port" not in each["command"] for each in read["variant"]))

    def test_only_what_is_planted_is_added_and_written_down(self) -> None:
        read = tomllib.loads(experiment(PLANTED, Setup(-1, 1, 0), ("/a", "/b"), "/records", 1))
        self.assertEqual([each["command"][3] for each in read["variant"]], ["10000ns", "10150ns"])
        self.assertEqual([each["command"][5] for each in read["variant"]], ["/records/0", "/records/1"])

    def test_each_time_through_all_setups_come_once(self) -> None:
        size = len(SETUPS)
        for cycle in range(3):
            numbers = range(cycle * size, (cycle + 1) * size)
            self.assertEqual(collections.Counter(map(setup, numbers)), collections.Counter(SETUPS))
        self.assertNotEqual([setup(n) for n in range(size)], [setup(n) for n in range(size, 2 * size)])

    def test_setups_do_not_mix_effects_up(self) -> None:
        """Every two of position, name, copy and port have products that sum up to nothing."""
        rows = [(1, each.name, each.copy, each.port) for each in SETUPS]
        for i in range(4):
            for j in range(i):
                self.assertEqual(sum(row[i] * row[j] for row in rows), 0)


class Figures(unittest.TestCase):
    def test_exact_intervals_are_those_of_the_tables(self) -> None:
        """Oracle: binom.test of R for 8 of 40, 12 of 200, 0 of 30 and 30 of 30."""
        for hits, of, lower, upper in [(8, 40, 0.0905, 0.3565), (12, 200, 0.0314, 0.1025), (0, 30, 0.0, 0.1157)]:
            found = share(hits, of)
            self.assertAlmostEqual(found.lower, lower, places=4)
            self.assertAlmostEqual(found.upper, upper, places=4)
        self.assertAlmostEqual(share(30, 30).lower, 1 - 0.1157, places=4)

    def test_a_mean_has_students_interval(self) -> None:
        """By hand: 1 … 5 have mean 3, deviation √2.5, and t(0.975; 4) = 2.776."""
        found = mean([1.0, 2.0, 3.0, 4.0, 5.0])
        assert found is not None
        self.assertAlmostEqual(found.point, 3.0)
        self.assertAlmostEqual(found.upper - 3.0, 2.7764 * math.sqrt(2.5 / 5), places=3)
        self.assertIsNone(mean([1.0]))

    def test_effects_are_told_apart(self) -> None:
        """Values made of known effects give these effects, whatever the others are."""
        truth = (0.001, -0.002, 0.003, 0.0005)
        rows = [[1.0, float(each.name), float(each.copy), float(each.port)] for each in SETUPS]
        noise = [1e-6 * (-1) ** at for at in range(len(rows))]
        values = [
            math.fsum(t * x for t, x in zip(truth, row, strict=True)) + e for row, e in zip(rows, noise, strict=True)
        ]
        found = least_squares(rows, values)
        assert found is not None
        for effect, wanted in zip(found, truth, strict=True):
            self.assertAlmostEqual(effect.point, wanted, places=5)
            self.assertTrue(effect.lower < wanted < effect.upper)

    def test_a_straight_line_has_its_textbook_slope_and_error(self) -> None:
        """By hand, for (0, 1), (1, 2), (2, 4): slope 3/2, residual variance 1/6, its error √(1/12)."""
        found = least_squares([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 2.0, 4.0])
        assert found is not None
        self.assertAlmostEqual(found[1].point, 1.5)
        self.assertAlmostEqual(found[1].upper - 1.5, 12.706 * math.sqrt(1 / 12), places=3)

    def test_what_cannot_be_told_apart_is_not(self) -> None:
        self.assertIsNone(least_squares([[1.0, 1.0]] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]))
        self.assertIsNone(least_squares([[1.0]], [1.0]))
        self.assertIsNone(least_squares([], []))
        self.assertIsNone(inverted([[1.0, 2.0], [2.0, 4.0]]))

    def test_runs_as_far_apart_as_their_blocks_say_have_no_more(self) -> None:
        """Half-widths of 6 blocks are 2.571 standard errors; runs with deviation 2 and errors 1 are twice as far."""
        points = [-math.sqrt(2), math.sqrt(2)] * 1
        spread = overdispersion(points, [2.5706, 2.5706], 6)
        assert spread is not None
        self.assertAlmostEqual(spread, 2.0, places=3)
        self.assertIsNone(overdispersion([1.0], [1.0], 6))


class Kept(unittest.TestCase):
    def test_of_a_run_every_quantity_with_an_interval_is_taken(self) -> None:
        ratio = {"point": 1.01, "lower": 1.0, "upper": 1.02}
        none = {"headline": False, "ratio": None, "difference": None}
        summary = {
            "validity": "valid",
            "took_ns": 10_000_000_000,
            "costs": [
                {"quantity": "response_p50", "headline": True, "ratio": ratio, "difference": {"point": 151.0}},
                {"quantity": "throughput", **none},
            ],
        }
        got = taken(PLANTED, 3, setup(3), json.loads(json.dumps(summary)), 149.0)
        self.assertEqual(got.costs, {"response p50": Cost(1.01, 1.0, 1.02)})
        self.assertEqual((got.difference_ns, got.truth_ns, got.took), (151.0, 149.0, 10.0))

    def test_what_was_planted_is_the_difference_of_the_records_medians(self) -> None:
        head = "request,turned_ns,read_ns,begin_ns,end_ns,written_ns,drawn_ns,bytes,spent_ns,occupied_ns\n"
        with tempfile.TemporaryDirectory() as name:
            for place, each in (("0", (100, 110, 120)), ("1", (250, 260, 900))):
                folder = pathlib.Path(name) / place
                folder.mkdir()
                rows = "".join(f"{at},0,0,1000,{1000 + spent},0,0,64,0,0\n" for at, spent in enumerate(each))
                (folder / "7.csv").write_text(head + rows)
            self.assertEqual(planted(pathlib.Path(name)), 150)
            with self.assertRaises(TryError):
                planted(pathlib.Path(name) / "0")

    def test_an_interrupted_study_goes_on_where_it_was(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "book.jsonl"
            for number in range(3):
                Book(path).add("position", one(number, 1.001))
            again = Book(path)
            self.assertEqual(kept(again, SAME), [one(number, 1.001) for number in range(3)])
            self.assertEqual(list(missing(again, [SAME, PLANTED], 4)), [(SAME, 3)] + [(PLANTED, n) for n in range(4)])
            self.assertEqual(len(list(missing(again, [SAME], None))), SAME.tries - 3)


class Shown(unittest.TestCase):
    def test_tables_count_alarms_and_tell_effects_apart(self) -> None:
        tries = [one(number, 1.0 + 0.01 * setup(number).name) for number in range(16)]
        text = render(None, tries)
        self.assertIn("| response p50 | 16 | 16 | 79.4% to 100.0% |", text)
        self.assertIn("| name | `a-name-that-is-longer` over `short` | +1.000%", text)
        self.assertIn("| position | the second over the first | -0.005% [", text)
        self.assertNotIn("throughput |  |", text)

    def test_what_was_planted_is_held_against_the_records(self) -> None:
        tries = [one(n, 1.01, PLANTED.name, difference_ns=152.0 + n, truth_ns=151.0 + n) for n in range(3)]
        text = render(None, [*tries, one(3, 1.001, PLANTED.name)])
        self.assertIn("| 150 ns | 3 of 4 | at least 38 of 40, mean within 5 % | 153.0 ns [", text)
        self.assertIn("| 152.0 ns [149.5, 154.5] | 1.007 |", text)

    def test_a_study_without_runs_shows_nothing(self) -> None:
        self.assertEqual(render(None, []).strip(), "")

    def test_wrong_words_are_refused(self) -> None:
        for words in (["--case", "same"], ["--tries", "0"], ["--most", "x"]):
            with self.assertRaises(SystemExit) as stopped:
                arguments(words)
            self.assertEqual(stopped.exception.code, 2)
        self.assertEqual(arguments([]).case, list(BY_NAME))


if __name__ == "__main__":
    unittest.main()
