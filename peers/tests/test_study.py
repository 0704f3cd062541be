"""The study's arithmetic on made-up windows whose answer is known, its histograms against those of the Rust library, and
that its experiments are what the tables say."""

from __future__ import annotations

import math
import pathlib
import random
import statistics
import tomllib
import unittest
from collections.abc import Sequence

from study import cases, figures, records, render
from study.records import Block, Trial, Window

ROOT = pathlib.Path(__file__).resolve().parents[2]
MILLISECOND = 1_000_000


def window(number: int, position: int, p50: float, kind: str = "measured", milliseconds: int = 100) -> Window:
    """A window of one hundred requests that all took `p50` ns; rounds of two windows follow each other without a gap."""
    started = (2 * number + position) * milliseconds * MILLISECOND
    return Window(
        kind=kind,
        round=number,
        position=position,
        started=started,
        ended=started + milliseconds * MILLISECOND,
        requests=100,
        total=round(100 * p50),
        p50=round(p50),
        cpu=round(50 * p50),
        cpu_requests=100,
    )


def block(first: Sequence[float], second: Sequence[float], milliseconds: int = 100) -> Block:
    """A block whose variants take turns in being first."""
    trials = []
    for variant, values in enumerate((first, second)):
        windows = [
            window(number, (number + variant) % 2, value, milliseconds=milliseconds)
            for number, value in enumerate(values)
        ]
        trials.append(Trial(windows, None))
    return Block(trials)


class Slices(unittest.TestCase):
    def test_hold_as_many_rounds_as_fit_their_time(self) -> None:
        pairs = figures.rounds(block([1e4] * 50, [1e4] * 50))
        self.assertAlmostEqual(figures.seconds_of_round(pairs), 0.2)
        self.assertEqual([len(part) for part in figures.slices(pairs)], [10] * 5)
        self.assertEqual([len(part) for part in figures.slices(pairs, 1.0)], [5] * 10)

    def test_of_long_windows_are_single_rounds(self) -> None:
        pairs = figures.rounds(block([1e4] * 3, [1e4] * 3, milliseconds=2500))
        self.assertEqual([len(part) for part in figures.slices(pairs)], [1, 1, 1])
        self.assertEqual(figures.slices([]), [])

    def test_rounds_that_one_variant_lacks_are_left_out(self) -> None:
        whole = block([1e4] * 3, [2e4] * 3)
        cut = Block([whole.trials[0], Trial(whole.trials[1].windows[1:], None)])
        self.assertEqual([pair[0].round for pair in figures.rounds(cut)], [1, 2])


class Estimators(unittest.TestCase):
    def test_of_a_constant_cost_all_give_its_logarithm(self) -> None:
        pairs = figures.rounds(block([10_000.0] * 9, [12_500.0] * 9))
        for name, estimator in figures.ESTIMATORS.items():
            self.assertAlmostEqual(estimator(pairs), math.log(1.25), msg=name)

    def test_shared_drift_cancels_in_pairs_and_one_bad_window_only_in_medians(self) -> None:
        base = [10_000.0 * 1.1**number for number in range(9)]
        pairs = figures.rounds(block(base, [1.25 * value for value in base]))
        self.assertAlmostEqual(figures.paired_median(pairs), math.log(1.25), places=4)
        bad = figures.rounds(block([10_000.0] * 9, [10_000.0] * 8 + [90_000.0]))
        self.assertEqual(figures.paired_median(bad), 0.0)
        self.assertAlmostEqual(figures.paired_mean(bad), math.log(9) / 9)
        self.assertAlmostEqual(figures.pooled_mean(bad), math.log(17 / 9))
        self.assertEqual(figures.median_of_means(bad), 0.0)


