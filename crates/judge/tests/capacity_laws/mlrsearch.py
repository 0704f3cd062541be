"""MLRsearch on the simulated services of the capacity study: its error in as many seconds as a search of ours takes.

    cargo build --release -p weighbridge-judge --example capacity
    python3 -m pip install MLRsearch==1.2.1
    python3 crates/judge/tests/capacity_laws/mlrsearch.py PATH/OF/examples/capacity [SEARCHES, 100]

The goal is its own default (trials of 1 s, a bad share of at most 50 %, a width of 0.5 %); only the sum of trials at a rate is
set, so that a search takes about 75 s. A trial's loss is 1 - limit/statistic, none where the limit is kept.
"""

import math
import subprocess
import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

SECONDS = 75.0
# The capacities by closed forms, as `weighbridge-judge`'s example prints them.
CAPACITIES = {
    ("M/M/1", "mean < 1 ms"): 9000,
    ("M/M/1", "p99 < 5 ms"): 9079,
    ("M/D/1", "mean < 1 ms"): 9474,
    ("M/D/1", "p99 < 5 ms"): 9541,
    ("M/G/1", "mean < 1 ms"): 8471,
    ("M/G/1", "p99 < 5 ms"): 8517,
    ("M/M/4", "mean < 1 ms"): 8765,
    ("M/M/4", "p99 < 5 ms"): 9027,
}


class Service(AbstractMeasurer):
    """One life of a service, in the program at `path`."""

    def __init__(self, path, service, objective, seed):
        command = [path, "--runs", service, objective, str(seed)]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pace = float(self.program.stdout.readline())
        self.seconds = 0.0

    def measure(self, intended_duration, intended_load):
        self.program.stdin.write(f"{intended_load} {intended_duration}\n")
        excess = float(self.program.stdout.readline())
        self.seconds += intended_duration
        offered = round(intended_load * intended_duration)
        lost = math.ceil(offered * (1 - 1 / excess)) if excess > 1 else 0
        return MeasurementResult(intended_duration, intended_load, offered_count=offered, loss_count=lost)

    def end(self):
        self.program.stdin.close()
        self.program.wait()


def search(path, case, seed, at_a_rate):
    """The relative error on the log scale, and the seconds."""
    service = Service(path, *case, seed)
    config = Config()
    config.goals = [SearchGoal(duration_sum=at_a_rate, fail_fast=False)]
    config.max_load = service.pace
    config.min_load = 0.01 * service.pace
    config.warmup_duration = None
    config.search_duration_max = 1e6
    result = next(iter(MultipleLossRatioSearch(config).search(service, debug=lambda text: None).values()))
    service.end()
    return math.log(float(result.relevant_lower_bound) / CAPACITIES[case]), service.seconds


def study(path, case, count):
    """Prints the row of one case. The sum of trials at a rate is found on searches that do not count."""
    at_a_rate = 7.0
    for _ in range(4):
        seconds = sum(search(path, case, 10**6 + number, at_a_rate)[1] for number in range(10)) / 10
        at_a_rate = max(2.0, round(at_a_rate * SECONDS / seconds))
    found = [search(path, case, number, at_a_rate) for number in range(count)]
    errors = [error for error, _ in found]
    bias = sum(errors) / count
    rmse = math.sqrt(sum(error * error for error in errors) / count)
    seconds = sum(seconds for _, seconds in found) / count
    row = f"{100 * bias:.2f} % | {100 * rmse:.2f} % | {seconds:.0f} | {at_a_rate:.0f} s"
    print(f"| {case[0]} | `{case[1]}` | {row} |", flush=True)


def main():
    print("| service | objective | bias | rmse | seconds | at a rate |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CAPACITIES:
        study(sys.argv[1], case, int(sys.argv[2]) if len(sys.argv) > 2 else 100)


if __name__ == "__main__":
    main()
