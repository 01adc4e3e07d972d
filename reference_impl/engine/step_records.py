"""What each step of a server did, as plain data: for the page that watches a server,
and for the file that the book's figure of a recorded run opens.

A record has lengths and block numbers of requests, never their text. A request is
called by its number of arrival, "12"; its further continuations are "12.1", "12.2".

The file is JSON lines, each an object with a `kind`:

    engine    the first line: version, limits and policy; `dropped` steps came before
    request   arrived (before which step), prompt and answer (tokens), reason (why it
              ended), keys: a number for each full block, equal where the whole prefix
              is equal; looks_up: whether it may take blocks from the cache
    step      see `step_record`

Equal keys are what a replay needs to find the same prefixes in the cache. They reveal
that two requests share a prefix, and not what it says.

Not here: timelines with the requests' own names (see `trace`).
"""

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Iterator
from collections.abc import Sequence as Ids
from pathlib import Path
from typing import Any

from reference_impl.engine.engine import Engine, Output
from reference_impl.engine.prefix_index import chain_hash
from reference_impl.engine.scheduler import Scheduled
from reference_impl.engine.sequence import UNKNOWN, Sequence

VERSION = 1


def label(sequence: Sequence) -> str:
    """What a sequence is called in records: the number of its arrival."""
    index = f".{sequence.index}" if sequence.index else ""
    return f"{sequence.arrival}{index}"


def step_record(engine: Engine, outputs: Ids[Output]) -> dict[str, Any]:
    """The engine's last step. To be called after it, in the engine's thread.

    step: its number; at: the clock's seconds when it ended; tokens: [label, tokens,
    draft tokens, "prefill" or "decode"] of each sequence that was computed; cached:
    [label, tokens found in the cache] of each that was admitted; preempted, finished,
    waiting: labels; blocks: [label, blocks held] of each that runs on; free: blocks.
    """
    step, scheduler = engine.last_step, engine.scheduler
    done = {
        (output.request_id, output.index)
        for output in outputs
        if output.finish_reason is not None
    }
    return {
        "step": engine.trace.num_steps - 1,
        "at": round(time.perf_counter(), 4),
        "tokens": [
            [label(item.sequence), item.num_tokens, item.num_drafts, _phase(item)]
            for item in step.scheduled
        ],
        "cached": [[label(s), s.num_cached_tokens] for s in step.admitted],
        "preempted": [label(s) for s in step.preempted],
        "finished": [
            label(item.sequence)
            for item in step.scheduled
            if (item.sequence.request_id, item.sequence.index) in done
        ],
        "waiting": [label(s) for s in scheduler.waiting],
        "blocks": [
            [label(s), len(s.block_table) - s.num_given_up] for s in scheduler.running
        ],
        "free": engine.blocks.num_free_blocks,
    }


def _phase(item: Scheduled) -> str:
    """A decode computes one token and samples one that is not the first."""
    sequence = item.sequence
    sampled = sequence.is_finished or sequence.num_uncomputed <= 1
    one = item.num_tokens - item.num_drafts == 1
    return "decode" if one and sampled and len(sequence.output_ids) > 1 else "prefill"


class StepRecorder:
    """The last steps of an engine, and the requests that took part in them."""

    def __init__(self, engine: Engine, longest: int = 10_000):
        self.engine = engine
        self._steps: deque[dict[str, Any]] = deque(maxlen=longest)
        self._alive: dict[Sequence, int] = {}  # the step before which each arrived
        # requests that ended, with the step in which they did
        self._ended: deque[tuple[int, dict[str, Any]]] = deque()

    @property
    def num_steps(self) -> int:
        """How many steps are remembered."""
        return len(self._steps)

    def after_step(self, engine: Engine, outputs: Ids[Output]) -> None:
        """Remember a step. For `AsyncEngine`'s `on_step`."""
        record = step_record(engine, outputs)
        self._steps.append(record)
        number, finished = record["step"], set(record["finished"])
        here = [*engine.scheduler.running, *engine.scheduler.waiting]
        # One that ended while the step after was computed is scheduled there, too.
        ending = [item.sequence for item in engine.last_step.scheduled]
        for sequence in [*here, *(s for s in ending if label(s) in finished)]:
            self._alive.setdefault(sequence, number)
        gone = set(self._alive) - set(here)
        for sequence in [one for one in self._alive if one in gone]:
            arrived = self._alive.pop(sequence)
            self._ended.append((number, self._request(sequence, arrived)))
        while self._ended and self._ended[0][0] < self._steps[0]["step"]:
            self._ended.popleft()

    def _request(self, sequence: Sequence, arrived: int) -> dict[str, Any]:
        ids = [id for id in sequence.ids if id != UNKNOWN]
        prompt = len(sequence.prompt_ids)
        return {
            "kind": "request",
            "id": label(sequence),
            "arrived": arrived,
            "prompt": prompt,
            "answer": len(ids) - prompt,
            "priority": sequence.priority,
            "reason": sequence.finish_reason,
            "looks_up": not sequence.scores_prompt,
            "keys": self._keys(sequence, ids),
        }

    def _keys(self, sequence: Sequence, ids: Ids[int]) -> list[bytes]:
        """What each full block is known by; none without prefix caching."""
        blocks = self.engine.blocks
        if not blocks.prefix_caching:
            return []
        size = blocks.block_size
        salted = repr((sequence.cache_salt, sequence.adapter)).encode()
        keys = [hashlib.sha256(salted).digest()]
        for start in range(0, len(ids) - size + 1, size):
            keys.append(chain_hash(keys[-1], ids[start : start + size]))
        return keys[1:]

    def lines(self) -> Iterator[dict[str, Any]]:
        """The file's lines, as plain data."""
        first = self._steps[0]["step"] if self._steps else 0
        yield {"kind": "engine", "version": VERSION, "dropped": first, **self._limits()}
        numbers: dict[bytes, int] = {}
        alive = [self._request(s, arrived) for s, arrived in self._alive.items()]
        for request in [*(request for _, request in self._ended), *alive]:
            keys = [numbers.setdefault(key, len(numbers)) for key in request["keys"]]
            yield {**request, "keys": keys}
        for record in self._steps:
            yield {"kind": "step", **record}

    def _limits(self) -> dict[str, Any]:
        config = self.engine.config
        limits = config.scheduler
        return {
            "num_blocks": config.num_blocks,
            "block_size": config.block_size,
            "watermark_blocks": self.engine.blocks.watermark_blocks,
            "prefix_caching": config.prefix_caching,
            "max_num_seqs": limits.max_num_seqs,
            "max_num_batched_tokens": limits.max_num_batched_tokens,
            "patience": limits.patience,
            "policy": limits.policy,
            "num_host_blocks": limits.num_host_blocks,
            "window": self.engine.blocks.window,
            "speculative": self.engine.proposer is not None,
        }

    def save(self, path: Path | str) -> None:
        """Write the file, whole or not at all. OSError if that is not possible."""
        path = Path(path)
        unfinished = path.with_name(f".{path.name}.part")
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                for line in self.lines():
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