class Spreads(unittest.TestCase):
    def test_neighbours_give_the_deviation_and_a_step_between_series_is_none(self) -> None:
        found = figures.successive([[1.0, 3.0, 2.0], [100.0, 101.0]])
        assert found
        self.assertAlmostEqual(found.deviation, math.sqrt((4 + 1 + 1) / 3 / 2))
        self.assertEqual(found.differences, 3)
        self.assertIsNone(figures.successive([[1.0], []]))

    def test_of_independent_noise_is_its_deviation_paired_and_root_two_times_that_of_one(self) -> None:
        """Oracle: ln ratios of two independent lognormal levels of 1 % have 1.414 %, in whichever order they are taken;
        means over 20 rounds a 20th of the variance."""
        draw = random.Random(5)

        def noisy() -> list[float]:
            return [1e6 * math.exp(draw.gauss(0, 0.01)) for _ in range(4000)]

        noise = [block(noisy(), noisy())]
        expected = math.sqrt(2) * 0.01 / math.sqrt(20)
        told, paired = figures.spread(noise, figures.pooled_mean), figures.paired(noise, figures.pooled_mean)
        apart = figures.sequential(noise, figures.log_mean)
        assert told and paired and apart
        # 4 s are 20 rounds, a slice is ten of them; the usual spread is the spread where nothing is rare and large.
        self.assertAlmostEqual(told.deviation / expected, 1, delta=0.15)
        self.assertAlmostEqual(told.usual / expected, 1, delta=0.15)
        for found in (paired, apart):
            self.assertAlmostEqual(found.deviation / expected / math.sqrt(2), 1, delta=0.15)
            self.assertAlmostEqual(found.usual / expected / math.sqrt(2), 1, delta=0.15)

    def test_a_shared_step_shows_in_sequential_order_alone_and_a_difference_for_good_in_none(self) -> None:
        levels = [10_000.0] * 10 + [11_000.0] * 10
        stepped = [block(levels, [1.5 * value for value in levels])]
        paired, apart = figures.paired(stepped, figures.paired_median), figures.sequential(stepped, figures.log_median)
        assert paired and apart
        self.assertAlmostEqual(paired.deviation, 0, places=6)
        self.assertAlmostEqual(apart.deviation, math.log(1.1), places=4)

    def test_starts_are_what_blocks_have_beyond_their_slices(self) -> None:
        """Oracle: blocks at exactly ± 1 % without noise have a start of 1 %; with noise of slices alone they have none."""
        still = [block([1e6] * 40, [1e6 * math.exp(sign * 0.01)] * 40) for sign in (1, -1, 1, -1)]
        found = figures.starts(still, figures.paired_median)
        assert found
        self.assertAlmostEqual(found[0], 0.01, places=5)
        self.assertEqual((round(found[1], 6), found[2]), (0.0, 4))
        draw = random.Random(7)
        values = []
        for _ in range(30):
            noisy = [block([1e6] * 40, [1e6 * math.exp(draw.gauss(0, 0.02)) for _ in range(40)]) for _ in range(8)]
            item = figures.starts(noisy, figures.pooled_mean)
            assert item
            values.append(item[0])
        # 2 % of 40 windows leave 0.32 % in a block; nothing of that may be called starts.
        self.assertLess(statistics.median(values), 0.0015)

    def test_the_expected_half_width_is_students(self) -> None:
        """Oracle: t(0.975, 5) = 2.5706; 6 blocks of 10 s with 2 s of warm-up have 4 s twice."""
        width = figures.half_width(0.003, 0.004, 6, 60, 2)
        self.assertAlmostEqual(width or 0, 2.5706 * math.sqrt(0.003**2 + 0.004**2 / 2) / math.sqrt(6))
        self.assertIsNone(figures.half_width(0.003, 0.004, 30, 60, 1.5))


