"""Recorded outputs, and what parsers get beside them."""

from __future__ import annotations

import pathlib

from compare.cases import CASES, Case
from compare.measure import Finished
from compare.servers import Target
from compare.tools import Job

FOLDER = pathlib.Path(__file__).parent / "samples"


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def finished(stdout: str, stderr: str = "", cpu: float = 1.0) -> Finished:
    return Finished(("tool",), 0, stdout, stderr, wall=1.0, cpu_waited=cpu, cpu_group=None)


def case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def job(name: str = "http1-16", folder: pathlib.Path = FOLDER, rate_hint: float | None = None) -> Job:
    scheme = {"http1-tls": "https"}.get(name, "grpc" if name.startswith("grpc") else "http")
    return Job(case(name), Target(scheme, 8080, "/path", 8081, pathlib.Path("/script")), 3, folder, rate_hint)
