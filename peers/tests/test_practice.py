"""The arithmetic of `peers/trust/practice`, against values of R's `t.test` and of a table."""

import importlib.machinery
import importlib.util
import itertools
import math
import pathlib
import unittest

FILE = pathlib.Path(__file__).resolve().parents[1] / "trust" / "practice"
LOADER = importlib.machinery.SourceFileLoader("practice", str(FILE))
SPEC = importlib.util.spec_from_loader("practice", LOADER)
assert SPEC
practice = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(practice)


class Practice(unittest.TestCase):
    def test_the_interval_is_that_of_welch(self) -> None:
        # Logarithms 0.0 0.1 0.2 and 0.3 0.5 0.4 0.6: means 0.1 and 0.45, variances 0.01 and 0.016667, 4.96 degrees of
        # freedom, standard error sqrt(0.01/3 + 0.016667/4) = 0.086603.
        one = [math.exp(value) for value in (0.0, 0.1, 0.2)]
        other = [math.exp(value) for value in (0.3, 0.5, 0.4, 0.6)]
        low, high = practice.welch(one, other)
        self.assertAlmostEqual(math.log(low), 0.35 - 2.776 * 0.086603, places=4)
        self.assertAlmostEqual(math.log(high), 0.35 + 2.776 * 0.086603, places=4)
        self.assertAlmostEqual(practice.half_width((low, high)), 2.776 * 0.086603, places=4)

    def test_equal_times_have_an_interval_of_no_width(self) -> None:
        self.assertEqual(practice.welch([2.0, 2.0], [2.0, 2.0]), (1.0, 1.0))

    def test_fewer_degrees_of_freedom_widen(self) -> None:
        self.assertEqual(practice.student(0.5), math.inf)
        self.assertEqual([practice.student(at) for at in (1, 4.96, 30, 31)], [12.706, 2.776, 2.042, 1.96])

    def test_neither_is_always_first(self) -> None:
        self.assertEqual(list(itertools.islice(practice.turns(), 8)), [0, 1, 1, 0, 0, 1, 1, 0])


if __name__ == "__main__":
    unittest.main()
