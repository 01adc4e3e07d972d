"""Minutes of mixed traffic, good and bad, against `course serve`; then nothing may be left behind.

    python bench/soak.py [--seconds 600] [--clients 12] [--no-record]
    python bench/soak.py --deeds 10 [--clients 12] [--no-record]
        so many things a client, however long they take

A tiny model, with so few blocks of cache that sequences are preempted all the time. Clients
complete, chat, stream, ask for several answers and for embeddings, hang up in mid-stream and before
the answer, send what is wrong, too large or no HTTP, and open connections that say nothing. Each
now and then asks one question whose greedy answer must never change.

Left behind may be: no block, no sequence, no task, no file descriptor, no thread more than at the
start. Memory is reported. Exit code 1 if something is left, or an answer had a status that it
should not have.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import httpx  # noqa: E402  (threads are set before torch starts)
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402
from record import save  # noqa: E402
from served import course_serve, write_tiny_model  # noqa: E402

PROBE = {
    "model": "tiny",
    "prompt": "The same question, always.",
    "max_tokens": 12,
    "temperature": 0,
    "ignore_eos": True,
}
WRONG = [
    ({"temperature": -1}, 400),
    ({"max_tokens": 0}, 400),
    ({"n": 99}, 400),
    ({"model": "other"}, 404),
    ({"prompt": ""}, 400),
    ({"unknown": 1}, 400),
    ({"prompt": "x" * 1_100_000}, 413),
    ({"max_tokens": 10**6}, 400),
]
SETTLE_SECONDS = 60


class Traffic:
    """One server's clients, and what they met."""

    def __init__(self, url: str, seconds: float, deeds: int | None = None):
        self.url, self.end, self.deeds = url, time.monotonic() + seconds, deeds
        self.http = httpx.AsyncClient(
            base_url=url, timeout=120, limits=httpx.Limits(max_connections=None)
        )
        self.seen: Counter[str] = Counter()
        self.unexpected: list[str] = []
        self.answer: str | None = None

    async def client(self, seed: int) -> None:
        """One thing after the other until the time is over, or so many."""
        draw, done = random.Random(seed), 0
        kinds = [
            self.complete,
            self.stream,
            self.leave_stream,
            self.leave_whole,
            self.wrong,
            self.probe,
            self.embed,
            self.no_http,
            self.silent,
        ]
        while time.monotonic() < self.end if self.deeds is None else done < self.deeds:
            done += 1
            await draw.choices(kinds, [4, 4, 3, 3, 2, 2, 1, 1, 1])[0](draw)

    def expect(self, kind: str, answer: httpx.Response, *statuses: int) -> bool:
        """Count; remember what should not be."""
        self.seen[f"{kind} {answer.status_code}"] += 1
        if answer.status_code not in statuses:
            self.unexpected.append(f"{kind}: {answer.status_code} {answer.text[:200]}")
        return answer.status_code == 200

    def asked(self, draw: random.Random) -> tuple[str, dict]:
        """A request: completion or chat, short or long, one answer or several."""
        text = "".join(draw.choices("abcdefgh ", k=draw.randrange(1, 400)))
        body = {
            "model": "tiny",
            "max_tokens": draw.randrange(1, 120),
            "n": draw.choice([1, 1, 1, 2, 4]),
            "temperature": draw.choice([0, 1]),
            "seed": draw.randrange(1000),
            "stop": draw.choice([None, "zz"]),
        }
        if draw.random() < 0.5:
            return "/v1/completions", {**body, "prompt": text, "logprobs": draw.choice([None, 3])}
        return "/v1/chat/completions", {**body, "messages": [{"role": "user", "content": text}]}

    async def complete(self, draw: random.Random) -> None:
        """A whole answer."""
        path, body = self.asked(draw)
        answer = await self.http.post(path, json=body)
        if self.expect("whole", answer, 200) and len(answer.json()["choices"]) != body["n"]:
            self.unexpected.append("whole: a choice is missing")

    async def stream(self, draw: random.Random) -> None:
        """A stream to its end, read a little slowly now and then."""
        path, body = self.asked(draw)
        async with self.http.stream("POST", path, json={**body, "stream": True}) as answer:
            last = ""
            async for line in answer.aiter_lines():
                last = line or last
                if draw.random() < 0.05:
                    await asyncio.sleep(0.02)
            self.seen[f"stream {answer.status_code}"] += 1
            if last != "data: [DONE]":
                self.unexpected.append(
                    f"stream: {answer.status_code}, its last line is {last[:200]}"
                )

    async def leave_stream(self, draw: random.Random) -> None:
        """Hang up after a few events."""
        path, body = self.asked(draw)
        body |= {"stream": True, "max_tokens": 1000, "ignore_eos": True}
        async with self.http.stream("POST", path, json=body) as answer:
            left = draw.randrange(1, 20)
            async for _ in answer.aiter_lines():
                left -= 1
                if not left:
                    break
            self.seen[f"stream left {answer.status_code}"] += 1

    async def leave_whole(self, draw: random.Random) -> None:
        """Hang up while the answer is computed."""
        path, body = self.asked(draw)
        try:
            async with asyncio.timeout(draw.random() * 0.3):
                await self.http.post(path, json={**body, "max_tokens": 1000, "ignore_eos": True})
        except TimeoutError:
            self.seen["whole left"] += 1

    async def wrong(self, draw: random.Random) -> None:
        """Something that must be refused."""
        change, status = draw.choice(WRONG)
        self.expect(
            "wrong", await self.http.post("/v1/completions", json={**PROBE, **change}), status
        )

    async def probe(self, _: random.Random) -> None:
        """The question whose answer never changes."""
        answer = await self.http.post("/v1/completions", json=PROBE)
        if self.expect("probe", answer, 200):
            text = answer.json()["choices"][0]["text"]
            self.answer = text if self.answer is None else self.answer
            if text != self.answer:
                self.unexpected.append(f"probe: {text!r} after {self.answer!r}")

    async def embed(self, draw: random.Random) -> None:
        """Vectors, where there is an encoder."""
        body = {"model": "all-minilm-l6-v2", "input": ["a river"] * draw.randrange(1, 5)}
        self.expect("embed", await self.http.post("/v1/embeddings", json=body), 200, 404)

    async def no_http(self, draw: random.Random) -> None:
        """Bytes that are no request."""
        reader, writer = await self._connect()
        writer.write(draw.randbytes(200) + b"\r\n\r\n")
        await reader.read()
        writer.close()
        self.seen["no HTTP"] += 1

    async def silent(self, draw: random.Random) -> None:
        """A connection that begins a request and does not go on."""
        _, writer = await self._connect()
        writer.write(b"POST /v1/comple"[: draw.randrange(15)])
        await asyncio.sleep(draw.random())
        writer.close()
        self.seen["silent"] += 1

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self.url.removeprefix("http://").rsplit(":", 1)
        return await asyncio.open_connection(host, int(port))


