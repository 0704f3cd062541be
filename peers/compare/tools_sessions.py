"""Tools whose users play sessions that a program describes: Locust and JMeter."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import shutil
from collections import Counter
from collections.abc import Sequence

from .install import Installer, Jars, Recipe, Unavailable
from .measure import Finished
from .servers import HOST
from .tools import Job, Outcome, Tool, ask, sought


class Locust(Tool):
    """Locust with its faster client, in one process; its users are those of `sessions/locustfile.py`."""

    name = "locust"
    recipe = Recipe("locust", distribution="locust", version="2.47.0")

    def __init__(self, root: pathlib.Path) -> None:
        self.file = root / "peers" / "sessions" / "locustfile.py"

    def version(self) -> str:
        return " ".join(ask(self.path, "--version").split()[:2])

    def command(self, job: Job) -> Sequence[str]:
        case, target = job.case, job.target
        users = ["--users", str(case.connections), "--spawn-rate", "100", "--run-time", f"{job.seconds}s"]
        said = ["--json", "--skip-log", "--exit-code-on-error", "0"]
        sessions = ["-f", str(self.file), "--script", str(target.script)]
        return [self.path, "--headless", *sessions, "--host", target.url, *users, *said]

    def parse(self, output: Finished, job: Job) -> Outcome:
        del job
        return self.read(output.stdout)

    def read(self, text: str) -> Outcome:
        try:
            rows = json.loads(text)
        except ValueError:
            raise sought(self.name, "JSON", text) from None
        if not rows:
            raise sought(self.name, "request", text)
        done, errors = (sum(row[key] for row in rows) for key in ("num_requests", "num_failures"))
        times: Counter[float] = Counter()
        for row in rows:
            times.update({float(ms): count for ms, count in row["response_times"].items()})
        seconds = max(row["last_request_timestamp"] for row in rows) - min(row["start_time"] for row in rows)
        return Outcome(
            requests=done - errors,
            errors=errors,
            seconds=seconds,
            mean_us=sum(row["total_response_time"] for row in rows) / done * 1e3,
            p50_us=_percentile(times, 0.5),
            p99_us=_percentile(times, 0.99),
        )


# What a result could hold beside its time, name and success.
_OTHERS = "data_type response_code response_message thread_name thread_counts subresults assertions"
_OTHERS += " assertion_results_failure_message bytes sent_bytes url latency connect_time idle_time"


class JMeter(Tool):
    """JMeter without its window; its threads are those of `sessions/sessions.jmx`."""

    name = "jmeter"
    # C1 alone: on one core its other compiler takes a minute from the load before it pays.
    recipe = Recipe(
        "jmeter",
        jars=Jars(
            group="org.apache.jmeter",
            parts=tuple(f"ApacheJMeter{part}" for part in ("", "_http", "_java", "_functions", "_config")),
            main="org.apache.jmeter.NewDriver",
            options="-Xms512m -Xmx512m -XX:TieredStopAtLevel=1 -Djava.awt.headless=true -Djmeter.home='{home}'",
            settings="ApacheJMeter_config",
            folders=("lib/ext", "lib/junit"),
        ),
        version="5.6.3",
    )

    def __init__(self, root: pathlib.Path) -> None:
        self.file = root / "peers" / "sessions" / "sessions.jmx"

    def find(self, installer: Installer) -> None:
        if not shutil.which("java"):
            raise Unavailable("`java`, in which it runs, is not there; install Java 17")
        super().find(installer)

    def version(self) -> str:
        return f"jmeter {ask(self.path, '--version', '-j', os.devnull, ending=r' [0-9.]+').split()[-1]}"

    def command(self, job: Job) -> Sequence[str]:
        given: dict[str, object] = {"users": job.case.connections, "seconds": job.seconds, "script": job.target.script}
        given |= {"host": HOST, "port": job.target.port}
        # A connection lives as long as its thread; by itself JMeter would close it where a thread starts again.
        given["httpclient.reset_state_on_thread_group_iteration"] = "false"
        given |= {f"jmeter.save.saveservice.{field}": "false" for field in _OTHERS.split()}
        plan = ["-n", "-t", str(self.file), "-j", str(job.folder / "jmeter.log"), "-f", "-l", str(self._results(job))]
        return [self.path, *plan, *(f"-J{name}={value}" for name, value in given.items()), "-Jsummariser.name="]

    @staticmethod
    def _results(job: Job) -> pathlib.Path:
        return job.folder / "jmeter.csv"

    def parse(self, output: Finished, job: Job) -> Outcome:
        del output
        return self.read(self._results(job).read_text(encoding="utf-8"))

    def read(self, text: str) -> Outcome:
        rows = list(csv.DictReader(text.splitlines()))
        if not rows or not {"timeStamp", "elapsed", "success"} <= rows[0].keys():
            raise sought(self.name, "request", text)
        errors = sum(row["success"] != "true" for row in rows)
        times = Counter(float(row["elapsed"]) for row in rows)
        starts = [int(row["timeStamp"]) for row in rows]
        end = max(start + int(row["elapsed"]) for start, row in zip(starts, rows, strict=True))
        return Outcome(
            requests=len(rows) - errors,
            errors=errors,
            seconds=(end - min(starts)) / 1e3,
            mean_us=sum(ms * count for ms, count in times.items()) / len(rows) * 1e3,
            p50_us=_percentile(times, 0.5),
            p99_us=_percentile(times, 0.99),
        )


def _percentile(times: Counter[float], part: float) -> float | None:
    """In microseconds; times below 10 ms are in steps of 1 ms, too coarse to be shown."""
    left = part * times.total()
    for ms, count in sorted(times.items()):
        left -= count
        if left <= 0:
            return ms * 1e3 if ms >= 10 else None
    return None
