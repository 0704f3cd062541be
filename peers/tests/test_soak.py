"""An hour of soak: what takes part, what is read from /proc, figures, verdict, table and drawing."""

from __future__ import annotations

import os
import pathlib
import tempfile
import tomllib
import unittest
from typing import Any
from xml.etree import ElementTree

from soak.cases import BLOCKS, SERVERS, experiment
from soak.chart import draw, nice
from soak.command import arguments
from soak.figures import course, held, pieces, theil_sen
from soak.record import counted, growth, read
from soak.render import render
from soak.sample import Sample, take
from soak.visitors import links


def sample(at: float, who: str = "serve", rss: int = 20_000, descriptors: int = 9) -> Sample:
    return Sample(at, who, 7, rss, rss // 2, descriptors, 3, at / 10)


def hour(who: str = "serve", rise: int = 0, descriptors: int = 0) -> list[Sample]:
    """A look every 5 s for an hour; `rise` KiB and so many descriptors more at its end."""
    return [sample(at, who, 20_000 + rise * at // 3600, 9 + descriptors * at // 3600) for at in range(0, 3600, 5)]


def lines(samples: list[Sample], **more: Any) -> list[dict[str, Any]]:
    host = {"kind": "host", "at": "2026-01-02T03:04:05Z", "cpu": "C", "virtual": True, "cores": 2, "kernel": "6"}
    known: dict[str, Any] = {"kind": "run", "blocks": 2000, "of": 2000}
    return [{**host, "minutes": 60}, *(one.line() for one in samples), {**known, **more}]


class Cases(unittest.TestCase):
    def test_sixteen_servers_of_every_protocol_take_part(self) -> None:
        self.assertEqual(len({server.name for server in SERVERS}), 16)
        self.assertEqual({server.scheme for server in SERVERS}, {"http", "https", "memcached"})
        self.assertTrue(any("--http2" in server.words for server in SERVERS))

    def test_load_is_open_so_that_failures_do_not_end_it(self) -> None:
        for server in SERVERS:
            words = server.load("weigh", 8080, 3600)
            self.assertIn("-r", words)
            self.assertEqual(words[words.index("-d") + 1], "3600s")
            self.assertTrue(words[-1].startswith(f"{server.scheme}://127.0.0.1:8080"))

    def test_the_run_is_an_experiment_file(self) -> None:
        text = tomllib.loads(experiment("/a/weigh", BLOCKS, 2700))
        self.assertEqual((text["plan"]["blocks"], len(text["variant"])), (2000, 2))


class Looking(unittest.TestCase):
    def test_a_process_is_read_from_proc(self) -> None:
        one = take(1.25, "us", os.getpid())
        assert one is not None
        self.assertGreater(one.rss_kib, 1000)
        self.assertGreater(one.pss_kib, 0)
        self.assertGreaterEqual(one.threads, 1)
        self.assertEqual(Sample.read(one.line()), one)

    def test_a_name_with_blanks_and_brackets_hides_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "9"
            (folder / "fd").mkdir(parents=True)
            (folder / "fd" / "0").touch()
            (folder / "status").write_text("Name:\ta b\nVmRSS:\t  512 kB\nThreads:\t4\n")
            (folder / "smaps_rollup").write_text("00-ff ---p 0 [rollup]\nPss:  100 kB\nPss_Dirty: 1 kB\n")
            (folder / "stat").write_text("9 (a) (b) S " + " ".join(str(at) for at in range(4, 53)) + "\n")
            one = take(0.0, "x", 9, pathlib.Path(name))
        ticks = os.sysconf("SC_CLK_TCK")
        self.assertEqual(one, Sample(0.0, "x", 9, 512, 100, 1, 4, (14 + 15) / ticks))

    def test_a_process_that_has_ended_has_no_sample(self) -> None:
        self.assertIsNone(take(0.0, "x", 2**22 + 1))

    def test_runs_are_found_in_the_list(self) -> None:
        page = '<a href="/run/b/">b</a><a href="/run/b/report">r</a><a href="run/a/">a</a>'
        self.assertEqual(links(page), ["/run/b/", "/run/a/"])


class Figures(unittest.TestCase):
    def test_one_outlier_does_not_move_the_slope(self) -> None:
        """By hand: of ten points on a line, one of them moved far off, all pairs without that one have the line's slope."""
        points = [(float(at), 2.0 * at + (100.0 if at == 4 else 0.0)) for at in range(10)]
        found = theil_sen(points)
        assert found is not None
        self.assertEqual((found.point, found.lower <= 2.0 <= found.upper), (2.0, True))
        self.assertIsNone(theil_sen(points[:4]))

    def test_the_interval_ranks_by_kendalls_variance(self) -> None:
        """Of 6 points 15 slopes; √(6·5·17/18) · 1.96 = 10.43, so ranks ⌊2.28⌋ and ⌈12.72⌉ from 0."""
        values = [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]
        points = [(float(at), value) for at, value in enumerate(values)]
        slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1 :])
        found = theil_sen(points)
        assert found is not None
        self.assertEqual((found.point, found.lower, found.upper), (slopes[7], slopes[2], slopes[13]))

    def test_pieces_are_of_equal_time(self) -> None:
        found = pieces([(0.0, 1.0), (1.0, 2.0), (9.0, 3.0), (10.0, 4.0)], 2)
        self.assertEqual([[at for at, _ in span] for span in found], [[0.0, 1.0], [9.0, 10.0]])

    def test_a_planted_slope_is_found_per_hour(self) -> None:
        found = course([(one.at, one.rss_kib) for one in hour(rise=7200)])
        assert found.slope is not None
        self.assertAlmostEqual(found.slope.point, 7200, delta=30)
        self.assertAlmostEqual(found.growth, 3600, delta=30)

    def test_flat_is_by_share_or_by_size(self) -> None:
        for rise, flat in [(0, True), (4000, True), (4200, False), (-9000, True)]:
            self.assertEqual(held("serve", hour(rise=rise)).memory_flat, flat, rise)
        for more, flat in [(0, True), (4, True), (8, False)]:
            self.assertEqual(held("serve", hour(descriptors=more)).descriptors_flat, flat, more)


class Reading(unittest.TestCase):
    def test_what_load_prints_is_counted(self) -> None:
        said = (
            "1,379 of 12,027 requests failed: 1,234 reset, 145 timeout\n"
            "10,648 of 12,027 requests that were due were never sent\n12,027 requests in 60.0 s, open load\n"
        )
        self.assertEqual(counted(said), (12_027, "1,234 reset, 145 timeout; 10,648 never sent"))
        self.assertEqual(counted("5 requests in 1 s"), (5, "none"))

    def test_a_run_grows_by_its_records(self) -> None:
        samples = [sample(float(at), "run", 20_000 + at * 8) for at in range(0, 1000, 5)]
        progress = [{"at": float(at), "blocks": at, "run_bytes": at * 9 * 1024} for at in range(15, 1000, 15)]
        found = growth(samples, progress)
        assert found is not None
        self.assertAlmostEqual(found.kib_per_block, 8.0)
        self.assertAlmostEqual(found.written_kib_per_block, 9.0)
        self.assertTrue(found.within)

    def test_flat_is_said(self) -> None:
        record = read(lines(hour()))
        self.assertEqual(record.problems(), [])
        self.assertTrue(render(record).endswith("**Flat.**\n"))

    def test_what_is_not_flat_is_named(self) -> None:
        record = read(lines(hour(rise=9000) + hour("load x", descriptors=20), blocks=12))
        problems = " ".join(record.problems())
        for wanted in ("memory of `serve` by +4.4 MiB", "descriptors of `load x`", "12 of 2,000 blocks"):
            self.assertIn(wanted, problems)
        self.assertIn("**Not flat**", render(record))

    def test_a_process_that_ended_early_is_named(self) -> None:
        ended = {"kind": "ended", "at": 60.0, "who": "load x", "code": 2}
        self.assertEqual(read([*lines(hour()), ended]).problems(), ["`load x` ended early"])

    def test_what_was_broken_off_is_not_flat(self) -> None:
        self.assertEqual(read(lines(hour())[:-1]).problems(), ["the soak was not held to its end"])


class Drawing(unittest.TestCase):
    def test_axes_have_round_steps(self) -> None:
        self.assertEqual([nice(most) for most in (1.0, 68.0, 71.0, 60.0, 400.0)], [0.2, 20, 20, 20, 100])

    def test_every_process_is_a_line_with_its_name(self) -> None:
        text = draw({"serve": hour(), "load x": hour("load x"), "run": hour("run", 9000)})
        root = ElementTree.fromstring(text)
        titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sorted(set(filter(None, titles))), ["load x", "run", "serve"])

    def test_nothing_is_drawn_of_nothing(self) -> None:
        ElementTree.fromstring(draw({}))


class Typed(unittest.TestCase):
    def test_an_hour_and_two_thousand_blocks_are_the_default(self) -> None:
        options = arguments([])
        self.assertEqual((options.minutes, options.blocks, options.every), (60, 2000, 5))


if __name__ == "__main__":
    unittest.main()
