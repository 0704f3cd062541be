"""Small planted differences: what would be needed, what is kept, what is shown."""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import tempfile
import tomllib
import unittest
from typing import Any

from differences.book import Book
from differences.cases import BY_NAME, CASES, experiment, law
from differences.command import arguments, turns_of
from differences.render import render
from differences.rivals import Pair, need
from differences.students import below, pairs_needed, quantile
from differences.tries import Try, taken


def one(case: str = "p50-2", **more: Any) -> Try:
    known: dict[str, Any] = {
        "case": case, "seed": 1, "at": "2026-01-02T03:04:05Z", "added_ns": 400, "baseline_ns": 20_000.0,
        "point": 1.02, "lower": 1.015, "upper": 1.025, "verdict": "higher", "reason": None, "validity": "valid",
        "windows": 14.3, "lead_in": 0.8, "warm_up": 4.1, "took": 20.5,
    }  # fmt: skip
    return Try(**{**known, **more})


class Student(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self) -> None:
        """Oracle: tables of Student's t (Fisher and Yates)."""
        for share, freedom, value in [
            (0.975, 1, 12.706),
            (0.975, 5, 2.571),
            (0.975, 30, 2.042),
            (0.8, 9, 0.883),
            (0.5, 3, 0.0),
        ]:
            self.assertAlmostEqual(quantile(share, freedom), value, places=3)

    def test_one_degree_of_freedom_is_the_cauchy_law(self) -> None:
        for t in (-3.0, -0.5, 0.7, 2.0):
            self.assertAlmostEqual(below(t, 1), 0.5 + math.atan(t) / math.pi, places=9)

    def test_pairs_needed_are_the_fewest(self) -> None:
        """Near the closed form of the normal law, (1.960 + 0.8416)²·(s/e)² = 7.849·(s/e)², and above it by t's tails."""
        self.assertEqual(pairs_needed(0.05, 0.02), 52)
        count = pairs_needed(0.1, 0.01)
        assert count is not None
        self.assertTrue(785 <= count <= 789, count)
        self.assertIsNone(pairs_needed(1.0, 1e-6))


class Cases(unittest.TestCase):
    def test_every_try_is_an_experiment_file(self) -> None:
        for case in CASES:
            read = tomllib.loads(experiment(case, "/bin/weigh", 400, 7, 20))
            self.assertEqual(read["plan"]["headline"], case.quantity)
            self.assertEqual((read["plan"]["seed"], read["plan"]["budget"]), (7, "20 s"))
            self.assertEqual(len(read["variant"]), 2)

    def test_what_is_added_is_added_where_the_quantity_sees_it(self) -> None:
        self.assertEqual(law(BY_NAME["p50-1"], 200), "10200ns")
        self.assertEqual(law(BY_NAME["p99-5"], 9_000), "bimodal:low=10000ns,high=309000ns,share=3%")

    def test_cases_take_turns_as_often_as_they_have_tries(self) -> None:
        cases = [BY_NAME["same-probe"], BY_NAME["p50-2"]]
        turns = [case.name for case in turns_of(cases, None)]
        self.assertEqual((turns.count("same-probe"), turns.count("p50-2")), (70, 20))
        gaps = [index for index, name in enumerate(turns) if name == "p50-2"]
        self.assertLess(max(after - before for before, after in itertools.pairwise(gaps)), 6)
        self.assertEqual(len(list(turns_of(cases, 3))), 6)


