"""An HTTP server with OpenAI's API: what a client of the big ones says, this one
understands.

    POST /v1/completions, /v1/chat/completions   whole or as a stream of server-sent
                                                 events
    POST /v1/embeddings                          vectors of an encoder
    GET  /v1/models, /v1/models/NAME, /health, /metrics
    GET  /                                       a page that shows the engine at work

Whoever can reach the port is a stranger: what is over a limit gets an error in OpenAI's
shape, and a client that hangs up gives its blocks back.

Not here: TLS, accounts, fairness between clients. A proxy in front does these better.
"""

import asyncio
import contextlib
import hashlib
import ipaddress
import secrets
import uuid
from collections.abc import AsyncIterator, Callable
from collections.abc import Sequence as Ids
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from reference_impl.engine import responses
from reference_impl.engine.async_engine import AsyncEngine, EngineStopped
from reference_impl.engine.chat_prompt import chat_text
from reference_impl.engine.embedding import Encoder, embed
from reference_impl.engine.engine import Engine, Output
from reference_impl.engine.limits import EventStream, Limits, read_body, unless_hung_up
from reference_impl.engine.protocol import (
    ApiError,
    ChatRequest,
    CompletionRequest,
    EmbeddingRequest,
    Kind,
    SamplingRequest,
    parse,
)
from reference_impl.engine.responses import Answer
from reference_impl.engine.serving_metrics import ServingMetrics, Stopwatch
from reference_impl.engine.tool_calls import CallStream, Tools, whole_with_calls
from reference_impl.engine.watch import Watch, add_page
from reference_impl.generation.sampling_params import SamplingParams


@dataclass(frozen=True)
class Served:
    """What a server serves."""

    engine: Engine
    model_name: str
    # messages, and tools and the like by name, to a text
    render_chat: Callable[..., str] | None = None
    encoder: Encoder | None = None
    encoder_name: str = "encoder"
    api_key: str | None = None
    tells_cached: bool = (
        False  # whether usages say how much of a prompt was found computed
    )
    limits: Limits = field(default_factory=Limits)
    # Without a key, the host names by which a client may ask; None: any. See
    # `check_host`.
    host_names: tuple[str, ...] | None = ("localhost",)
    page: bool = False  # whether the page at `/` is served, see `watch`
    # called after each step in the engine's thread, before its outputs are handed on
    on_step: Callable[[Engine, list[Output]], None] | None = None

    @property
    def adapter_names(self) -> list[str]:
        """What requests for one of the engine's adapters have as `model`."""
        return self.engine.adapters.names if self.engine.adapters else []

    @property
    def generating(self) -> list[str]:
        """What a request for text may have as `model`."""
        return [self.model_name, *self.adapter_names]


