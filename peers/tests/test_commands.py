"""Command lines: what is asked of every tool in every case that names it."""

from __future__ import annotations

import os
import pathlib
import re
import tempfile
import tomllib
import unittest
from unittest import mock
from xml.etree import ElementTree

from compare import tools_grpc, tools_http, tools_kv, tools_ours, tools_sessions
from compare.cases import CASES, Protocol
from compare.command import all_tools
from compare.install import Installer, Unavailable
from compare.tools_http import grpc_frame

from . import samples

ROOT = pathlib.Path("/root-of-the-clone")


class Commands(unittest.TestCase):
    """Spelled out for a few; properties for all."""

    def test_weigh(self) -> None:
        tool = tools_ours.Weigh("weigh", ROOT)
        tail = "-c {} -t 1 -d 3s --format json --idle host"
        url = "127.0.0.1:8080"
        proto = f'--proto {ROOT}/services/proto/pong.proto --data {{"size":64}}'
        expected = {
            "http1-16": f"http://{url}/path --pipeline 1 {tail.format(16)}",
            "http1-tls": f"https://{url}/path -k --pipeline 1 {tail.format(16)}",
            "h2-1x32": f"http://{url}/path --http2 --streams 32 {tail.format(1)}",
            "grpc-1x32": f"grpc://{url}/path {proto} --streams 32 {tail.format(1)}",
            "resp-50x16": f"redis://{url} --command GET k1 --pipeline 16 {tail.format(50)}",
            "memcached-16x1": f"memcached://{url} --command get k1 --pipeline 1 {tail.format(16)}",
            "open-10k": f"http://{url}/path --pipeline 1 {tail.format(16)} -r 10000",
        }
        for name, words in expected.items():
            with self.subTest(name):
                self.assertEqual(" ".join(tool.command(samples.job(name))), f"weigh load {words}")

    def test_persons_and_sessions_are_asked_for_by_a_run_which_checks_them(self) -> None:
        """`pingpong` differs from it by what is asked, and of whom."""
        person = {"name": "person", "operation": "getPerson"}
        asked = {
            ("weigh", "person-grpc-1x32"): (person, 8080, "grpc", 1, 32),
            ("pingpong", "person-grpc-1x32"): ({"name": "pingpong", "size": "121 B"}, 8081, "grpc", 1, 32),
            ("weigh", "person-http1-16"): (person, 8080, "http1-json", 16, 1),
            ("weigh", "trade-http1-16"): ({"name": "trade", "script": "/script"}, 8080, "http1-json", 16, 1),
        }
        for (tool, case), (workload, port, protocol, connections, in_flight) in asked.items():
            with self.subTest(case, tool=tool), tempfile.TemporaryDirectory() as name:
                words = all_tools("weigh")[tool].command(samples.job(case, pathlib.Path(name)))
                program, verb, file, *options = words
                self.assertEqual((pathlib.Path(program).name, verb), ("weigh", "run"))
                self.assertEqual(options, ["--out", f"{name}/runs", "--format", "json", "--quiet"])
                said = tomllib.loads(pathlib.Path(file).read_text(encoding="utf-8"))
                load = {"connections": connections, "in_flight": in_flight, "warmup": "50 ms"}
                plan = {"blocks": {"min": 1, "max": 1}, "budget": "3 s", "idle": "host"}
                variant = {"url": f"http://127.0.0.1:{port}", "protocol": protocol}
                self.assertEqual(said, {"workload": workload, "load": load, "plan": plan, "variant": [variant]})

    def test_every_peer_knows_the_load_of_its_cases(self) -> None:
        """No case may ask a tool for something that its command line leaves out."""
        tools = all_tools("weigh")
        with tempfile.TemporaryDirectory() as name:
            for case in CASES:
                for peer in set(case.peers) - {"bare", "k6", "pingpong"}:
                    with self.subTest(case.name, peer=peer):
                        words = " ".join(tools[peer].command(samples.job(case.name, pathlib.Path(name), rate_hint=5.0)))
                        self.assertIn("8080", words)
                        workers = case.connections * (case.in_flight if peer == "ghz" else 1)
                        self.assertRegex(words, rf"(-c |-connections=|--users |-Jusers=){workers}\b")
                        if case.rate:
                            self.assertRegex(words, rf"(-R |-rate=){case.rate}\b")

    def test_h2load_speaks_what_the_case_says(self) -> None:
        tool = tools_http.H2load()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertIn("--h1", tool.command(samples.job("http1-16", folder)))
            self.assertNotIn("--h1", tool.command(samples.job("h2-1x32", folder)))
            words = tool.command(samples.job("grpc-1x32", folder))
            self.assertEqual(words[-1], "http://127.0.0.1:8080/path")
            self.assertIn("content-type: application/grpc", words)
            self.assertEqual((folder / "grpc-request").read_bytes(), b"\0\0\0\0\2\x08\x40")

    def test_frames_of_grpc(self) -> None:
        """Oracle: the encoding of 150 in the description of protocol buffers is 96 01."""
        self.assertEqual(grpc_frame(150), b"\0\0\0\0\x03\x08\x96\x01")
        self.assertEqual(grpc_frame(64), b"\0\0\0\0\x02\x08\x40")
        self.assertEqual(grpc_frame(65536), b"\0\0\0\0\x04\x08\x80\x80\x04")

    def test_ghz_shares_its_workers_out_over_the_connections(self) -> None:
        words = tools_grpc.Ghz(ROOT).command(samples.job("grpc-16x1"))
        self.assertIn("--connections 16 -c 16", " ".join(words))

    def test_locust_plays_the_script_that_weigh_plays(self) -> None:
        words = " ".join(tools_sessions.Locust(ROOT).command(samples.job("trade-http1-16")))
        self.assertIn(f"-f {ROOT}/peers/sessions/locustfile.py --script /script ", words)
        self.assertIn("--users 16 --spawn-rate 100 --run-time 3s", words)

    def test_jmeter_plays_it_too_and_writes_what_is_read(self) -> None:
        words = " ".join(tools_sessions.JMeter(ROOT).command(samples.job("trade-http1-16", pathlib.Path("/folder"))))
        self.assertIn(
            f"-n -t {ROOT}/peers/sessions/sessions.jmx -j /folder/jmeter.log -f -l /folder/jmeter.csv ", words
        )
        self.assertIn("-Jusers=16 -Jseconds=3 -Jscript=/script -Jhost=127.0.0.1 -Jport=8080 ", words)
        for field in ("time", "label", "successful"):
            self.assertNotIn(f"saveservice.{field}=", words)

    def test_the_plan_of_jmeter_knows_the_properties_that_it_is_given(self) -> None:
        tool = tools_sessions.JMeter(pathlib.Path(__file__).parents[2])
        plan = ElementTree.parse(tool.file)
        self.assertEqual([len(plan.findall(f".//{group}ThreadGroup")) for group in ("", "Setup")], [1, 1])
        text = tool.file.read_text(encoding="utf-8")
        asked = set(re.findall(r"__P\((\w+)\)", text)) | set(re.findall(r"getProperty\('(\w+)'\)", text))
        given = [word[2:].split("=")[0] for word in tool.command(samples.job("trade-http1-16")) if word[:2] == "-J"]
        self.assertEqual(asked, {name for name in given if "." not in name})

    def test_jmeter_says_its_version_below_its_banner(self) -> None:
        tool = tools_sessions.JMeter(ROOT)
        with tempfile.TemporaryDirectory() as name:
            program = pathlib.Path(name) / "jmeter"
            program.write_text(
                "#!/bin/sh\nprintf '%s\\n' '    _    ____ ' ' | _____|_|   5.6.3' '' 'Copyright (c) 1999-2024'\n"
            )
            program.chmod(0o755)
            tool.path = str(program)
            self.assertEqual(tool.version(), "jmeter 5.6.3")

    def test_jmeter_is_not_to_be_had_without_java(self) -> None:
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.dict(os.environ, {"PATH": name}),
            self.assertRaisesRegex(Unavailable, "`java`, in which it runs, is not there"),
        ):
            tools_sessions.JMeter(ROOT).find(Installer(True, pathlib.Path(name)))

    def test_ghz_asks_for_the_person_that_weigh_asks_for(self) -> None:
        words = " ".join(tools_grpc.Ghz(ROOT).command(samples.job("person-grpc-1x32")))
        self.assertIn(f"--proto {ROOT}/services/person/person.proto --import-paths {ROOT}/services/person ", words)
        self.assertIn('-d {"id":"1"} ', words)

    def test_redis_benchmark_sends_for_as_long_as_its_rate_says(self) -> None:
        words = tools_kv.RedisBenchmark().command(samples.job("resp-50x16", rate_hint=1e6))
        self.assertIn("-n 3000000 -P 16", " ".join(words))
        self.assertEqual(list(words[-2:]), ["GET", "k1"])

    def test_fixed_requests(self) -> None:
        head = b"GET /path HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
        self.assertEqual(tools_ours.fixed_request(samples.job("http1-16")), head)
        self.assertEqual(tools_ours.fixed_request(samples.job("resp-50x1")), b"*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n")
        stored = tools_ours.fixed_request(samples.job("resp-set-50x1"))
        self.assertRegex(stored, rb"\A\*3\r\n\$3\r\nSET\r\n\$2\r\nk1\r\n\$64\r\npo{61}ng\r\n\Z")
        self.assertEqual(tools_ours.fixed_request(samples.job("memcached-16x1")), b"get k1\r\n")


class Cases(unittest.TestCase):
    """The table of cases is whole."""

    def test_names_are_unique_and_peers_are_tools(self) -> None:
        names = [case.name for case in CASES]
        self.assertEqual(len(names), len(set(names)))
        tools = all_tools("weigh")
        for case in CASES:
            self.assertLessEqual(set(case.peers), set(tools), case.name)
            self.assertLessEqual({goal.peer for goal in case.goals}, set(case.peers), case.name)

    def test_the_bare_loop_is_asked_only_for_what_it_speaks(self) -> None:
        for case in CASES:
            if "bare" in case.peers:
                self.assertIn(case.protocol, (Protocol.HTTP1, Protocol.RESP, Protocol.MEMCACHED))
