"""An HTTP server with OpenAI's API: what a client of the big ones says, this one understands.

    POST /v1/completions, /v1/chat/completions   whole or as a stream of server-sent events
    POST /v1/embeddings                          vectors of an encoder
    GET  /v1/models, /health, /metrics

Whoever can reach the port is a stranger: bodies, prompts, answers, numbers of requests and times have limits, and
what is over one gets an error in OpenAI's shape. A client that hangs up gives its blocks back.

Not here: TLS, accounts, fairness between clients. A proxy in front does these better.
"""
import asyncio
import contextlib
import secrets
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ValidationError

from reference_impl.engine import responses
from reference_impl.engine.async_engine import AsyncEngine, EngineStopped
from reference_impl.engine.embedding import Encoder, embed
from reference_impl.engine.engine import Engine, Output
from reference_impl.engine.protocol import ApiError, ChatRequest, CompletionRequest, EmbeddingRequest, Sampling
from reference_impl.engine.responses import Answer, Choice
from reference_impl.engine.serving_metrics import ServingMetrics, Stopwatch
from reference_impl.generation.sampling_params import SamplingParams

Asked = TypeVar("Asked", bound=BaseModel)


@dataclass(frozen=True)
class Limits:
    """What one client may ask for, and all together."""

    body_bytes: int = 1_000_000
    body_seconds: float = 10.0  # to send the body in
    request_seconds: float = 600.0
    num_requests: int = 256  # served and waiting together; more are told to come back
    n: int = 8
    embedding_inputs: int = 256


@dataclass(frozen=True)
class Served:
    """What a server serves."""

    engine: Engine
    model_name: str
    render_chat: Callable[[list[dict]], str]
    encoder: Encoder | None = None
    encoder_name: str = "encoder"
    api_key: str | None = None
    limits: Limits = field(default_factory=Limits)