def create_app(served: Served) -> FastAPI:
    """The application, ready for uvicorn.

    The engine's thread starts and ends with it.
    """
    metrics = ServingMetrics(served.model_name)
    watch = Watch(_about(served), metrics)

    def after_step(engine: Engine, outputs: list[Output]) -> None:
        metrics.after_step(engine, outputs)
        watch.after_step(engine, outputs)
        if served.on_step is not None:
            served.on_step(engine, outputs)

    handler = Handler(served, AsyncEngine(served.engine, after_step), metrics)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with handler.serving:
            yield
        handler.close()

    app = FastAPI(
        title="word2serve",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.serving, app.state.watch = handler.serving, watch
    app.add_api_route("/health", handler.health)
    app.add_api_route("/metrics", handler.metrics_text)
    app.add_api_route("/v1/models", handler.models)
    app.add_api_route("/v1/models/{name:path}", handler.model)
    app.add_api_route("/v1/completions", handler.completions, methods=["POST"])
    app.add_api_route("/v1/chat/completions", handler.chat, methods=["POST"])
    app.add_api_route("/v1/embeddings", handler.embeddings, methods=["POST"])

    if served.page:
        add_page(app, watch, handler.serving, handler.check_host, handler.authorise)
    _add_refusals(app, metrics)
    return app


def _about(served: Served) -> dict[str, Any]:
    """What the page knows of the server."""
    config = served.engine.config
    return {
        "models": served.generating,
        "chat": served.render_chat is not None,
        "num_blocks": config.num_blocks,
        "block_size": config.block_size,
        "max_num_seqs": config.scheduler.max_num_seqs,
        "max_num_batched_tokens": config.scheduler.max_num_batched_tokens,
        "policy": config.scheduler.policy,
    }


def _add_refusals(app: FastAPI, metrics: ServingMetrics) -> None:
    """Every error in OpenAI's shape, and counted."""

    @app.exception_handler(ApiError)
    async def refuse(_: Request, error: ApiError) -> JSONResponse:
        metrics.refuse(error.status)
        return JSONResponse(error.body, error.status, headers=error.headers)

    @app.exception_handler(404)
    @app.exception_handler(405)
    async def no_such_place(request: Request, error: Exception) -> JSONResponse:
        return await refuse(
            request,
            ApiError(
                error.status_code,
                f"{request.method} {request.url.path} is not served"
                + (
                    "; use /v1/chat/completions"
                    if "/responses" in request.url.path
                    else ""
                ),
                headers=getattr(error, "headers", None),
            ),
        )

    @app.exception_handler(Exception)
    async def our_fault(request: Request, _: Exception) -> JSONResponse:
        return await refuse(
            request,
            ApiError(500, "a mistake in the server; its log says more", "server_error"),
        )


class Handler:
    """One method a route.

    Nothing of a request outlives its method, or the stream that it returned.
    """

    def __init__(self, served: Served, serving: AsyncEngine, metrics: ServingMetrics):
        self.served, self.serving, self.metrics = served, serving, metrics
        # Long texts take time; each of these threads does one after the other, and the
        # event loop goes on.
        self._tokenizing, self._embedding = (
            ThreadPoolExecutor(1, "tokenizer"),
            ThreadPoolExecutor(1, "encoder"),
        )
        self._num_embedded = 0
        config = served.engine.config
        self.longest = min(
            config.scheduler.max_model_len, config.num_blocks * config.block_size
        )
        self._longest_token = max(map(len, served.engine.tokenizer.vocabulary))

    def close(self) -> None:
        """End the threads."""
        self._tokenizing.shutdown(wait=False, cancel_futures=True)
        self._embedding.shutdown(wait=False, cancel_futures=True)

    async def health(self) -> JSONResponse:
        """200 while the engine's thread runs."""
        healthy = self.serving.is_healthy
        return JSONResponse(
            {"status": "ok" if healthy else "the engine stopped"},
            200 if healthy else 503,
        )

    async def metrics_text(self, request: Request) -> Response:
        """For Prometheus."""
        self.authorise(request)
        self.metrics.update(self.served.engine)
        self.metrics.tasks.set(len(asyncio.all_tasks()))
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    def _models(self) -> list[dict[str, Any]]:
        served = self.served
        parents = {
            served.model_name: None,
            **dict.fromkeys(served.adapter_names, served.model_name),
        }
        if served.encoder:
            parents[served.encoder_name] = None
        return [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": "word2serve",
                "parent": parent,
            }
            for name, parent in parents.items()
        ]

    async def models(self, request: Request) -> dict[str, Any]:
        """The names that a request's `model` may have; an adapter's `parent` is the
        model that it changes.
        """
        self.authorise(request)
        return {"object": "list", "data": self._models()}

    async def model(self, request: Request, name: str) -> dict[str, Any]:
        """One of them."""
        self.authorise(request)
        found = next((model for model in self._models() if model["id"] == name), None)
        if found is None:
            raise self._no_such_model(name)
        return found

    async def completions(self, request: Request) -> Response:
        """Go on with a text."""
        asked = await self._read(request, CompletionRequest, self.served.generating)
        most = self.served.limits.prompts
        if len(asked.prompts) * asked.n > most:
            raise ApiError(
                400,
                f"{len(asked.prompts)} prompts with n = {asked.n}: at most {most}"
                " answers in one request",
                param="prompt",
            )
        prompts = [
            (
                await self._encode(prompt, "prompt", specials_in_text=False)
                if isinstance(prompt, str)
                else prompt
            )
            for prompt in asked.prompts
        ]
        return await self._generate(
            request, asked, prompts, asked.max_tokens, asked.logprobs
        )

    async def chat(self, request: Request) -> Response:
        """Answer a conversation."""
        asked = await self._read(request, ChatRequest, self.served.generating)
        if self.served.render_chat is None:
            raise ApiError(
                400,
                f"{asked.model!r} has no chat template: use /v1/completions",
                param="messages",
            )
        specials = self.served.engine.tokenizer.specials
        text = chat_text(asked, self.served.render_chat, specials)
        ids = await self._encode(
            text, "messages", specials_in_text=True, add_specials=False
        )
        wanted = (
            asked.max_completion_tokens
            or asked.max_tokens
            or max(self.longest - len(ids), 1)
        )
        logprobs = (asked.top_logprobs or 0) if asked.logprobs else None
        return await self._generate(request, asked, [ids], wanted, logprobs)

    async def embeddings(self, request: Request) -> JSONResponse:
        """A vector for each text."""
        served = self.served
        asked = await self._read(
            request, EmbeddingRequest, [served.encoder_name] if served.encoder else []
        )
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        if not texts or "" in texts:
            raise ApiError(400, "input is empty, or holds an empty text", param="input")
        self._check_dimensions(asked)
        if len(texts) > served.limits.embedding_inputs:
            raise ApiError(
                400,
                f"{len(texts)} texts, at most {served.limits.embedding_inputs} in one"
                " request",
                param="input",
            )
        self._check_room()
        self._num_embedded += 1
        try:
            return JSONResponse(
                await unless_hung_up(
                    request,
                    self._in_thread(
                        self._embedding,
                        embed,
                        served.encoder,
                        texts,
                        asked.encoding_format,
                        asked.model,
                    ),
                )
            )
        finally:
            self._num_embedded -= 1

    def _check_dimensions(self, asked: EmbeddingRequest) -> None:
        size = self.served.encoder.model.config.hidden_size
        if asked.dimensions not in (None, size):
            raise ApiError(
                400,
                f"dimensions is {asked.dimensions}: {asked.model} has {size}",
                param="dimensions",
            )

    def check_host(self, request: Request) -> None:
        """Without a key, refuse a page on the web that has pointed its own name at this
        machine (DNS rebinding).

        A browser sends the page's host name, so an address or one of our own names is
        safe.
        """
        if self.served.api_key is not None or self.served.host_names is None:
            return
        try:
            if request.url.hostname not in self.served.host_names:
                ipaddress.ip_address(request.url.hostname or "")
        except ValueError:
            raise ApiError(
                403,
                f"Host {request.headers.get('host', '')!r} is not this server: use its "
                "address, or start it with an API key",
                "permission_error",
                code="invalid_host",
            ) from None

    def authorise(self, request: Request) -> None:
        self.check_host(request)
        expected, given = self.served.api_key, request.headers.get("authorization", "")
        scheme, _, key = given.partition(" ")
        # Headers are bytes; starlette reads them as Latin-1. A scheme's name may be in
        # any case (RFC 9110, 11.1).
        if expected is not None and not (
            scheme.lower() == "bearer"
            and secrets.compare_digest(key.strip().encode("latin-1"), expected.encode())
        ):
            raise ApiError(
                401,
                "wrong or missing API key: send `Authorization: Bearer KEY`",
                "authentication_error",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )

    async def _read(self, request: Request, kind: type[Kind], names: Ids[str]) -> Kind:
        """The request's body, checked; it must be for a model of these names."""
        self.authorise(request)
        asked = parse(kind, await read_body(request, self.served.limits))
        if asked.model not in names:
            raise self._no_such_model(asked.model)
        return asked

    def _no_such_model(self, name: str) -> ApiError:
        return ApiError(
            404,
            f"the model {name[:200]!r} is not served here; GET /v1/models tells"
            " which are",
            param="model",
            code="model_not_found",
        )

    def _check_room(self, count: int = 1) -> None:
        limit = self.served.limits.num_requests
        if self.serving.num_requests + self._num_embedded + count > limit:
            raise ApiError(
                429,
                f"{limit} requests are being served: come back in a second",
                "rate_limit_error",
                code="rate_limit_exceeded",
                headers={"Retry-After": "1"},
            )

    @staticmethod
    async def _in_thread(
        thread: ThreadPoolExecutor, function: Callable, *arguments
    ) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            thread, function, *arguments
        )

    async def _encode(self, text: str, param: str, **options: bool) -> list[int]:
        if len(text) > self.longest * self._longest_token:
            raise ApiError(
                400,
                f"{param}: {len(text):,} characters are more than {self.longest} tokens"
                " can hold",
                param=param,
                code="context_length_exceeded",
            )
        return await self._in_thread(
            self._tokenizing,
            lambda: self.served.engine.tokenizer.encode(text, **options).ids,
        )

    async def _generate(
        self,
        request: Request,
        asked: SamplingRequest,
        prompts: list[list[int]],
        max_tokens: int,
        logprobs: int | None,
    ) -> Response:
        served = self.served
        if asked.n > served.limits.n:
            raise ApiError(
                400, f"n is {asked.n}, at most {served.limits.n} here", param="n"
            )
        is_chat = isinstance(asked, ChatRequest)
        echo = not is_chat and asked.echo
        tools = asked.called() if is_chat else Tools()
        if (structure := asked.structure()) is not None:  # a grammar takes time to make
            try:
                await self._in_thread(
                    self._tokenizing,
                    lambda: served.engine.structures.compile(structure),
                )
            except ValueError as error:
                raise ApiError(
                    400,
                    str(error),
                    param="response_format" if asked.response_format else None,
                ) from None
        for ids in prompts:
            try:
                params = asked.params(
                    max(max_tokens, 1), logprobs, logprobs if echo else None
                )
                served.engine.check_request(ids, params)
            except ValueError as error:
                code = (
                    "context_length_exceeded"
                    if len(ids) + max_tokens > self.longest
                    else None
                )
                raise ApiError(400, str(error), code=code) from None
        with_usage = (
            asked.stream
            and asked.stream_options is not None
            and asked.stream_options.include_usage
        )
        answer = Answer(
            f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
            asked.model,
            is_chat,
            logprobs is not None,
            with_usage,
            served.engine.tokenizer,
            prompts,
            asked.n,
            echo,
            says_nothing=max_tokens == 0,
            tells_cached=served.tells_cached,
        )
        self._check_room(len(prompts))
        parts = [
            self._outputs(f"{answer.id}-{place}", asked, ids, params, place * asked.n)
            for place, ids in enumerate(prompts)
        ]
        outputs = parts[0] if len(parts) == 1 else merged(parts)
        if not asked.stream:
            body = answer.whole(await unless_hung_up(request, _all(outputs)))
            return JSONResponse(
                whole_with_calls(body, tools) if tools.functions else body
            )
        # The status line is sent after the first output: until then an error is still a
        # status.
        first = await unless_hung_up(request, _first(outputs))
        return EventStream(
            self._events(answer, first, outputs, tools),
            headers={"Cache-Control": "no-store"},
        )

    def _salt(self, asked: SamplingRequest) -> bytes:
        """Of the request's prefixes: those of one API key and one `cache_salt` find
        each other's.
        """
        return hashlib.sha256(
            repr((self.served.api_key, asked.cache_salt)).encode()
        ).digest()

    async def _outputs(
        self,
        request_id: str,
        asked: SamplingRequest,
        ids: list[int],
        params: SamplingParams,
        first_index: int,
    ) -> AsyncIterator[Output]:
        """Outputs, timed and counted, until the last or until the request's time is
        over.
        """
        # others may have come since; nothing awaits between this and the request's
        # being counted
        self._check_room()
        self.metrics.prompt_tokens.inc(len(ids))
        watches = [Stopwatch(self.metrics) for _ in range(params.n)]
        seconds = self.served.limits.request_seconds
        try:
            adapter = None if asked.model == self.served.model_name else asked.model
            async with contextlib.aclosing(
                self.serving.stream(
                    request_id,
                    ids,
                    params,
                    asked.priority,
                    seconds,
                    self._salt(asked),
                    adapter,
                )
            ) as stream:
                async for output in stream:
                    watches[output.index].token(len(output.tokens))
                    if output.finish_reason is not None:
                        watches[output.index].finished(output.finish_reason)
                    yield output._replace(index=first_index + output.index)
        except TimeoutError:
            raise ApiError(
                504, f"not finished after {seconds:g} s", "timeout"
            ) from None
        except EngineStopped as error:
            raise ApiError(503, str(error), "server_error") from None
        except ValueError as error:
            raise ApiError(400, str(error)) from None

    async def _events(
        self,
        answer: Answer,
        first: Output,
        outputs: AsyncIterator[Output],
        tools: Tools,
    ) -> AsyncIterator[str]:
        """The stream. An error can only be one more event by now."""
        calls = CallStream(tools)

        def piece_of(output: Output) -> dict[str, Any] | None:
            piece = answer.piece(output)
            return calls.piece(piece) if piece and tools.functions else piece

        try:
            async with contextlib.aclosing(outputs):
                if (piece := piece_of(first)) is not None:
                    yield responses.event(piece)
                async for output in outputs:
                    if (piece := piece_of(output)) is not None:
                        yield responses.event(piece)
        except ApiError as error:
            self.metrics.refuse(error.status)
            yield responses.event(error.body)
            return
        if answer.wants_usage:
            yield responses.event(answer.last_piece())
        yield responses.DONE


async def _all(outputs: AsyncIterator[Output]) -> list[Output]:
    async with contextlib.aclosing(outputs):
        return [output async for output in outputs]


async def _first(outputs: AsyncIterator[Output]) -> Output:
    return await anext(outputs)


async def merged(parts: list[AsyncIterator[Output]]) -> AsyncIterator[Output]:
    """Outputs of several requests as they come.

    If one fails, or whoever reads goes away, all are ended.
    """
    arrived: asyncio.Queue[Output | Exception | None] = asyncio.Queue()

    async def read(part: AsyncIterator[Output]) -> None:
        try:
            async with contextlib.aclosing(part):
                async for output in part:
                    arrived.put_nowait(output)
            arrived.put_nowait(None)
        except Exception as error:
            arrived.put_nowait(error)

    readers = [asyncio.create_task(read(part)) for part in parts]
    try:
        left = len(readers)
        while left:
            item = await arrived.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                left -= 1
            else:
                yield item
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
