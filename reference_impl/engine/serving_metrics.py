"""Numbers for /metrics, in Prometheus's text format and, where vLLM has the same, under its names.

Time to first token is what a user waits before anything happens, time per output token is how fast the answer then
comes. Throughput alone hides both.
"""
import time
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from reference_impl.engine.engine import Engine, Output

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServingMetrics:
    """Counters of one server. Each has a registry of its own, so that two in one process do not meet."""

    def __init__(self):
        registry = self.registry = CollectorRegistry()
        self.requests = Counter("vllm:request_success", "Continuations that ended", ["finished_reason"],
                                registry=registry)
        self.refused = Counter("word2serve:request_refused", "Requests that got an error", ["status"],
                               registry=registry)
        self.prompt_tokens = Counter("vllm:prompt_tokens", "Tokens of prompts", registry=registry)
        self.generation_tokens = Counter("vllm:generation_tokens", "Tokens that were sampled", registry=registry)
        self.preemptions = Counter("vllm:num_preemptions", "Sequences that gave up their blocks", registry=registry)
        self.first_token = Histogram("vllm:time_to_first_token_seconds", "From arrival to the first token",
                                     buckets=SECONDS, registry=registry)
        self.per_token = Histogram("vllm:time_per_output_token_seconds", "From a token to the next", buckets=SECONDS,
                                   registry=registry)
        self._preemptions = 0
        self.running = Gauge("vllm:num_requests_running", "Sequences that run", registry=registry)
        self.waiting = Gauge("vllm:num_requests_waiting", "Sequences that wait", registry=registry)
        self.tasks = Gauge("word2serve:asyncio_tasks", "Tasks of the event loop, this answer's included",
                           registry=registry)
        self.cache_usage = Gauge("vllm:kv_cache_usage_perc", "Share of blocks that are held", registry=registry)

    def after_step(self, engine: Engine, outputs: list[Output]) -> None:
        """Called in the engine's thread."""
        self.preemptions.inc(engine.num_preemptions - self._preemptions)
        self._preemptions = engine.num_preemptions
        self.generation_tokens.inc(sum(len(output.tokens) for output in outputs))
        self.update(engine)

    def update(self, engine: Engine) -> None:
        """Set the gauges to how things are now: an abort makes no step."""
        self.running.set(len(engine.scheduler.running))
        self.waiting.set(len(engine.scheduler.waiting))
        self.cache_usage.set(1 - engine.blocks.num_free_blocks / engine.blocks.num_blocks)

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