def create_app(served: Served) -> FastAPI:
    """The application, ready for uvicorn. The engine's thread starts and ends with it."""
    metrics = ServingMetrics()
    handler = Handler(served, AsyncEngine(served.engine, metrics.after_step), metrics)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with handler.serving:
            yield
    app = FastAPI(title="word2serve", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/health", handler.health)
    app.add_api_route("/metrics", handler.metrics_text)
    app.add_api_route("/v1/models", handler.models)
    app.add_api_route("/v1/completions", handler.completions, methods=["POST"])
    app.add_api_route("/v1/chat/completions", handler.chat, methods=["POST"])
    app.add_api_route("/v1/embeddings", handler.embeddings, methods=["POST"])

    @app.exception_handler(ApiError)
    async def refuse(_: Request, error: ApiError) -> JSONResponse:
        metrics.refused.labels(str(error.status)).inc()
        return JSONResponse(error.body, error.status, headers=error.headers)

    @app.exception_handler(404)
    @app.exception_handler(405)
    async def no_such_place(request: Request, error: Exception) -> JSONResponse:
        status = getattr(error, "status_code", 404)
        return JSONResponse(ApiError(status, f"{request.method} {request.url.path} is not served here").body, status)
    return app


class Handler:
    """One method a route. Nothing of a request outlives its method, or the stream that it returned."""

    def __init__(self, served: Served, serving: AsyncEngine, metrics: ServingMetrics):
        self.served, self.serving, self.metrics = served, serving, metrics
        self._embedding = asyncio.Semaphore(1)

    async def health(self) -> JSONResponse:
        """200 while the engine's thread runs."""
        healthy = self.serving.is_healthy
        return JSONResponse({"status": "ok" if healthy else "the engine stopped"}, 200 if healthy else 503)

    async def metrics_text(self) -> Response:
        """For Prometheus."""
        self.metrics.update(self.served.engine)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def models(self, request: Request) -> dict:
        """The names that a request's `model` may have."""
        self._authorise(request)
        names = [self.served.model_name, *([self.served.encoder_name] if self.served.encoder else [])]
        return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "word2serve"}
                                           for name in names]}

    async def completions(self, request: Request) -> Response:
        """Go on with a text."""
        asked = await self._read(request, CompletionRequest, self.served.model_name)
        ids = self._encode(asked.prompt, specials_in_text=False) if isinstance(asked.prompt, str) else asked.prompt
        return await self._generate(request, asked, ids, asked.max_tokens, asked.logprobs)

    async def chat(self, request: Request) -> Response:
        """Answer a conversation."""
        asked = await self._read(request, ChatRequest, self.served.model_name)
        # Who writes a special token into a message would speak in another's name.
        specials = self.served.engine.tokenizer.specials
        for message in asked.messages:
            for special in specials:
                if special in message.content:
                    raise ApiError(400, f"a message holds the special token {special!r}", param="messages")
        ids = self._encode(self.served.render_chat([m.model_dump() for m in asked.messages]), specials_in_text=True)
        room = self.served.engine.config.scheduler.max_model_len - len(ids)
        wanted = asked.max_completion_tokens if asked.max_completion_tokens is not None else asked.max_tokens
        logprobs = (asked.top_logprobs or 0) if asked.logprobs else None
        return await self._generate(request, asked, ids, max(room, 1) if wanted is None else wanted, logprobs)

    async def embeddings(self, request: Request) -> dict:
        """A vector for each text."""
        asked = await self._read(request, EmbeddingRequest, self.served.encoder_name)
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        if not texts or "" in texts:
            raise ApiError(400, "input is empty, or holds an empty text", param="input")
        if len(texts) > self.served.limits.embedding_inputs:
            raise ApiError(400, f"{len(texts)} texts, at most {self.served.limits.embedding_inputs} in one request",
                           param="input")
        async with self._embedding:
            return await asyncio.to_thread(embed, self.served.encoder, texts, asked.encoding_format, asked.model)

    def _authorise(self, request: Request) -> None:
        expected, given = self.served.api_key, request.headers.get("authorization", "")
        if expected is not None and not secrets.compare_digest(given.encode(), f"Bearer {expected}".encode()):
            raise ApiError(401, "wrong or missing API key: send `Authorization: Bearer KEY`", "authentication_error",
                           code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})

    async def _read(self, request: Request, kind: type[Asked], model_name: str) -> Asked:
        """The request's body, checked."""
        self._authorise(request)
        limits, body = self.served.limits, bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for piece in request.stream():
                    body += piece
                    if len(body) > limits.body_bytes:
                        raise ApiError(413, f"the body is larger than {limits.body_bytes:,} bytes",
                                       headers={"Connection": "close"})
        except TimeoutError:
            raise ApiError(408, f"the body did not come within {limits.body_seconds:g} s", "timeout",
                           headers={"Connection": "close"}) from None
        try:
            asked = kind.model_validate_json(bytes(body))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"])) or None
            raise ApiError(400, f"{name or 'the body'}: {first['msg']}", param=name) from None
        if asked.model != model_name:
            raise ApiError(404, f"the model {asked.model!r} is not served here, {model_name!r} is", param="model",
                           code="model_not_found")
        return asked

    def _encode(self, text: str, specials_in_text: bool) -> list[int]:
        return self.served.engine.tokenizer.encode(text, specials_in_text=specials_in_text).ids

    async def _generate(self, request: Request, asked: Sampling, ids: list[int], max_tokens: int,
                        logprobs: int | None) -> Response:
        served = self.served
        if asked.n > served.limits.n:
            raise ApiError(400, f"n is {asked.n}, at most {served.limits.n} here", param="n")
        try:
            params = asked.params(max_tokens, logprobs)
            served.engine.check_request(ids, params)
        except ValueError as error:
            longest = served.engine.config.scheduler.max_model_len
            code = "context_length_exceeded" if len(ids) + max_tokens > longest else None
            raise ApiError(400, str(error), code=code) from None
        if self.serving.num_requests >= served.limits.num_requests:
            raise ApiError(429, f"{served.limits.num_requests} requests are being served: come back in a second",
                           "rate_limit_error", code="rate_limit_exceeded", headers={"Retry-After": "1"})
        if not self.serving.is_healthy:
            raise ApiError(503, "the engine stopped", "server_error")
        kind = "chatcmpl" if isinstance(asked, ChatRequest) else "cmpl"
        answer = Answer(f"{kind}-{uuid.uuid4().hex}", asked.model, kind == "chatcmpl", logprobs is not None,
                        lambda id: served.engine.tokenizer.decode([id], skip_specials=False))
        outputs = self._outputs(answer.id, ids, params, asked.priority)
        if asked.stream:
            with_usage = asked.stream_options is not None and asked.stream_options.include_usage
            return StreamingResponse(self._events(answer, outputs, len(ids), with_usage),
                                     media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        return await self._whole(request, answer, outputs, len(ids), params.n)

    async def _outputs(self, request_id: str, ids: list[int], params: SamplingParams, priority: int
                       ) -> AsyncIterator[Output]:
        """Outputs, timed and counted, until the last or until the request's time is over."""
        self.metrics.prompt_tokens.inc(len(ids))
        watches = [Stopwatch(self.metrics) for _ in range(params.n)]
        try:
            seconds = self.served.limits.request_seconds
            async with contextlib.aclosing(self.serving.stream(request_id, ids, params, priority, seconds)) as stream:
                async for output in stream:
                    watches[output.index].token(len(output.tokens))
                    if output.finish_reason is not None:
                        self.metrics.requests.labels(output.finish_reason).inc()
                    yield output
        except TimeoutError:
            raise ApiError(504, f"not finished after {self.served.limits.request_seconds:g} s", "timeout") from None
        except EngineStopped as error:
            raise ApiError(503, str(error), "server_error") from None

    async def _events(self, answer: Answer, outputs: AsyncIterator[Output], num_prompt_tokens: int,
                      with_usage: bool) -> AsyncIterator[str]:
        """The stream. The status line is sent by now: an error can only be one more event."""
        started: set[int] = set()
        num_tokens = num_cached_tokens = 0
        try:
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    num_tokens += len(output.tokens)
                    num_cached_tokens = output.num_cached_tokens
                    if output.text or output.finish_reason or answer.wants_logprobs:
                        yield responses.event(answer.piece(output, output.index not in started))
                        started.add(output.index)
        except ApiError as error:
            yield responses.event(error.body)
            return
        if with_usage:
            yield responses.event(answer.last_piece(num_prompt_tokens, num_tokens, num_cached_tokens))
        yield responses.DONE

    async def _whole(self, request: Request, answer: Answer, outputs: AsyncIterator[Output], num_prompt_tokens: int,
                     n: int) -> JSONResponse:
        """The answer in one piece. Nothing tells a handler that its client hung up, so it must listen."""
        choices, num_cached_tokens = [Choice() for _ in range(n)], 0

        async def collect() -> None:
            nonlocal num_cached_tokens
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    choices[output.index].add(output)
                    num_cached_tokens = output.num_cached_tokens
        work, gone = asyncio.ensure_future(collect()), asyncio.ensure_future(_hung_up(request))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ApiError(499, "the client closed the connection")
            await work
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
        return JSONResponse(answer.whole(choices, num_prompt_tokens, num_cached_tokens))


async def _hung_up(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