def read_state(url: str, pid: int) -> dict[str, float]:
    """What the process holds: by its own metrics, and as the system sees it."""
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(httpx.get(f"{url}/metrics").text)
        for sample in family.samples
        if set(sample.labels) == {"model_name"}
    }
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {
        "blocks_held": samples["vllm:kv_cache_usage_perc"],
        "running": samples["vllm:num_requests_running"],
        "waiting": samples["vllm:num_requests_waiting"],
        "tasks": samples["word2serve:asyncio_tasks"],
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
        "resident_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "tokens": samples["vllm:generation_tokens_total"],
        "preemptions": samples["vllm:num_preemptions_total"],
    }


def left_behind(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """What is more than it was."""
    return [
        f"{name}: {after[name]:g} after {before[name]:g}"
        for name in ("blocks_held", "running", "waiting", "tasks", "descriptors", "threads")
        if after[name] > before[name]
    ]


async def soak(
    url: str, seconds: float, num_clients: int, first_seed: int = 0, deeds: int | None = None
) -> Traffic:
    """All clients at once; each its own random numbers."""
    traffic = Traffic(url, seconds, deeds)
    async with traffic.http:
        await asyncio.gather(*(traffic.client(first_seed + i) for i in range(num_clients)))
    return traffic


def main() -> int:
    """Run, report, and record unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--deeds", type=int)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = write_tiny_model(Path(folder) / "tiny")
        with course_serve(
            model,
            "--num-blocks",
            140,
            "--max-num-seqs",
            16,
            "--max-num-batched-tokens",
            64,
            "--speculate",
            2,
        ) as (process, url):
            # What is made once and kept (thread pools, compiled templates) is there after every
            # kind was served.
            asyncio.run(soak(url, min(args.seconds / 4, 20), args.clients, 10_000, args.deeds))
            before = _settled(url, process.pid, None)
            traffic = asyncio.run(soak(url, args.seconds, args.clients, deeds=args.deeds))
            after = _settled(url, process.pid, before)
    left = left_behind(before, after)
    print("\n".join([f"{count:7,} {kind}" for kind, count in sorted(traffic.seen.items())]))
    print(
        f"tokens {after['tokens'] - before['tokens']:,.0f}, preemptions "
        f"{after['preemptions'] - before['preemptions']:,.0f}, memory {before['resident_mb']} to "
        f"{after['resident_mb']} MB"
    )
    print(
        "left behind:",
        "; ".join(left) or "nothing",
        "| unexpected:",
        "; ".join(traffic.unexpected[:5]) or "nothing",
    )
    if not args.no_record:
        save(
            "soak",
            seconds=args.seconds,
            deeds=args.deeds,
            clients=args.clients,
            seen=dict(sorted(traffic.seen.items())),
            before=before,
            after=after,
            left_behind=left,
            unexpected=traffic.unexpected[:20],
        )
    return 1 if left or traffic.unexpected else 0


def _settled(url: str, pid: int, before: dict[str, float] | None) -> dict[str, float]:
    """The state when all is done: as before, or the same twice, or as it is after a minute."""
    end, last = time.monotonic() + SETTLE_SECONDS, None
    while True:
        time.sleep(1)
        state = read_state(url, pid)
        idle = not (state["running"] or state["waiting"] or state["blocks_held"])
        same = (
            not left_behind(before, state)
            if before
            else last is not None and not left_behind(state, last)
        )
        if idle and same or time.monotonic() > end:
            return state
        last = state


if __name__ == "__main__":
    sys.exit(main())
