#!/usr/bin/env python3
"""Recompute a run's costs from its raw records, with nothing of Weighbridge's own code.

    python3 recompute.py RUN [RUN ...]

RUN is a run folder (`runs/<time>-<name>`). For every variant, operation, quantity and point, the costs in
`summary.json` (difference and ratio: point, bounds, blocks; p, verdict, effect) and the absolute figures are computed
again from `experiment.toml`, `plan.json`, `blocks/*.json` and the files in `trials/`, by the rules of
docs/METHODOLOGY.md, and compared. Only the standard library is used, and nothing is shared with the Rust code: the
HdrHistogram decoder, Student's t, Stein's and Holm's rules below are a second implementation. Python 3.11 or later.

Exit status: 0 all agree, 1 a figure differs (the first is named), 2 the folder cannot be read.
"""

import base64
import csv
import functools
import hashlib
import itertools
import json
import math
import pathlib
import struct
import sys
import zlib

try:
    import tomllib
except ImportError:
    sys.exit("recompute.py needs Python 3.11 or later, whose `tomllib` reads `experiment.toml`")

LEVEL = 0.95
BLOCKS_FOR_INTERVAL = 4
BEYOND_PER_BLOCK = 20
BEYOND_IN_ALL = 100
FAMILY_ERROR = 0.05
STEAL_SHARE = 0.10
LAG_FLOOR_NS, LAG_SHARE = 100_000, 0.10
BUSY_SHARE, SERVICE_BUSY_SHARE = 0.85, 0.90

# Figures agree to this share of the largest number of their interval; p, which may be tiny, to this much in all.
TOLERANCE = 1e-9

# Name, times it is of, quantile (None: a mean); no statistic of times has neither.
QUANTITIES = {
    "response_p50": ("response", 0.5), "response_p90": ("response", 0.9), "response_p95": ("response", 0.95),
    "response_p99": ("response", 0.99),
    "response_mean": ("response", None),
    "service_p50": ("service", 0.5), "service_p90": ("service", 0.9), "service_p99": ("service", 0.99),
    "service_mean": ("service", None),
    "throughput": None, "cpu_per_operation": None, "bytes_per_operation": None,
    "segments_per_operation": None, "memory_peak": None,
}
WHOLE_ONLY = ("cpu_per_operation", "bytes_per_operation", "segments_per_operation", "memory_peak")
UNANSWERED = ("errors_connect", "errors_tls", "errors_reset", "errors_timeout", "errors_protocol")
ERRORS = UNANSWERED + ("errors_status", "errors_check")


class Unreadable(Exception):
    """The folder is not a whole run, or a file in it is not what it should be."""


class Differs(Exception):
    """A figure computed again is not the one that the summary gives."""


# --- Histograms: HdrHistogram's V2 compressed encoding -------------------------------------------------------------

