"""What users of `course serve` wait for: the small GPT over HTTP, asked by the real `openai`
client, in seconds.

    python bench/waiting.py [--rates 4 8 16] [--requests 60]
        three minutes, on as many cores as server and client get

`serving.py` has SmolLM2 and few requests; here are enough for an interval. Open: requests come by a
Poisson process, each rate with five seeds. Closed: so many clients, each of which asks again when
it has its answer. Prompts are beginnings of verses, answers 16 to 64 tokens, all streamed. Server
and client share the machine, and with others: see `machine`.

The record `waiting_nagle` is of the server as it was before `connections.py` switched off TCP's
waiting for receipts.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import openai  # noqa: E402  (threads are set before torch starts)
from record import VERSIONS_OF, save  # noqa: E402
from served import course_serve, write_small_gpt  # noqa: E402

from reference_impl import corpora  # noqa: E402

SEEDS, CLIENTS = (0, 1, 2, 3, 4), (1, 4, 16)


def jobs(count: int, seed: int) -> list[tuple[str, int]]:
    """Prompts and lengths."""
    draw, verses = (
        random.Random(seed),
        [line for line in corpora.load("kjv").split("\n") if len(line.split()) > 8],
    )
    return [
        (" ".join(draw.choice(verses).split()[:8]), round(16 * 4 ** draw.random()))
        for _ in range(count)
    ]


async def ask(client: openai.AsyncOpenAI, job: tuple[str, int]) -> tuple[float, float, int]:
    """Seconds to the first token, seconds a token after it, tokens."""
    sent, times, tokens = time.perf_counter(), [], 0
    stream = await client.completions.create(
        model="gpt_kjv",
        prompt=job[0],
        max_tokens=job[1],
        temperature=0,
        stream=True,
        logprobs=0,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
    )
    async for piece in stream:
        if piece.choices:  # with logprobs every token has its event
            times.append(time.perf_counter())
        else:
            tokens = piece.usage.completion_tokens
    return times[0] - sent, (times[-1] - times[0]) / (tokens - 1), tokens


async def measure(
    url: str, count: int, seed: int, rate: float | None = None, clients: int = 0
) -> dict[str, float]:
    """One run's row."""
    asked, draw = jobs(count, seed), random.Random(100 + seed)
    async with openai.AsyncOpenAI(
        base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120
    ) as client:
        start = time.perf_counter()
        if rate is not None:
            at, waits = 0.0, []
            for job in asked:
                at += draw.expovariate(rate)

                async def one(at=at, job=job):
                    await asyncio.sleep(start + at - time.perf_counter())
                    return await ask(client, job)

                waits.append(one())
            seen = await asyncio.gather(*waits)
        else:
            left = iter(asked)

            async def one():
                return [await ask(client, job) for job in left]

            seen = sum(await asyncio.gather(*(one() for _ in range(clients))), [])
        seconds = time.perf_counter() - start
    first = sorted(each[0] for each in seen)
    return {
        name: round(value, 5)
        for name, value in {
            "seconds": seconds,
            "tokens_per_second": sum(each[2] for each in seen) / seconds,
            "first_mean": statistics.fmean(first),
            "first_median": statistics.median(first),
            "first_p95": statistics.quantiles(first, n=20, method="inclusive")[-1],
            "per_token": statistics.fmean(each[1] for each in seen),
        }.items()
    }


def main() -> None:
    """Serve, measure, record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[4, 8, 16], help="requests a second"
    )
    parser.add_argument("--requests", type=int, default=60, help="in each run")
    parser.add_argument("--record", default="waiting", help="name of the record")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        course_serve(write_small_gpt(Path(folder) / "gpt_kjv", "gpt_kjv")) as (_, url),
    ):
        asyncio.run(measure(url, 10, 9, clients=2))  # the first requests pay for what is made once
        found = {"open": {}, "closed": {}}
        for seed in SEEDS:  # the rates take turns, so that a busy minute meets all
            for kind, key, options in [
                *(("open", rate, {"rate": rate}) for rate in args.rates),
                *(("closed", clients, {"clients": clients}) for clients in CLIENTS),
            ]:
                row = asyncio.run(measure(url, args.requests, seed, **options))
                found[kind].setdefault(f"{key:g}", []).append(row)
                print(kind, key, json.dumps(row), flush=True)
    save(
        args.record,
        versions=[*VERSIONS_OF, "openai"],
        model="gpt_kjv",
        requests=args.requests,
        seeds=SEEDS,
        **found,
    )


if __name__ == "__main__":
    main()
