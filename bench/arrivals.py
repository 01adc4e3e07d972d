"""The same requests at a server of eight places: sent by a clock, or each client after its last
answer. Counted in steps.

    python bench/arrivals.py        two minutes on one core

The engine, its scheduler and its blocks are the real ones; the model is stubbed, since what a step
computes changes no queue. A step is the unit of time, however many sequences it holds. Answers have
16 to 64 tokens, spread evenly on a log scale; each occupies a place for as many steps. The load is
the tokens that arrive in a step, by the tokens that a full step makes.

    open      arrivals by a Poisson process: nobody waits for an answer before the next one asks
    closed    so many clients, each of which asks again in the step after its answer
    stalls    both again, with a server that stands still for 200 of every 2,000 steps

First token: steps from the arrival to the end of the step that gave it, at least a part of one.
Five seeds, 1,500 requests each; the first 200 to arrive are left out, since the server was empty
when they came.
"""

import os
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

from engine_host import StubModel  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

PLACES, REQUESTS, LEFT_OUT, PROMPT = 8, 1500, 200, [1, 2, 3, 4]
SEEDS, LOADS, CLIENTS = (0, 1, 2, 3, 4), (0.5, 0.8, 0.9, 0.95), (1, 4, 8, 16, 32)
STALL, EVERY = 200, 2000
PATIENCE = 32  # steps to a first token that a user bears: as many as a short answer takes


@dataclass
class Seen:
    """One request: when it came, when its first and its last token did."""

    tokens: int
    at: float
    times: list[int] = field(default_factory=list)

    @property
    def first(self) -> float:
        """Steps to the first token."""
        return self.times[0] - self.at


def lengths(seed: int) -> list[int]:
    """Tokens of the answers."""
    draw = random.Random(seed)
    return [round(16 * 4 ** draw.random()) for _ in range(REQUESTS)]


def run(
    asked: list[int], arrivals: Sequence[float] | None, clients: int = 0, stalls: bool = False
) -> tuple[list[Seen], int]:
    """All requests served, in order of arrival, and the steps that it took.

    Without arrivals the clients decide.
    """
    engine = Engine(
        StubModel(128),
        EngineConfig(
            num_blocks=PLACES * 8,
            block_size=16,
            prefix_caching=False,
            trace_steps=1,
            scheduler=SchedulerConfig(
                max_num_seqs=PLACES, max_num_batched_tokens=512, max_model_len=128
            ),
        ),
    )
    seen, clock, idle = [], 0, clients

    def send(at: float) -> None:
        tokens = asked[len(seen)]
        engine.add_request(
            PROMPT,
            SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True),
            str(len(seen)),
        )
        seen.append(Seen(tokens, at))

    while len(seen) < len(asked) or engine.has_work:
        while len(seen) < len(asked) and (
            idle if arrivals is None else arrivals[len(seen)] <= clock
        ):
            idle -= 1
            send(clock if arrivals is None else arrivals[len(seen)])
        clock += 1
        if engine.has_work and not (stalls and clock % EVERY < STALL):
            for output in engine.step():
                seen[int(output.request_id)].times += [clock] * len(output.tokens)
                idle += output.finish_reason is not None
    return seen, clock


def row(seen: list[Seen], steps: int) -> dict[str, float]:
    """What the users saw, and what the operator did."""
    counted = seen[LEFT_OUT:]
    first = sorted(each.first for each in counted)
    cuts = statistics.quantiles(first, n=100, method="inclusive")
    gaps = [(each.times[-1] - each.times[0]) / (each.tokens - 1) for each in counted]
    return {
        "first_mean": statistics.fmean(first),
        "first_median": cuts[49],
        "first_p95": cuts[94],
        "first_p99": cuts[98],
        "first_worst": first[-1],
        "per_token": statistics.fmean(gaps),
        "tokens_per_step": sum(each.tokens for each in seen) / steps,
        "share_in_time": sum(value <= PATIENCE for value in first) / len(first),
    }


def runs(**options) -> list[dict[str, float]]:
    """One row a seed."""
    found = []
    for seed in SEEDS:
        asked, draw, arrivals, load = (
            lengths(seed),
            random.Random(100 + seed),
            None,
            options.get("load"),
        )
        if load is not None:
            rate, at, arrivals = load * PLACES / statistics.fmean(asked), 0.0, []
            for _ in asked:
                at += draw.expovariate(rate)
                arrivals.append(at)
        found.append(
            {
                name: round(value, 3)
                for name, value in row(
                    *run(asked, arrivals, options.get("clients", 0), options.get("stalls", False))
                ).items()
            }
        )
    print(
        options,
        {name: round(statistics.fmean(one[name] for one in found), 2) for name in found[0]},
        flush=True,
    )
    return found


def main() -> None:
    """All of it, recorded."""
    save(
        "arrivals",
        places=PLACES,
        requests=REQUESTS,
        left_out=LEFT_OUT,
        patience=PATIENCE,
        seeds=SEEDS,
        mean_tokens=statistics.fmean(statistics.fmean(lengths(seed)) for seed in SEEDS),
        stall={"steps": STALL, "every": EVERY},
        open={str(load): runs(load=load) for load in LOADS},
        closed={str(clients): runs(clients=clients) for clients in CLIENTS},
        stalled={"open": runs(load=0.5, stalls=True), "closed": runs(clients=4, stalls=True)},
    )


if __name__ == "__main__":
    main()
