"""What users of `course serve` wait for, at several rates of arrival.

    python bench/serving.py [--rates 0.25 0.5 1] [--requests 16] [--tiny]
        [-- ARGUMENTS OF course serve]

Requests arrive by a Poisson process: the time between two is drawn from an exponential
distribution, and nobody waits for an answer before the next one asks, as it is with many users who
know nothing of each other. A client that sends one request after the other would slow down with the
server and hide how long its queue is.

Prompts are passages of the Bible of 16 to 128 words, answers 16 to 64 tokens, both spread evenly on
a log scale; the same requests at every rate. For each rate: time to first token, time per output
token after it (median and 95th percentile), tokens a second, and the share of requests that kept
both limits. Goodput is the highest rate at which nearly all keep theirs (Zhong et al. 2024,
DistServe): at least the highest here, if all did at each.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import httpx  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from served import course_serve, write_tiny_model  # noqa: E402

from reference_impl import corpora  # noqa: E402

FIRST_TOKEN_SECONDS, PER_TOKEN_SECONDS = 2.0, 0.25
"""The limits: patience for a beginning, and about as fast as one reads."""


@dataclass(frozen=True)
class Job:
    """One request: when it comes, after the start, and what it asks."""

    at: float
    prompt: str
    max_tokens: int


@dataclass(frozen=True)
class Served:
    """What its user saw."""

    first: float  # seconds to the first token
    per_token: float  # seconds a token after it
    num_tokens: int

    @property
    def is_good(self) -> bool:
        """Whether both limits were kept."""
        return self.first <= FIRST_TOKEN_SECONDS and self.per_token <= PER_TOKEN_SECONDS


def jobs(count: int, rate: float) -> list[Job]:
    """The same texts and lengths for every rate; arrivals `rate` times denser."""
    draw, words, at, found = random.Random(0), corpora.load("kjv").split(), 0.0, []
    for _ in range(count):
        at += draw.expovariate(1.0)
        start = draw.randrange(len(words) - 128)
        prompt = " ".join(words[start : start + round(16 * 8 ** draw.random())])
        found.append(Job(at / rate, prompt, round(16 * 4 ** draw.random())))
    return found


async def ask(http: httpx.AsyncClient, model: str, job: Job, start: float) -> Served:
    """Wait for the request's time, send it, and watch its stream."""
    await asyncio.sleep(start + job.at - time.perf_counter())
    body = {
        "model": model,
        "prompt": job.prompt,
        "max_tokens": job.max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "logprobs": 0,
    }
    sent, times, num_tokens = time.perf_counter(), [], 0
    async with http.stream("POST", "/v1/completions", json=body) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                piece = json.loads(line.removeprefix("data: "))
                if piece["choices"]:  # with logprobs every token has its event
                    times.append(time.perf_counter())
                else:
                    num_tokens = piece["usage"]["completion_tokens"]
    return Served(times[0] - sent, (times[-1] - times[0]) / max(num_tokens - 1, 1), num_tokens)


async def measure(url: str, model: str, rate: float, count: int) -> dict[str, float]:
    """One rate's row."""
    async with httpx.AsyncClient(base_url=url, timeout=600) as http:
        start = time.perf_counter()
        seen = await asyncio.gather(*(ask(http, model, job, start) for job in jobs(count, rate)))
        seconds = time.perf_counter() - start
    good = sum(each.is_good for each in seen)
    row = {
        "requests_per_second": rate,
        "requests": count,
        "seconds": seconds,
        "tokens_per_second": sum(each.num_tokens for each in seen) / seconds,
        "share_within_limits": good / count,
        "requests_within_limits_per_second": good / seconds,
    }
    for name in ("first", "per_token"):
        values = sorted(getattr(each, name) for each in seen)
        row |= {
            f"{name}_median": statistics.median(values),
            f"{name}_p95": statistics.quantiles(values, n=20, method="inclusive")[-1],
        }
    return {name: round(value, 4) for name, value in row.items()}


def main() -> None:
    """Serve, measure every rate, record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--rates",
        type=float,
        nargs="+",
        default=[0.25, 0.5, 1.0],
        metavar="R",
        help="requests a second",
    )
    parser.add_argument("--requests", type=int, default=16, help="at each rate")
    parser.add_argument(
        "--tiny", action="store_true", help="a tiny model of random weights: the server's own costs"
    )
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("arguments", nargs="*", help="for course serve, after --")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = [write_tiny_model(Path(folder) / "tiny")] if args.tiny else []
        with course_serve(*model, *args.arguments) as (_, url):
            name = httpx.get(f"{url}/v1/models").json()["data"][0]["id"]
            asyncio.run(measure(url, name, 10.0, 2))  # the first request pays for what is made once
            rows = []
            for rate in args.rates:
                rows.append(asyncio.run(measure(url, name, rate, args.requests)))
                print(json.dumps(rows[-1]), flush=True)
    if not args.no_record:
        save(
            "serving",
            model=name,
            arguments=args.arguments,
            rates=rows,
            limits={"first": FIRST_TOKEN_SECONDS, "per_token": PER_TOKEN_SECONDS},
        )


if __name__ == "__main__":
    main()