class Found(unittest.TestCase):
    def test_only_an_interval_above_1_finds_what_was_planted(self) -> None:
        self.assertTrue(one().found)
        self.assertFalse(one(lower=0.99).found)
        slower = one(point=0.98, lower=0.97, upper=0.99)
        self.assertTrue(slower.excludes_0 and not slower.found)
        self.assertFalse(one(lower=None, upper=None).excludes_0)

    def test_of_a_run_the_headline_and_the_windows_times_are_taken(self) -> None:
        summary = {
            "validity": "valid",
            "took_ns": 5_000_000_000,
            "costs": [
                {"headline": False, "quantity": "throughput", "ratio": None, "verdict": "undecided", "reason": None},
                {
                    "headline": True,
                    "ratio": {"point": 1.02, "lower": 1.01, "upper": 1.03},
                    "verdict": "higher",
                    "reason": None,
                },
            ],
            "variants": [
                {"baseline": True, "figures": [{"quantity": "response_p50", "estimate": {"point": 20_000.0}}]}
            ],
        }
        with tempfile.TemporaryDirectory() as name:
            trial = pathlib.Path(name) / "run" / "trials" / "000"
            trial.mkdir(parents=True)
            rows = [
                "measured,0,20000000",
                "lead-in,0,1000000",
                "measured,0,10000000",
                "check,0,200000000",
                "warm-up,0,5000000",
            ]
            (trial / "windows.csv").write_text("\n".join(["kind,started_ns,ended_ns", *rows]))
            got = taken(BY_NAME["p50-2"], 400, 9, json.loads(json.dumps(summary)), pathlib.Path(name))
        self.assertEqual((got.point, got.baseline_ns, got.took), (1.02, 20_000.0, 5.0))
        self.assertAlmostEqual(got.windows, 0.23)
        self.assertAlmostEqual(got.lead_in + got.warm_up, 0.006)

    def test_a_book_holds_what_was_put_in_and_is_read_again(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "new" / "book.jsonl"
            Book(path).add("try", one(seed=3))
            again = Book(path)
            self.assertEqual(again.tries(BY_NAME["p50-2"]), [one(seed=3)])
            self.assertEqual(again.tries(BY_NAME["p50-1"]), [])


class Shown(unittest.TestCase):
    def test_tables_count_alarms_and_finds(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            book = Book(pathlib.Path(name) / "book.jsonl")
            for point in (1.0, 1.02, 0.98):
                book.add("try", one("same-rust", point=point, lower=point - 0.01, upper=point + 0.01))
            book.add("try", one(lower=0.99))
            book.add("try", one())
            for first, second in [(20.0, 20.4), (20.0, 24.0), (20.0, 18.0)]:
                book.add("pair", Pair("p50-2", "wrk", 400, (first, second), (5e4, 4.9e4), "AB"))
            text = render(book, CASES)
        self.assertIn("| all (goal: at most 16 of 200) | 3 | 2 (66.7%) |", text)
        self.assertIn("| +2 % on p50 | 400 ns | 20.0 µs [20.0, 20.0] | 1 of 2 | at least 16 of 20 |", text)
        self.assertIn("| +2 % on p50 | wrk | p50 | 3 | +2.00% |", text)
        self.assertIn("nothing can be said: all pairs gave the same", text)

    def test_need_is_in_runs_of_both(self) -> None:
        said = need([1.02, 1.07, 0.97], 0.02)
        assert said.needed is not None
        self.assertEqual(said.seconds, said.needed * 20.0)
        self.assertAlmostEqual(said.median, 1.02)

    def test_one_pair_tells_no_spread(self) -> None:
        """A study that was interrupted after its first pair is shown all the same."""
        said = need([1.02], 0.02)
        self.assertEqual((said.pairs, said.deviation, said.seconds), (1, None, None))
        with tempfile.TemporaryDirectory() as name:
            book = Book(pathlib.Path(name) / "book.jsonl")
            book.add("pair", Pair("p50-2", "wrk", 400, (20.0, 20.4), (5e4, 4.9e4), "AB"))
            text = render(book, CASES)
        self.assertIn(
            "| +2 % on p50 | wrk | p50 | 1 | +2.00% | – | nothing can be said: one pair tells no spread |", text
        )

    def test_wrong_words_are_refused(self) -> None:
        for words in (["--case", "p51"], ["--tries", "0"], ["--rivals", "-1"], ["--rivals", "1"]):
            with self.assertRaises(SystemExit) as stopped:
                arguments(words)
            self.assertEqual(stopped.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
