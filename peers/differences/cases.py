"""What is tried: pairs of servers whose difference is known, and what counts as finding it."""

from __future__ import annotations

import dataclasses

# A request of 15 to 30 µs: what HTTP over loopback takes here, and so much work of the server's.
WORK_NS = 10_000
# For the 99th percentile: three requests in a hundred take so long.
SLOW_NS = 300_000
SLOW_SHARE = "3%"


@dataclasses.dataclass(frozen=True)
class Case:
    """One kind of try. `effect` is relative, of `quantity`; 0 is a variant against itself."""

    name: str
    title: str
    quantity: str
    effect: float
    budget: int
    """Seconds that `weigh run` may take, starts and warm-ups included."""
    tries: int
    goal: str
    server: str = "probe"


CASES = [
    Case("same-probe", "probe against itself", "response p50", 0.0, 4, 70, "", "probe"),
    Case("same-rust", "Rust service against itself", "response p50", 0.0, 4, 70, "", "rust"),
    Case("same-go", "Go service against itself", "response p50", 0.0, 4, 60, "", "go"),
    Case("p50-2", "+2 % on p50", "response p50", 0.02, 20, 20, "at least 16 of 20"),
    Case("p50-1", "+1 % on p50", "response p50", 0.01, 60, 20, "at least 16 of 20"),
    Case("p99-5", "+5 % on p99", "response p99", 0.05, 30, 20, "at least 16 of 20"),
]
BY_NAME = {case.name: case for case in CASES}
SAME = [case for case in CASES if case.effect == 0.0]
# Of 200 variants against themselves at most so many may be called different: P(X > 16) is 2 % where 5 % is true.
FALSE_ALARMS_MOST = 16


def law(case: Case, added_ns: int = 0) -> str:
    """The probe's law of delay with so much added to what the quantity sees."""
    if case.quantity == "response p99":
        return f"bimodal:low={WORK_NS}ns,high={SLOW_NS + added_ns}ns,share={SLOW_SHARE}"
    return f"{WORK_NS + added_ns}ns"


def variants(case: Case, weigh: str, added_ns: int) -> str:
    """Both variants as the experiment file has them."""
    if case.server == "probe":
        how = [f'command = ["{weigh}", "probe", "delay", "{law(case, more)}"]' for more in (0, added_ns)]
    else:
        how = [f'service = "{case.server}"'] * 2
    return "".join(
        f'[[variant]]\nname = "{name}"\n{what}\n' for name, what in zip(("first", "second"), how, strict=True)
    )


def experiment(case: Case, weigh: str, added_ns: int, seed: int, seconds: int) -> str:
    """The experiment file of one try."""
    return (
        f'title = "{case.title}"\n[workload]\nname = "pingpong"\nsize = "64 B"\n[load]\nwarmup = "100 ms"\n'
        f'[plan]\nheadline = "{case.quantity}"\nblocks = {{ min = 6, max = 6 }}\nbudget = "{seconds} s"\nseed = {seed}\n'
        + variants(case, weigh, added_ns)
    )
