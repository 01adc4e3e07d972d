"""Numbers for /metrics, in Prometheus's text format and, where vLLM has the same, under
its names.

Time to first token is what a user waits before anything happens, time per output token
is how fast the answer then comes. Throughput alone hides both.
"""

import time
from dataclasses import dataclass, field

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from reference_impl.engine.engine import Engine, Output

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServingMetrics:
    """Counters of one server, each labelled with the model's name, in a registry of
    their own.
    """

    def __init__(self, model_name: str):
        self.registry, self._model = CollectorRegistry(), model_name

        def counter(name: str, about: str, *labels: str) -> Counter:
            made = Counter(name, about, ["model_name", *labels], registry=self.registry)
            return made if labels else made.labels(model_name)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(name, about, ["model_name"], registry=self.registry).labels(
                model_name
            )

        def seconds(name: str, about: str) -> Histogram:
            return Histogram(
                name, about, ["model_name"], buckets=SECONDS, registry=self.registry
            ).labels(model_name)

        self._success = counter(
            "vllm:request_success", "Continuations that ended", "finished_reason"
        )
        self._refused = counter(
            "word2serve:request_refused", "Requests that got an error", "status"
        )
        self.prompt_tokens = counter("vllm:prompt_tokens", "Tokens of prompts")
        self.generation_tokens = counter(
            "vllm:generation_tokens", "Tokens that were sampled"
        )
        self.preemptions = counter(
            "vllm:num_preemptions", "Sequences that gave up their blocks"
        )
        self.prefix_queries = counter(
            "vllm:prefix_cache_queries",
            "Tokens that were looked for among computed prefixes",
        )
        self.prefix_hits = counter(
            "vllm:prefix_cache_hits", "Tokens of these that were found"
        )
        self.drafted = counter(
            "vllm:spec_decode_num_draft_tokens", "Tokens that were guessed"
        )
        self.accepted = counter(
            "vllm:spec_decode_num_accepted_tokens", "Guesses that were kept"
        )
        self.first_token = seconds(
            "vllm:time_to_first_token_seconds", "From arrival to the first token"
        )
        self.per_token = seconds(
            "vllm:time_per_output_token_seconds", "From a token to the next"
        )
        self.latency = seconds(
            "vllm:e2e_request_latency_seconds", "From arrival to a continuation's end"
        )
        self.queue_time = seconds(
            "vllm:request_queue_time_seconds",
            "From arrival to the first step that computes it",
        )
        self.running = gauge("vllm:num_requests_running", "Sequences that run")
        self.waiting = gauge("vllm:num_requests_waiting", "Sequences that wait")
        self.tasks = gauge(
            "word2serve:asyncio_tasks",
            "Tasks of the event loop, this answer's included",
        )
        self.cache_usage = gauge(
            "vllm:kv_cache_usage_perc", "Share of blocks that are held"
        )
        self._seen: dict[Counter, int] = {}

    def succeeded(self, reason: str) -> None:
        """A continuation ended."""
        self._success.labels(self._model, reason).inc()

    def refuse(self, status: int) -> None:
        """A request got an error."""
        self._refused.labels(self._model, str(status)).inc()

    def after_step(self, engine: Engine, outputs: list[Output]) -> None:
        """Called in the engine's thread."""
        for counter, total in (
            (self.preemptions, engine.num_preemptions),
            (self.drafted, engine.num_drafted),
            (self.accepted, engine.num_accepted),
            (self.prefix_queries, engine.blocks.num_prefix_queries),
            (self.prefix_hits, engine.blocks.num_prefix_hits),
        ):
            counter.inc(total - self._seen.get(counter, 0))
            self._seen[counter] = total
        now = time.perf_counter()
        for sequence in engine.last_step.admitted:
            if not sequence.num_preemptions:
                self.queue_time.observe(now - sequence.arrived)
        self.generation_tokens.inc(sum(len(output.tokens) for output in outputs))
        self.update(engine)

    def update(self, engine: Engine) -> None:
        """Set the gauges to how things are now: an abort makes no step."""
        self.running.set(len(engine.scheduler.running))
        self.waiting.set(len(engine.scheduler.waiting))
        self.cache_usage.set(
            1 - engine.blocks.num_free_blocks / engine.blocks.num_blocks
        )

    def latencies(self) -> dict[str, float]:
        """Sums and counts since the start: of TTFT and TPOT, in seconds, and tokens."""
        names = {
            "ttft": "vllm:time_to_first_token_seconds",
            "tpot": "vllm:time_per_output_token_seconds",
        }
        labels = {"model_name": self._model}
        found = {
            f"{short}_{part}": self.registry.get_sample_value(f"{name}_{part}", labels)
            for short, name in names.items()
            for part in ("sum", "count")
        }
        tokens = self.registry.get_sample_value("vllm:generation_tokens_total", labels)
        return {**found, "generated": tokens}

    def text(self) -> bytes:
        """What /metrics answers."""
        return generate_latest(self.registry)


@dataclass
class Stopwatch:
    """Times the tokens of one continuation."""

    metrics: ServingMetrics
    started: float = field(default_factory=time.perf_counter)
    last: float | None = None

    def token(self, count: int) -> None:
        """`count` tokens have come, together."""
        if not count:
            return
        now = time.perf_counter()
        if self.last is None:
            self.metrics.first_token.observe(now - self.started)
            count -= 1
        for _ in range(count):
            self.metrics.per_token.observe((now - (self.last or now)) / count)
        self.last = now

    def finished(self, reason: str) -> None:
        """The last token has come."""
        self.metrics.succeeded(reason)
        self.metrics.latency.observe(time.perf_counter() - self.started)
