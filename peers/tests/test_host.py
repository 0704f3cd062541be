"""Settings of the host: what is changed and put back, and the arithmetic of what that costs."""

from __future__ import annotations

import math
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib
import unittest
from collections.abc import Callable

from host import cases, render, settings
from host.cases import CASES, Cores, PerProcess, SystemWide, mask
from host.figures import Unit, deviation_ratio, median, unit
from host.settings import chosen, devices_interrupts, kept, put
from host.sittings import pair
from study.records import Block, Trial, Window


def window(number: int, p50: int, cpu: int = 5_000) -> Window:
    return Window("measured", number, 0, 0, 1, 100, p50 * 100, p50, cpu * 100, 100)


def trial(*medians: int, cpu: int = 5_000) -> Trial:
    return Trial([window(number, p50, cpu) for number, p50 in enumerate(medians)], None)


class Cases(unittest.TestCase):
    def test_every_run_is_an_experiment_of_two_or_four_variants_plain_first(self) -> None:
        for case in (case for case in CASES if isinstance(case, PerProcess)):
            read = tomllib.loads(case.experiment("/services", 7))
            names = [variant["name"].split()[0] for variant in read["variant"]]
            self.assertEqual(names, ["plain", "plain", "changed", "changed"] if case.starts else ["plain", "changed"])
            commands = [variant["command"] for variant in read["variant"]]
            self.assertEqual(commands[0][-3:], commands[-1][-3:])
            self.assertNotEqual(commands[0], commands[-1])
            self.assertEqual(read["plan"]["seed"], 7)

    def test_a_side_of_the_whole_system_is_what_is_written(self) -> None:
        cores = Cores(service=0, client=33)
        sides = {
            case.name: (case.side(False, cores), case.side(True, cores))
            for case in CASES
            if isinstance(case, SystemWide)
        }
        self.assertEqual(sides["steering-client"], ("0", "2,00000000"))
        self.assertEqual(sides["steering-service"], ("0", "1"))
        self.assertEqual(sides["interrupts"], ("0", "33"))
        self.assertEqual(sides["autogroup"], ("1", "0"))

    def test_masks_are_hexadecimal_words_of_32_bits(self) -> None:
        self.assertEqual([mask(core) for core in (0, 1, 5, 31, 32, 64)], [
            "1", "2", "20", "80000000", "1,00000000", "1,00000000,00000000",
        ])  # fmt: skip