class Histogram:
    """Counts by index into HdrHistogram's buckets, for any lowest value and number of digits."""

    def __init__(self):
        self.counts, self.shape, self.total = {}, None, 0

    @classmethod
    def decode(cls, text):
        """Base64 of: cookie, length, then zlib of: cookie, length, offset, digits, low, high, ratio, counts."""
        outer = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">II", outer)
        if cookie & ~0xF0 != 0x1C849304 or length != len(outer) - 8:
            raise Unreadable("not a V2 compressed histogram")
        inner = zlib.decompress(outer[8:])
        cookie, length, offset, digits, low, high, _ = struct.unpack_from(">IIIIQQd", inner)
        if cookie & ~0xF0 != 0x1C849303 or length != len(inner) - 40 or offset != 0:
            raise Unreadable("not a V2 histogram")
        histogram = cls()
        histogram.shape = (low, high, digits)
        index = 0
        for count in zigzag_leb128(inner[40:]):
            if count < 0:  # A run of empty buckets.
                index += -count
            else:
                if count:
                    histogram.counts[index] = count
                index += 1
        histogram.total = sum(histogram.counts.values())
        return histogram

    def add(self, other):
        if other.total == 0:
            return
        if self.shape not in (None, other.shape):
            raise Unreadable("histograms of different bounds cannot be merged")
        self.shape = other.shape
        for index, count in other.counts.items():
            self.counts[index] = self.counts.get(index, 0) + count
        self.total += other.total

    def bucket(self, index):
        """Lowest value of a bucket and how many values it holds."""
        low, _, digits = self.shape
        unit = (low or 1).bit_length() - 1
        half = (2 * 10**digits - 1).bit_length() - 1  # log2 of half the sub-buckets
        order, sub = divmod(index, 1 << half)
        if order == 0:
            return sub << unit, 1 << unit
        return (sub + (1 << half)) << (order - 1 + unit), 1 << (order - 1 + unit)

    def mean(self):
        """Each value counts as the middle of its bucket, as in every HdrHistogram."""
        middles = ((sum(self.bucket(index)) + self.bucket(index)[0], count) for index, count in self.counts.items())
        return math.fsum(middle // 2 * count for middle, count in middles) / self.total

    def quantile(self, q):
        """Nearest rank; the highest value of the bucket that holds it, as every HdrHistogram answers."""
        if self.total == 0:
            return None
        rank, seen = max(math.ceil(q * self.total), 1), 0
        for index in sorted(self.counts):
            seen += self.counts[index]
            if seen >= rank:
                start, size = self.bucket(index)
                return float(start + size - 1)
        raise AssertionError("a rank is at most the total")

    def sum_of_middles(self):
        total = 0
        for index, count in self.counts.items():
            start, size = self.bucket(index)
            total += (start + (size >> 1)) * count
        return total


def zigzag_leb128(data):
    """Whole numbers of 7 bits a byte, least first, at most 9 bytes, the ninth of 8 bits; the lowest bit is the sign."""
    at = 0
    while at < len(data):
        value = 0
        for place in range(9):
            byte = data[at]
            at += 1
            if place == 8:
                value |= byte << 56
                break
            value |= (byte & 0x7F) << (7 * place)
            if not byte & 0x80:
                break
        yield (value >> 1) ^ -(value & 1)


def read_log(path):
    """Histograms of `total.hlog` by tag, a tag being a frozenset of (key, value)."""
    logs = {}
    for line in path.read_text().splitlines():
        if not line.startswith("Tag="):
            continue  # Comments and the legend.
        tag, _start, _length, _max, encoded = line.split(",")
        key = frozenset(tuple(pair.split("=")) for pair in tag[4:].split(";"))
        logs[key] = Histogram.decode(encoded)
    return logs


# --- Student's t by the regularised incomplete beta function -------------------------------------------------------

def incomplete_beta(a, b, x):
    """I_x(a, b) by its continued fraction (Numerical Recipes, 6.4), modified Lentz."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 10_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            h *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * h


def two_sided_p(t, degrees):
    """P(|T| > |t|)."""
    if math.isinf(t):
        return 0.0
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def upper_tail(t, degrees):
    half = two_sided_p(t, degrees) / 2
    return half if t >= 0 else 1 - half


@functools.cache
def t_factor(degrees):
    """The t with P(|T| <= t) = LEVEL, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if two_sided_p(middle, degrees) > 1 - LEVEL:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# --- Block values to estimates, p values and verdicts --------------------------------------------------------------

def median(values):
    values, half = sorted(values), len(values) // 2
    return values[half] if len(values) % 2 else 0.5 * (values[half - 1] + values[half])


def mean_with_error(values, first_stage):
    """Mean of all, standard error with the deviation of the first stage only (Stein 1945), degrees of freedom."""
    if len(values) < BLOCKS_FOR_INTERVAL:
        return None
    stage = values[: max(first_stage, BLOCKS_FOR_INTERVAL)]
    centre = math.fsum(stage) / len(stage)
    deviation = math.sqrt(math.fsum((x - centre) ** 2 for x in stage) / (len(stage) - 1))
    return math.fsum(values) / len(values), deviation / math.sqrt(len(values)), len(stage) - 1


def estimate(values, first_stage, scale=lambda x: x):
    """Point, bounds and number of blocks as the summary writes them."""
    mean = mean_with_error(values, first_stage)
    lower = upper = None
    if mean is not None:
        half = t_factor(mean[2]) * mean[1]
        lower, upper = scale(mean[0] - half), scale(mean[0] + half)
    point = scale(math.fsum(values) / len(values))
    return {"point": point, "lower": lower, "upper": upper, "level": LEVEL, "blocks": len(values)}


def p_value(mean, margin):
    """min(two-sided p against 0, 2 x TOST p against ln(1 -+ margin))."""
    point, error, degrees = mean
    below = math.log(1 - margin) if margin < 1 else -math.inf
    distances = (point - below, math.log1p(margin) - point)
    if error == 0:
        against_zero = 1.0 if point == 0 else 0.0
        tost = 0.0 if min(distances) >= 0 else 1.0
    else:
        against_zero = two_sided_p(point / error, degrees)
        tost = max(upper_tail(distance / error, degrees) for distance in distances)
    return min(against_zero, 2 * tost, 1.0)


def verdict_of(ratio, margin):
    lower, upper = ratio["lower"] - 1, ratio["upper"] - 1
    if -margin <= lower and upper <= margin:
        return "no relevant difference"
    if lower > 0:
        return "higher"
    if upper < 0:
        return "lower"
    return "undecided"


def effect_of(quantity, verdict):
    if verdict not in ("higher", "lower"):
        return None
    return "better" if (verdict == "higher") == (quantity == "throughput") else "worse"


def holm(table):
    """Takes back the verdicts of a point's rows that do not stand among all of them; headlines are left alone."""
    tested = [row for row in table if not row["headline"] and row["p"] is not None
              and row["verdict"] not in ("invalid", "withheld")]
    largest = 0.0
    for rank, row in enumerate(sorted(tested, key=lambda row: row["p"])):
        largest = max(largest, min((len(tested) - rank) * row["p"], 1.0))
        if largest > FAMILY_ERROR and row["verdict"] != "undecided":
            row["verdict"], row["effect"] = "undecided", None


# --- The record ----------------------------------------------------------------------------------------------------

class Trial:
    """One trial's files."""

    def __init__(self, folder, listed):
        text = (folder / "trial.json").read_bytes()
        if hashlib.sha256(text).hexdigest() != listed["sha256"]:
            raise Unreadable(f"{folder}/trial.json was altered after the run")
        facts = json.loads(text)
        for name, digest in facts["sha256"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                raise Unreadable(f"{folder}/{name} was altered after the run")
        self.block, self.batch, self.variant = facts["block"], facts.get("batch", 0), facts["variant"]
        self.steal, self.void, self.machine = facts["steal"], facts["void"], facts.get("machine")
        self.windows = read_table(folder / "windows.csv")
        for window in self.windows:
            window["operations"], window["cpu"] = {}, []
        for row in read_table(folder / "operations.csv"):
            self.windows[row["window"]]["operations"][row["operation"]] = row
        self.memory = []
        for row in read_table(folder / "resources.csv"):
            if row["resource"] == "cpu":
                self.windows[row["window"]]["cpu"].append(row)
            else:
                self.memory.append(row)
        self.logs = read_log(folder / "total.hlog")

    def is_void(self):
        cut = any(w["kind"] == "measured" and w["end"] == "aborted" for w in self.windows)
        return self.void is not None or self.steal > STEAL_SHARE or cut

    def histogram(self, point, operation, outcome, time):
        """Merged over operations where `operation` is None."""
        merged = Histogram()
        for tag, histogram in self.logs.items():
            tag = dict(tag)
            wanted = operation is None or tag.get("operation") == str(operation)
            if tag["point"] == str(point) and tag.get("outcome") == outcome and tag["time"] == time and wanted:
                merged.add(histogram)
        return merged


def read_table(path):
    """Rows of a CSV file, whole numbers as such and empty cells as None."""
    def cell(text):
        return None if text == "" else int(text) if text.isdecimal() else text
    with path.open(newline="") as file:
        return [{key: cell(text) for key, text in row.items()} for row in csv.DictReader(file)]


class Cell:
    """One variant at one point in one block: measured windows and merged histograms of one operation (None: all)."""

    def __init__(self, trials, point, operation):
        self.point, self.operation, self.trials = point, operation, trials
        self.windows = [w for t in trials for w in t.windows if w["kind"] == "measured" and w["point"] == point]
        self.times = {time: Histogram() for time in ("response", "service")}
        self.late = {time: Histogram() for time in ("response", "service")}
        for trial, time in itertools.product(trials, self.times):
            late = trial.histogram(point, operation, "timeout", time)
            self.late[time].add(late)
            self.times[time].add(trial.histogram(point, operation, "ok", time))
            self.times[time].add(late)

    def own(self, column):
        """One figure of every window that had a good reply: (round, value)."""
        if self.operation is None:
            return [(w["round"], w["all_" + column]) for w in self.windows if w["all_ok"] is not None]
        found = ((w["round"], w["operations"].get(self.operation)) for w in self.windows)
        return [(number, row[column]) for number, row in found if row is not None]

    def sum(self, *columns):
        return sum(w[column] for w in self.windows for column in columns)

    def good(self):
        return sum(count for _, count in self.own("ok"))

    def nanoseconds(self):
        return sum(max(w["ended_ns"] - w["started_ns"], 0) for w in self.windows)

    def cpu_per_request(self):
        roles = {}
        for row in (row for w in self.windows for row in w["cpu"] if row["role"] != "unattributed"):
            cpu, requests = roles.get(row["role"], (0, 0))
            roles[row["role"]] = (cpu + row["cpu_ns"], requests + row["requests"])
        total = math.fsum(cpu / requests for cpu, requests in roles.values() if requests)
        return total or None

    def total(self, quantity):
        """All measured windows pooled: sums over sums, or the quantile of the merged histogram."""
        if QUANTITIES[quantity] is not None:
            time, q = QUANTITIES[quantity]
            if q is not None:
                return self.times[time].quantile(q)
            times = sum(value for _, value in self.own(f"{time}_sum_ns")) + self.late[time].sum_of_middles()
            return times / (self.good() + self.late[time].total) if self.good() else None
        if quantity == "throughput":
            time = self.nanoseconds()
            return self.good() / (time / 1e9) if self.good() and time else None
        if quantity == "cpu_per_operation":
            return self.cpu_per_request()
        if quantity == "bytes_per_operation":
            answered = self.sum("requests") - self.sum("not_sent", *UNANSWERED)
            moved = self.sum("sent_bytes", "received_bytes")
            return moved / answered if answered > 0 and moved else None
        if quantity == "payload_bytes_per_operation":
            answered = self.sum("requests") - self.sum("not_sent", *UNANSWERED)
            payload = self.sum("payload_sent_bytes", "payload_received_bytes")
            return payload / answered if answered > 0 and payload else None
        if quantity == "segments_per_operation":
            answered = self.sum("requests") - self.sum("not_sent", *UNANSWERED)
            segments = self.sum("segments_out", "segments_in")
            return segments / answered if answered > 0 and segments else None
        peaks = (sum(m["peak_bytes"] for m in t.memory if m["point"] == self.point) for t in self.trials)
        return float(max(peaks)) or None

    def medians_by_round(self, quantity):
        """The median of a round's window p50s (the baseline may have several), by round."""
        rounds = {}
        for number, p50 in self.own(f"{QUANTITIES[quantity][0]}_p50_ns"):
            rounds.setdefault(number, []).append(p50)
        return {number: median(p50s) for number, p50s in rounds.items()}


class Run:
    """A run folder, read."""

    def __init__(self, folder):
        self.summary = json.loads((folder / "summary.json").read_text())
        plan = json.loads((folder / "plan.json").read_text())
        self.rules, self.variants = plan["rules"], plan["variants"]
        environment = json.loads((folder / "environment.json").read_text())
        self.experiment = tomllib.loads((folder / "experiment.toml").read_text())
        self.points = points_of(self.experiment)
        cores = len(environment["host"]["cores"])
        ours = all("url" not in variant for variant in self.experiment["variant"])
        self.service_cores = max(cores - 1, 1) if ours else None
        self.blocks, self.void = {}, 0
        for path in sorted((folder / "blocks").glob("*.json"), key=lambda path: int(path.stem)):
            block = json.loads(path.read_text())
            trials = [Trial(folder / "trials" / listed["folder"], listed) for listed in block["trials"]]
            if any(trial.is_void() for trial in trials):
                self.void += 1
            else:
                self.blocks[block["block"]] = trials

    def cells(self, point, variant, operation):
        """By block, the blocks in which the variant was measured at the point."""
        found = {}
        for number, trials in self.blocks.items():
            cell = Cell([t for t in trials if t.variant == variant], point, operation)
            if cell.windows:
                found[number] = cell
        return found

    def beside(self, point, variant, operation):
        """By block, the baseline's cell of the batch in which the variant was measured."""
        found = {}
        for number, trials in self.blocks.items():
            batches = {t.batch for t in trials if t.variant == variant}
            cell = Cell([t for t in trials if t.variant == 0 and t.batch in batches], point, operation)
            if cell.windows:
                found[number] = cell
        return found


def points_of(experiment):
    """Label, load model and operations of every point, in the order of their numbers."""
    matrix = experiment.get("matrix", {})
    found = []
    for values in itertools.product(*matrix.values()):
        tables = {key: dict(experiment.get(key, {})) for key in ("workload", "load")}
        label = {key: shown(value) for key, value in zip(matrix, values)}
        for key, value in zip(matrix, values):
            table, name = key.split(".")
            tables[table][name] = value
        workload = tables["workload"]
        operations = ["pong"] if workload["name"] == "pingpong" else [r["name"] for r in workload["request"]]
        found.append((label, tables["load"].get("model", "closed"), operations))
    return found


def shown(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


# --- From cells to costs -------------------------------------------------------------------------------------------

class Table:
    """One point: every cost and figure, and what overrides a verdict."""

    def __init__(self, run, point):
        self.run, self.point = run, point
        self.label, self.model, names = run.points[point]
        self.scopes = [(None, names[0])] if len(names) == 1 else [(None, "all"), *enumerate(names)]
        self.sides = {
            (variant, operation): run.cells(point, variant, operation)
            for variant in range(len(run.variants)) for operation, _ in self.scopes
        }
        # The baseline has a trial in every batch; a cost is against the one of the variant's own.
        self.beside = {
            (variant, operation): run.beside(point, variant, operation)
            for variant in range(1, len(run.variants)) for operation, _ in self.scopes
        }
        self.late = {key: self.moved_by_lateness(*key) for key in self.sides}
        self.invalid = [self.is_invalid(variant) for variant in range(len(run.variants))]
        self.bound = [self.is_generator_bound(variant) for variant in range(len(run.variants))]

    def quantities(self, operation):
        return [q for q in QUANTITIES if operation is None or q not in WHOLE_ONLY]

    def is_typical(self, quantity):
        return self.model == "closed" and quantity.endswith("_p50")

    def enough(self, cells, quantity, in_all):
        """20 requests beyond a quantile in every block and, for costs, 100 in all."""
        if not cells:
            return False
        if QUANTITIES[quantity] is None or QUANTITIES[quantity][1] is None:
            return True
        q = QUANTITIES[quantity][1]
        counts = [c.good() if self.is_typical(quantity) else c.times["response"].total for c in cells.values()]
        beyond = [math.floor(count * (1 - q) + 1e-6) for count in counts]
        return min(beyond) >= BEYOND_PER_BLOCK and (not in_all or sum(beyond) >= BEYOND_IN_ALL)

    def block_estimate(self, mine, theirs, quantity):
        """Log-ratio and difference of one block, or None."""
        if not self.is_typical(quantity):
            a, b = mine.total(quantity), theirs.total(quantity)
            return (math.log(a / b), a - b) if a and b and a > 0 and b > 0 else None
        mine, theirs = mine.medians_by_round(quantity), theirs.medians_by_round(quantity)
        rounds = [(mine[n], theirs[n]) for n in mine if n in theirs and mine[n] > 0 and theirs[n] > 0]
        if not rounds:
            return None
        return median([math.log(a / b) for a, b in rounds]), median([a - b for a, b in rounds])

    def costs(self):
        rows = [self.cost(variant, operation, name, quantity)
                for variant in range(1, len(self.run.variants))
                for operation, name in self.scopes for quantity in self.quantities(operation)]
        holm(rows)
        return rows

    def cost(self, variant, operation, name, quantity):
        rules = self.run.rules
        row = {
            "point": self.label, "variant": self.run.variants[variant], "operation": name, "quantity": quantity,
            "difference": None, "ratio": None, "p": None, "verdict": "withheld", "effect": None,
            "headline": quantity == rules["headline"] and operation is None,
        }
        mine, theirs = self.sides[variant, operation], self.beside[variant, operation]
        if self.enough(mine, quantity, True) and self.enough(theirs, quantity, True):
            pairs = [self.block_estimate(mine[n], theirs[n], quantity) for n in mine if n in theirs]
            pairs = [pair for pair in pairs if pair is not None]
            if pairs:
                self.conclude(row, [log for log, _ in pairs], [difference for _, difference in pairs])
        if self.invalid[0] or self.invalid[variant]:
            row["verdict"], row["effect"] = "invalid", None
        elif quantity in self.late[0, operation] | self.late[variant, operation]:
            row.update(difference=None, ratio=None, p=None, verdict="withheld", effect=None)
        elif quantity == "throughput" and (self.bound[0] or self.bound[variant]):
            row["verdict"], row["effect"] = "withheld", None
        return row

    def conclude(self, row, logs, differences):
        first_stage, margin = self.run.rules["blocks_min"], self.run.rules["margin"]
        row["difference"] = estimate(differences, first_stage)
        row["ratio"] = estimate(logs, first_stage, math.exp)
        mean = mean_with_error(logs, first_stage)
        if mean is None:
            row["verdict"] = "undecided"
            return
        row["p"] = p_value(mean, margin)
        row["verdict"] = verdict_of(row["ratio"], margin)
        row["effect"] = effect_of(row["quantity"], row["verdict"])

    def figure(self, variant, operation, quantity):
        """The variant's own figure: the mean of block values, a typical's being the median of its windows' p50."""
        cells = self.sides[variant, operation]
        if not self.enough(cells, quantity, False):
            return None
        if quantity in self.late[variant, operation] and not self.invalid[variant]:
            return None
        if self.is_typical(quantity):
            column = f"{QUANTITIES[quantity][0]}_p50_ns"
            values = [median([p50 for _, p50 in cell.own(column)]) for cell in cells.values() if cell.own(column)]
        else:
            values = [cell.total(quantity) for cell in cells.values()]
        values = [value for value in values if value is not None]
        return estimate(values, self.run.rules["blocks_min"]) if values else None

    def merged(self, variant, select):
        merged = Histogram()
        for cell in self.sides[variant, None].values():
            for histogram in select(cell):
                merged.add(histogram)
        return merged

    def moved_by_lateness(self, variant, operation):
        """Quantities of response times, and throughput of closed load, of whose rank the lag is above a tenth."""
        tag = {"time": "lag", "point": str(self.point)}
        lag = self.merged(variant, lambda cell: [t.logs[frozenset(tag.items())] for t in cell.trials])
        response = Histogram()
        for cell in self.sides[variant, operation].values():
            response.add(cell.times["response"])
        if not lag.total or not response.total:
            return set()
        moved = set()
        for quantity, kind in QUANTITIES.items():
            is_throughput = quantity == "throughput" and self.model == "closed"
            if not (is_throughput or quantity.startswith("response_")):
                continue
            rank = None if is_throughput else kind[1]
            late, time = [h.mean() if rank is None else h.quantile(rank) for h in (lag, response)]
            if max(late, lag.quantile(0.99)) > LAG_FLOOR_NS and late > LAG_SHARE * math.floor(time):
                moved.add(quantity)
        return moved

    def is_invalid(self, variant):
        """Nothing measured or answered, the headline moved by lateness, a window saturated, or requests never sent."""
        cells = self.sides[variant, None].values()
        if not cells or sum(cell.good() for cell in cells) == 0:
            return True
        late = self.run.rules["headline"] in self.late[variant, None]
        saturated = any(w["end"] == "saturated" for cell in cells for w in cell.windows)
        return late or saturated or any(cell.sum("not_sent") for cell in cells)

    def is_generator_bound(self, variant):
        cells = self.sides[variant, None].values()
        wall = sum(cell.sum("loop_wall_ns") for cell in cells)
        if not wall or sum(cell.sum("loop_busy_ns") for cell in cells) / wall <= BUSY_SHARE:
            return False
        used = [(cell.cpu_per_request(), cell.sum("requests") - cell.sum("not_sent")) for cell in cells]
        time = sum(cell.nanoseconds() for cell in cells)
        if self.run.service_cores is None or not time or any(cpu is None for cpu, _ in used):
            return True  # Where nothing accounts for the service it cannot be shown to be the limit.
        return sum(cpu * requests for cpu, requests in used) / (time * self.run.service_cores) < SERVICE_BUSY_SHARE


# --- Comparison ----------------------------------------------------------------------------------------------------

def agree_estimates(what, ours, theirs):
    if (ours is None) != (theirs is None):
        raise Differs(f"{what}: computed {ours}, the summary says {theirs}")
    if ours is None:
        return
    size = max(abs(ours[key]) for key in ("point", "lower", "upper") if ours[key] is not None)
    for key, mine in ours.items():
        stated = theirs[key]
        same = mine is stated or (mine is not None and stated is not None and abs(mine - stated) <= TOLERANCE * size)
        if not (mine == stated if key in ("level", "blocks") else same):
            raise Differs(f"{what}, {key}: computed {mine!r}, the summary says {stated!r}")


def agree_costs(row, cost):
    name = f"{cost['variant']} / {cost['operation']} / {cost['quantity']}"
    if row["label_text"]:
        name += f" at {row['label_text']}"
    for key in ("difference", "ratio"):
        agree_estimates(f"{name}, {key}", row[key], cost[key])
    for key in ("verdict", "effect", "headline"):
        if row[key] != cost[key]:
            raise Differs(f"{name}, {key}: computed {row[key]}, the summary says {cost[key]}")
    p, stated = row["p"], cost["p"]
    if (p is None) != (stated is None) or (p is not None and abs(p - stated) > TOLERANCE * max(p, 1e-3)):
        raise Differs(f"{name}, p: computed {p!r}, the summary says {stated!r}")


def check_variants(run, table):
    """Counts and absolute figures of one point; returns how many figures."""
    checked = 0
    stated = [v for v in run.summary["variants"] if v.get("point", {}) == table.label]
    for number, variant in enumerate(stated):
        cells = table.sides[number, None].values()
        counts = {
            "name": run.variants[number], "blocks": len(cells), "windows": sum(len(cell.windows) for cell in cells),
            "requests": sum(cell.sum("requests") for cell in cells), "errors": sum(cell.sum(*ERRORS) for cell in cells),
            "not_sent": sum(cell.sum("not_sent") for cell in cells),
        }
        for key, count in counts.items():
            if variant[key] != count:
                raise Differs(f"{variant['name']}, {key}: counted {count}, the summary says {variant[key]}")
        wanted = [(operation, name, q) for operation, name in table.scopes for q in table.quantities(operation)]
        if len(wanted) != len(variant["figures"]):
            raise Differs(f"{variant['name']}: {len(wanted)} figures, the summary has {len(variant['figures'])}")
        for (operation, name, quantity), figure in zip(wanted, variant["figures"]):
            what = f"figure {variant['name']} / {name} / {quantity}"
            if (figure["operation"], figure["quantity"]) != (name, quantity):
                raise Differs(f"{what}: the summary has {figure['operation']} / {figure['quantity']} in its place")
            agree_estimates(what, table.figure(number, operation, quantity), figure["estimate"])
            checked += 1
    if len(stated) != len(run.variants):
        raise Differs(f"{len(run.variants)} variants, the summary has {len(stated)} at {table.label}")
    return checked


def check_goal(run, rows):
    """Half-width of the widest headline against `until`."""
    until, stated = run.rules["until"], run.summary["goal"]
    if until is None:
        return
    ratios = [row["ratio"] for row in rows if row["headline"]]
    known = all(ratio is not None and ratio["lower"] is not None for ratio in ratios) and ratios
    widest = max(math.sqrt(r["upper"] / r["lower"]) - 1 for r in ratios) if known else None
    reached = widest is not None and widest <= until * (1 + 1e-9)
    found = stated["half_width"]
    near = widest is None and found is None or None not in (widest, found) and abs(widest - found) <= TOLERANCE
    if not near or stated["reached"] != reached:
        raise Differs(f"goal: computed {widest!r} ({reached}), the summary says {found!r} ({stated['reached']})")


def check_cpu_roles(run):
    """Cores kept busy by role: nanoseconds over the span, each block's batches together."""
    stated, blocks = run.summary.get("cpu_roles"), []
    for trials in run.blocks.values():
        batches = {trial.batch: trial.machine for trial in trials}
        if None not in batches.values():
            blocks.append({key: sum(b[key] for b in batches.values()) for key in next(iter(batches.values()))})
    if bool(blocks) != (stated is not None):
        raise Differs(f"cpu_roles: {len(blocks)} blocks tell them, the summary says {stated}")
    roles = {
        "busy": lambda b: b["busy_ns"], "generator": lambda b: b["generator_ns"], "service": lambda b: b["service_ns"],
        "beside_generator": lambda b: b["busy_ns"] - b["generator_ns"],
        "unattributed": lambda b: b["busy_ns"] - b["generator_ns"] - b["service_ns"],
    }
    for role, of in roles.items() if blocks else ():
        cores = estimate([of(block) / block["span_ns"] for block in blocks], run.rules["blocks_min"])
        agree_estimates(f"cpu_roles, {role}", cores, stated[role])


def check(folder):
    """Checks one run; says what was checked."""
    run = Run(folder)
    rules, blocks = run.rules, run.summary["blocks"]
    counted = {"used": len(run.blocks), "void": run.void, "min": rules["blocks_min"], "max": rules["blocks_max"]}
    if blocks != counted:
        raise Differs(f"blocks: computed {counted}, the summary says {blocks}")
    rows, figures = [], 0
    for point in range(len(run.points)):
        table = Table(run, point)
        label = ", ".join(f"{key} = {value}" for key, value in table.label.items())
        rows += [row | {"label_text": label} for row in table.costs()]
        figures += check_variants(run, table)
    costs = {key_of(cost): cost for cost in run.summary["costs"]}
    if len(costs) != len(run.summary["costs"]) or set(costs) != {key_of(row) for row in rows}:
        raise Differs(f"{len(rows)} costs computed, the summary has {len(run.summary['costs'])}")
    for row in rows:
        agree_costs(row, costs[key_of(row)])
    check_goal(run, rows)
    check_cpu_roles(run)
    measured = sum(row["ratio"] is not None for row in rows)
    decided = sum(row["verdict"] in ("higher", "lower", "no relevant difference") for row in rows)
    return (f"{len(rows)} costs agree ({measured} measured, {decided} decided, "
            f"{len(run.blocks)} blocks), and {figures} figures")


def key_of(row):
    return tuple(sorted(row.get("point", {}).items())), row["variant"], row["operation"], row["quantity"]


def main(arguments):
    if not arguments or any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__.strip())
        return 0 if arguments else 2
    for argument in arguments:
        try:
            print(f"{argument}: {check(pathlib.Path(argument))}")
        except Differs as difference:
            print(f"{argument}: {difference}", file=sys.stderr)
            return 1
        except (Unreadable, OSError, KeyError, ValueError, struct.error, zlib.error) as error:
            print(f"{argument}: not a whole run: {type(error).__name__}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
