"""Every tool's parser on recorded output, and on what is no output at all."""

from __future__ import annotations

import json
import pathlib
import re
import unittest

from compare import tools_grpc, tools_http, tools_kv, tools_ours, tools_sessions
from compare.servers import MEMCACHED_COUNTS, REDIS_COUNTS, parse_stub_status
from compare.tools import Outcome, ParseError, Tool

from . import samples

ROOT = pathlib.Path("/nowhere")

WRK = Outcome(188953, 0, 188953 / 188485.93, p50_us=16.0, p99_us=2730.0, mean_us=108.61)
H2LOAD_H1 = Outcome(90422, 0, 1.0)
H2LOAD_H2 = Outcome(88341, 0, 1.0)
FORTIO = Outcome(146557, 0, 1.00003191, p50_us=27.309579, p99_us=44.409280)
GHZ = Outcome(7565, 0, 7565 / 7561.81, p50_us=2470.0, p99_us=17620.0)
WEIGH_CLOSED = Outcome(70136, 0, 1.0034769, p50_us=21.183, p99_us=720.895, lag_p99_us=0.43, mean_us=57.231)
WEIGH_RUN = Outcome(
    677565,
    0,
    677565 / 123774.83926446988,
    mean_us=128.82178,
    p50_us=128.753,
    p99_us=213.247,
    remark="suspect: drift: response p50 changed by -15.2 % within a trial, in 1 of 1 trials",
)
WEIGH_OPEN = Outcome(
    2971,
    0,
    2.998150771,
    mean_us=100.064,
    p50_us=44.447,
    p99_us=2310.143,
    offered=990.9441608932348,
    lag_p99_us=933.375,
    remark="invalid: the generator was late: lag p99 933 µs, limit 100 µs",
)