class Settings(unittest.TestCase):
    def test_the_value_in_force_is_read(self) -> None:
        self.assertEqual(chosen("always [madvise] never\n"), "madvise")
        self.assertEqual(chosen("0-1\n"), "0-1")

    def test_what_was_changed_is_put_back_also_after_an_interruption(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "setting"
            file.write_text("always [madvise] never\n")
            with self.assertRaises(KeyboardInterrupt), kept([file]):
                put(file, "always")
                self.assertEqual(file.read_text(), "always")
                raise KeyboardInterrupt
            self.assertEqual(file.read_text(), "madvise")

    def test_what_cannot_be_written_says_what_to_do(self) -> None:
        with self.assertRaisesRegex(settings.SettingError, "run as root"):
            put(pathlib.Path("/proc/no such file"), "1")

    def test_interrupts_of_devices_are_counted_by_core(self) -> None:
        text = "      CPU0 CPU2\n  1:  3  4  chip  edge  disk\n 12:  10  0  chip  net\nLOC:  7  8  timer\nERR:  0\n"
        self.assertEqual(devices_interrupts(text), {0: 13, 2: 4})

    def test_attributes_are_those_of_the_program_that_follows(self) -> None:
        words = [
            "--fixed-addresses",
            "--timer-slack",
            "1234",
            "--",
            "cat",
            "/proc/self/personality",
            "/proc/self/timerslack_ns",
        ]
        done = subprocess.run([sys.executable, cases.ATTRIBUTE, *words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["00040000", "1234"])


class Arithmetic(unittest.TestCase):
    def test_medians_have_the_intervals_of_the_sign_test(self) -> None:
        """Oracle: tables of the sign test's order statistics (Conover): of 20 the 6th and the 15th, of 6 the ends."""
        for count, least, most in [(20, 6, 15), (6, 1, 6), (10, 2, 9), (50, 18, 33)]:
            found = median([float(number) for number in range(1, count + 1)])
            assert found is not None
            self.assertEqual((found.point, found.lower, found.upper), ((count + 1) / 2, least, most))
        self.assertIsNone(median([1.0] * 5))

    def test_a_series_twice_as_wide_has_twice_the_deviation(self) -> None:
        found = deviation_ratio([1.0, -1.0, 2.0, -2.0], [2.0, -2.0, 4.0, -4.0])
        assert found is not None
        self.assertAlmostEqual(found.point, 2.0)
        # κ of ±1, ±2 is ((1 + 16)/2) / (5/2)² = 1.36; the half-width of ln is half of 1.96·√(0.36·(1/4 + 1/4)).
        reach = 1.959964 * math.sqrt(0.36 * 0.5) / 2
        self.assertAlmostEqual(math.log(found.upper / 2.0), reach, places=9)
        self.assertAlmostEqual(math.log(2.0 / found.lower), reach, places=9)

    def test_intervals_of_ratios_cover_for_normal_and_for_heavier_tails(self) -> None:
        draws: dict[str, Callable[[random.Random], float]] = {
            "normal": lambda generator: generator.gauss(0, 1),
            "Laplace": lambda generator: generator.expovariate(1) * generator.choice((-1, 1)),
        }
        for name, draw in draws.items():
            generator, held = random.Random(3), 0
            for _ in range(1000):
                found = deviation_ratio(
                    [draw(generator) for _ in range(50)], [1.5 * draw(generator) for _ in range(50)]
                )
                held += found is not None and found.lower <= 1.5 <= found.upper
            # 95 % ± 3 standard deviations of 1,000 tries, and 2 % less for what an estimate of κ costs.
            self.assertTrue(909 <= held <= 971, f"{name}: {held} of 1,000")

    def test_a_block_of_four_variants_tells_the_cost_and_what_starts_differ_by(self) -> None:
        levels = (1000, 1010, 2000, 2040)
        block = Block([trial(*[level] * 5, cpu=cpu) for level, cpu in zip(levels, (10, 10, 20, 20), strict=True)])
        found = unit(block, [100, 100, 300, 300])
        self.assertAlmostEqual(found.p50, (math.log(2) + math.log(2040 / 1010)) / 2)
        self.assertAlmostEqual(found.mean, found.p50)
        assert found.plain_starts is not None and found.changed_starts is not None
        self.assertAlmostEqual(found.plain_starts, math.log(1.01))
        self.assertAlmostEqual(found.changed_starts, math.log(1.02))
        assert found.cpu is not None and found.memory is not None
        self.assertAlmostEqual(found.cpu, math.log(2))
        self.assertAlmostEqual(found.memory, math.log(3))
        self.assertEqual(found.plain_p50_ns, 1005)

    def test_a_block_of_two_variants_tells_the_cost_alone(self) -> None:
        found = unit(Block([trial(100, 200, 400), trial(110, 220, 440)]), [None, 5])
        self.assertAlmostEqual(found.p50, math.log(1.1))
        self.assertEqual((found.plain_starts, found.changed_starts, found.memory), (None, None, None))

    def test_a_pair_of_loads_is_changed_over_plain(self) -> None:
        found = pair({"p50_ns": 100, "mean_ns": 200}, {"p50_ns": 110, "mean_ns": 180})
        self.assertAlmostEqual(found.p50, math.log(1.1))
        self.assertAlmostEqual(found.mean, math.log(0.9))


class Tables(unittest.TestCase):
    def test_costs_are_told_as_percentages_with_intervals(self) -> None:
        units = [Unit(math.log(1.02), math.log(0.99), plain_p50_ns=20_000.0)] * 6
        row = render.costs(cases.BY_NAME["autogroup"], units)
        self.assertEqual(row[:5], ["autogroup", "Rust", "on", "off", "20.0 µs"])
        self.assertEqual(row[5:7], ["+2.0% [+2.0%, +2.0%]", "−1.0% [−1.0%, −1.0%]"])
        self.assertEqual(row[7:], ["–", "–", "6"])

    def test_starts_are_told_as_the_deviation_of_one(self) -> None:
        units = [
            Unit(0.0, 0.0, plain_starts=x, changed_starts=2 * x, plain_p50_ns=1.0) for x in (0.01, -0.01, 0.02, -0.02)
        ]
        row = render.starts(cases.BY_NAME["addresses-rust"], units)
        assert row is not None
        # The deviation of ±1 %, ±2 % is √(10/3) %, of one start that over √2.
        self.assertEqual(row[2:4], ["1.29%", "2.58%"])
        self.assertTrue(row[4].startswith("2.00 ["))
