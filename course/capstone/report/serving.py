"""The exported model behind HTTP, as `course serve` has it, for questions and for timing."""

import contextlib
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from reference_impl.engine.connections import make_server
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.limits import Limits
from reference_impl.engine.loading import Loaded, load
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.server import Served, create_app
from reference_impl.generation.sampling_params import SamplingParams

START_SECONDS = 120


def make_engine(loaded: Loaded) -> Engine:
    """An engine for a model of few positions."""
    longest = loaded.model.config.max_position_embeddings
    config = EngineConfig(scheduler=SchedulerConfig(max_model_len=longest))
    return Engine(loaded.model, config, loaded.tokenizer, loaded.eos_ids)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve an exported folder from a thread; the address of the API."""
    loaded = load(folder)
    limits = Limits()
    served = Served(make_engine(loaded), loaded.name, loaded.render_chat, limits=limits)
    server = make_server(create_app(served), limits)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


def ask(address: str, model: str, questions: Sequence[str], max_tokens: int = 30) -> list[str]:
    """The greedy answer to each question, each in a conversation of its own."""
    return [_ask(address, model, question, max_tokens) for question in questions]


def _ask(address: str, model: str, question: str, max_tokens: int) -> str:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    request = urllib.request.Request(
        f"{address}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=START_SECONDS) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def tokens_per_second(folder: Path, questions: Sequence[str]) -> dict[str, float]:
    """Generated tokens per wall second of the engine: one request at a time, and all together."""
    loaded = load(folder)
    params = SamplingParams(temperature=0.0, max_tokens=30)
    prompts = [
        loaded.render_chat([{"role": "user", "content": question}]) for question in questions
    ]
    found = {}
    for name, batches in (("alone", [[one] for one in prompts]), ("together", [prompts])):
        engine, count, started = make_engine(loaded), 0, time.perf_counter()
        for batch in batches:
            count += sum(len(one[0].ids) for one in engine.generate(batch, params))
        found[name] = round(count / (time.perf_counter() - started), 1)
    return found | {"requests": len(prompts)}