class Parsers(unittest.TestCase):
    """Expected numbers were read from the samples by eye."""

    def check(self, tool: Tool, name: str, case: str, expected: Outcome) -> None:
        said = tool.parse(samples.finished(samples.text(name)), samples.job(case))
        for field, value in vars(expected).items():
            actual = getattr(said, field)
            if isinstance(value, float):
                self.assertAlmostEqual(actual, value, places=4, msg=field)
            else:
                self.assertEqual(actual, value, field)

    def test_wrk(self) -> None:
        self.check(tools_http.Wrk(), "wrk.txt", "http1-16", WRK)

    def test_wrk_counts_other_statuses_as_errors(self) -> None:
        said = tools_http.Wrk().parse(samples.finished(samples.text("wrk-errors.txt")), samples.job())
        self.assertEqual((said.requests, said.errors), (0, 194373))

    def test_wrk_counts_socket_errors(self) -> None:
        text = samples.text("wrk.txt").replace(
            "Requests/sec", "  Socket errors: connect 1, read 2, write 3, timeout 4\nRequests/sec"
        )
        said = tools_http.Wrk().parse(samples.finished(text), samples.job())
        self.assertEqual(said.errors, 10)

    def test_wrk2(self) -> None:
        expected = Outcome(19990, 0, 20.0, p50_us=1010.0, p99_us=2080.0, offered=1000.0, mean_us=1020.0)
        self.check(tools_http.Wrk2(), "wrk2.txt", "open-1k", expected)

    def test_oha(self) -> None:
        # Three requests were cut off by the end of the time: neither done nor failed.
        self.check(
            tools_http.Oha(), "oha.json", "http1-16", Outcome(127385, 0, 1.0022754, 26.69, 51.33, mean_us=30.906225)
        )

    def test_oha_counts_other_statuses_as_errors(self) -> None:
        said = tools_http.Oha().parse(samples.finished(samples.text("oha-errors.json")), samples.job())
        self.assertEqual((said.requests, said.errors), (0, 117106))

    def test_oha_counts_broken_connections_as_errors(self) -> None:
        said = json.loads(samples.text("oha.json"))
        said["errorDistribution"]["connection closed"] = 7
        self.assertEqual(tools_http.Oha().parse(samples.finished(json.dumps(said)), samples.job()).errors, 7)

    def test_h2load_without_percentiles(self) -> None:
        for name, case, expected in (("h2load-h1.txt", "http1-16", H2LOAD_H1), ("h2load-h2.txt", "h2-1x32", H2LOAD_H2)):
            with self.subTest(name):
                self.check(tools_http.H2load(), name, case, expected)

    def test_h2load_with_percentiles(self) -> None:
        said = tools_http.H2load().parse(
            samples.finished(samples.text("h2load-percentiles.txt")), samples.job("h2-1x32")
        )
        self.assertEqual((said.requests, said.errors, said.p50_us, said.p99_us), (1200030, 7, 78.0, 191.0))
        self.assertAlmostEqual(said.seconds, 3.0, places=3)

    def test_hey_leaves_out_what_it_rounds_away(self) -> None:
        said = tools_http.Hey().parse(samples.finished(samples.text("hey.txt")), samples.job())
        self.assertEqual((said.requests, said.errors, said.p50_us, said.p99_us), (68689, 0, None, None))

    def test_hey_counts_other_statuses_and_refusals_as_errors(self) -> None:
        text = samples.text("hey-errors.txt")
        said = tools_http.Hey().parse(samples.finished(text), samples.job())
        self.assertEqual((said.requests, said.errors), (0, 77180))
        text += 'Error distribution:\n  [12]\tGet "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connection refused\n'
        self.assertEqual(tools_http.Hey().parse(samples.finished(text), samples.job()).errors, 77192)

    def test_fortio(self) -> None:
        self.check(tools_http.Fortio(), "fortio.json", "http1-16", FORTIO)

    def test_vegeta(self) -> None:
        expected = Outcome(29997, 3, 3.0001, p50_us=155.21, p99_us=1044.25, offered=10000.0)
        self.check(tools_http.Vegeta(), "vegeta.json", "open-10k", expected)

    def test_k6(self) -> None:
        self.check(tools_http.K6(), "k6.json", "http1-16", Outcome(32107, 0, 1.00062443, 50.07, 1435.5928))

    def test_ghz(self) -> None:
        self.check(tools_grpc.Ghz(ROOT), "ghz.txt", "grpc-1x32", GHZ)

    def test_redis_benchmark_divides_its_count_by_its_rate(self) -> None:
        tool, job = tools_kv.RedisBenchmark(), samples.job("resp-50x1", rate_hint=188679.25)
        said = tool.parse(samples.finished(samples.text("redis-benchmark.csv")), job)
        self.assertEqual((said.requests, said.errors, said.p50_us, said.p99_us), (566037, 0, 15.0, 23.0))
        self.assertAlmostEqual(said.seconds, 3.0, places=4)

    def test_memtier(self) -> None:
        expected = Outcome(312000, 0, 3.002, 143.0, 287.0)
        self.assertEqual(tools_kv.Memtier().read(samples.text("memtier.json")), expected)

    def test_memtier_misses_are_errors(self) -> None:
        text = samples.text("memtier.json").replace('"Misses/sec": 0.00', '"Misses/sec": 10.00')
        said = tools_kv.Memtier().read(text)
        self.assertEqual((said.requests, said.errors), (311970, 30))

    def test_mutilate(self) -> None:
        self.check(tools_kv.Mutilate(), "mutilate.txt", "memcached-16x1", Outcome(301351, 0, 3.0, None, 296.8))

    def test_locust(self) -> None:
        said = tools_sessions.Locust(ROOT).read(samples.text("locust.json"))
        self.assertEqual((said.requests, said.errors, said.p50_us, said.p99_us), (549, 0, None, 30000.0))
        self.assertAlmostEqual(said.seconds, 4.382422, places=6)
        self.assertAlmostEqual(said.mean_us or 0, 6777.207, places=3)

    def test_jmeter(self) -> None:
        said = tools_sessions.JMeter(ROOT).read(samples.text("jmeter.csv"))
        self.assertEqual((said.requests, said.errors, said.p50_us, said.p99_us), (23, 0, 13000.0, 48000.0))
        self.assertAlmostEqual(said.seconds, 1.475, places=6)
        self.assertAlmostEqual(said.mean_us or 0, 503 / 23 * 1e3, places=3)

    def test_jmeter_counts_what_failed_as_errors(self) -> None:
        text = samples.text("jmeter.csv").replace("sell,true", "sell,false")
        said = tools_sessions.JMeter(ROOT).read(text)
        self.assertEqual((said.requests, said.errors), (22, 1))

    def test_weigh(self) -> None:
        tool = tools_ours.Weigh("weigh", ROOT)
        self.check(tool, "weigh-closed.json", "http1-16", WEIGH_CLOSED)
        self.check(tool, "weigh-open.json", "open-1k", WEIGH_OPEN)
        self.check(tool, "weigh-run.json", "person-http1-16", WEIGH_RUN)

    def test_weigh_says_why_its_figures_are_invalid(self) -> None:
        said = json.loads(samples.text("weigh-closed.json"))
        said.update(validity="invalid", reasons=["one", "two"], errors=3, not_sent=2)
        outcome = tools_ours.Weigh("weigh", ROOT).parse(samples.finished(json.dumps(said)), samples.job())
        self.assertEqual((outcome.errors, outcome.remark), (5, "invalid: one; two"))
        self.assertEqual(outcome.requests, said["requests"] - 3)

    def test_weigh_counts_the_errors_of_all_windows_of_a_run(self) -> None:
        said = json.loads(samples.text("weigh-run.json"))
        (variant,) = said["variants"]
        variant.update(errors=3, not_sent=2)
        variant["other_windows"]["errors"] = 1
        outcome = tools_ours.Weigh("weigh", ROOT).parse(samples.finished(json.dumps(said)), samples.job())
        self.assertEqual((outcome.requests, outcome.errors), (677565 - 4, 6))
        # Short runs have no other windows.
        del variant["other_windows"]
        outcome = tools_ours.Weigh("weigh", ROOT).parse(samples.finished(json.dumps(said)), samples.job())
        self.assertEqual((outcome.requests, outcome.errors), (656055 - 3, 5))

    def test_weigh_of_several_operations_says_what_holds_for_all(self) -> None:
        said = json.loads(samples.text("weigh-run.json"))
        (variant,) = said["variants"]
        others = [dict(row, operation="other") for row in variant["figures"] if row["estimate"]]
        for row in others:
            row["estimate"] = dict(row["estimate"], point=1.0)
        for row in variant["figures"]:
            row["operation"] = "all"
        variant["figures"] += others
        texts = [samples.text("weigh-run.json"), json.dumps(said)]
        read = [tools_ours.Weigh("weigh", ROOT).parse(samples.finished(text), samples.job()) for text in texts]
        self.assertEqual(*read)

    def test_bare(self) -> None:
        text = '{"requests": 100, "seconds": 2.000100}\n'
        said = tools_ours.Bare(ROOT).parse(samples.finished(text), samples.job())
        self.assertEqual(said, Outcome(100, 0, 2.0001))

    def test_what_is_no_output_is_said_and_never_a_number(self) -> None:
        tools = [tools_ours.Weigh("weigh", ROOT), tools_ours.Bare(ROOT), tools_grpc.Ghz(ROOT)]
        tools += [tools_http.Wrk(), tools_http.Wrk2(), tools_http.Oha(), tools_http.H2load(), tools_http.Hey()]
        tools += [tools_http.Fortio(), tools_http.Vegeta(), tools_http.K6()]
        tools += [tools_kv.RedisBenchmark(), tools_kv.Mutilate()]
        for tool in tools:
            for text in ("", "segmentation fault", "{"):
                with self.subTest(tool.name, text=text), self.assertRaisesRegex(ParseError, f"^{tool.name}: no "):
                    tool.parse(samples.finished(text), samples.job("open-1k"))
        with self.assertRaisesRegex(ParseError, "^memtier: no "):
            tools_kv.Memtier().read("")
        for text in ("", "timeStamp,elapsed,label,success\n", "killed\nkilled\n"):
            with self.subTest("jmeter", text=text), self.assertRaisesRegex(ParseError, "^jmeter: no request"):
                tools_sessions.JMeter(ROOT).read(text)


class Counters(unittest.TestCase):
    """What servers say of the requests they have seen."""

    def test_nginx(self) -> None:
        self.assertEqual(parse_stub_status(samples.text("nginx-status.txt")), 769590)
        with self.assertRaisesRegex(ValueError, "no count"):
            parse_stub_status("<html>404</html>")

    def test_redis_and_memcached_count_gets_and_sets_alone(self) -> None:
        redis = "cmdstat_get:calls=40,usec=1\r\ncmdstat_config|get:calls=4,usec=1\r\ncmdstat_set:calls=2,usec=1\r\n"
        self.assertEqual(re.findall(REDIS_COUNTS, redis), ["40", "2"])
        memcached = "STAT cmd_get 7\r\nSTAT cmd_set 1\r\nSTAT get_hits 7\r\nSTAT cmd_flush 3\r\n"
        self.assertEqual(re.findall(MEMCACHED_COUNTS, memcached), ["7", "1"])