class Levels(unittest.TestCase):
    def test_order_in_the_round_and_the_lead_in_are_told(self) -> None:
        slower = [10_000.0 if number % 2 else 10_100.0 for number in range(40)]
        # The first variant is first in even rounds; whoever is first takes 1 % more.
        found = figures.place_effect([block(slower, [20_100.0 - value for value in slower])] * 2)
        assert found
        self.assertAlmostEqual(found[0], -math.log(1.01), places=5)
        windows = [window(0, 0, 12_000, "lead-in"), window(0, 0, 10_000), window(0, 1, 10_000, "check")]
        trial = Trial(windows, None)
        self.assertAlmostEqual(figures.after_switch([Block([trial, trial])]) or 0, math.log(1.2))
        self.assertEqual(figures.against_longer([Block([trial, trial])]), (0.0, 2))

    def test_cpu_is_a_request_s(self) -> None:
        self.assertEqual(figures.cpu_level([block([1e4] * 4, [1e4] * 4)]), 5_000.0)


class Histograms(unittest.TestCase):
    def test_are_those_that_the_rust_library_wrote(self) -> None:
        """Oracle: the log's own column of the largest value, which the library computed before it encoded."""
        log = (ROOT / "fuzz/corpus/run_record/total.hlog").read_text()
        lines = [line for line in log.splitlines() if line.startswith("Tag=")]
        read = 0
        for line in lines:
            *_, largest, text = line.split(",")
            filled = [position for position, count in enumerate(records.decode(text)) if count]
            if filled:
                low, high = records.edges(filled[-1])
                self.assertTrue(low <= round(float(largest)) < high, f"{largest} is not in [{low}, {high})")
                read += 1
        self.assertGreaterEqual(read, 2)

    def test_positions_are_exact_below_2048_and_to_a_thousandth_above(self) -> None:
        self.assertEqual(records.edges(1), (1, 2))
        self.assertEqual(records.edges(2047), (2047, 2048))
        self.assertEqual(records.edges(2048), (2048, 2050))
        self.assertEqual(records.edges(3072), (4096, 4100))

    def test_numbers_are_zigzag_and_a_ninth_byte_is_whole(self) -> None:
        self.assertEqual(list(records.numbers(bytes([0x02, 0x01, 0x80, 0x02]))), [1, -1, 128])
        # Of -2 ** 63 every bit is set once zigzagged.
        self.assertEqual(list(records.numbers(b"\xff" * 9)), [-(2**63)])

    def test_quantiles_are_even_within_a_position(self) -> None:
        self.assertEqual(records.quantile([0, 0, 10], 0.5), 2.5)
        self.assertEqual(records.quantile([0, 5, 5], 0.5), 2.0)
        with self.assertRaises(ValueError):
            records.decode("AAAA")


class Cases(unittest.TestCase):
    def test_are_programs_against_themselves_in_seeded_order(self) -> None:
        plan = cases.cases(cases.SERVICES, 1.0, 1)
        self.assertEqual(plan, cases.cases(cases.SERVICES, 1.0, 1))
        self.assertNotEqual(plan, cases.cases(cases.SERVICES, 1.0, 2))
        self.assertEqual(len({case.name for case in plan}), len(plan))
        for case in plan:
            read = tomllib.loads(case.experiment("/services"))
            one, same = read["variant"]
            self.assertEqual(one["command"], same["command"])
            self.assertEqual(read["plan"]["window"], f"{case.window_milliseconds} ms")
            self.assertEqual(read["plan"]["freeze"], case.freeze)

    def test_take_less_than_a_quarter_of_an_hour(self) -> None:
        plan = cases.cases(cases.SERVICES, 1.0, 1)
        total = sum(case.blocks * (case.seconds + cases.OVERHEAD_SECONDS[case.service]) for case in plan)
        self.assertLess(total, 13 * 60)


class Tables(unittest.TestCase):
    def test_a_study_of_little_has_dashes_and_no_error(self) -> None:
        case = cases.Case("go", 20, True, 2, 1.0, 1)
        runs = [(case, [block([1e4] * 45, [1e4] * 45), block([1e4] * 45, [1e4] * 45)])]
        text = render.markdown(runs, {"cpu": "x"})
        self.assertIn("| 20 ms | 0.00 % (0.00 %) | 0.00 % (0.00 %) | 6 |", text)
        self.assertIn("| go", text.lower())
        self.assertTrue(render.markdown([], {}))


if __name__ == "__main__":
    unittest.main()
