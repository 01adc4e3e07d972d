"""The requests of OpenAI's API that the server understands, and the shape in which it
refuses one.

Fields have OpenAI's names; those that vLLM adds (top_k, min_p, repetition_penalty,
priority ...) have vLLM's. A field that is not known is refused rather than ignored: who
misspells `temperature` should be told. Types are strict ("1" is no number), every
number has bounds, and NaN and infinity, which Python's JSON would let through, are
none.

Fields of OpenAI's clients that could only ask for what happens anyway (`store`,
`best_of` equal to `n`, `skip_special_tokens: true` ...) are taken and change nothing.
So are `reasoning_effort` and `verbosity`, which are for a kind of model that is not
here.

Not here: messages and tools themselves (see `request_parts`), what tools do to an
answer (see `tool_calls`), pictures, audio.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from reference_impl.engine.request_parts import (
    JsonFormat,
    Message,
    Part,
    SchemaFormat,
    StreamOptions,
    StructuredOutputs,
    TextFormat,
    Tool,
    ToolChoice,
)
from reference_impl.engine.tool_calls import Tools
from reference_impl.generation.sampling_params import SamplingParams, Structure

Kind = TypeVar("Kind", bound="Asked")
Id = Annotated[int, Field(ge=0, lt=2**31)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
StopString = Annotated[str, Field(min_length=1, max_length=128)]
NEARLY_GREEDY = 1e-5
"""A smaller temperature counts as 0: dividing by it could leave the range of numbers,
and the likeliest token wins."""
SMALLEST_TOP_P = 1e-5
"""Keeps the likeliest token alone."""


class ApiError(Exception):
    """A request that is refused: the HTTP status and what OpenAI's clients expect to
    read.
    """

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ):
        super().__init__(message)
        self.status, self.headers = status, headers
        self.body = {
            "error": {"message": message, "type": kind, "param": param, "code": code}
        }


class Asked(Part):
    """What every request has."""

    model: str
    user: str | None = None


class SamplingRequest(Asked):
    """What completions and chat have in common."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    top_p: Annotated[float, Field(ge=0, le=1)] = 1.0  # 0: the likeliest token
    top_k: Annotated[int, Field(ge=-1, lt=2**31)] = 0
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    typical_p: Annotated[float, Field(gt=1e-6, le=1)] = 1.0
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] = 0.0
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] = 0.0
    repetition_penalty: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    logit_bias: Annotated[
        dict[str, Annotated[float, Field(ge=-100, le=100)]], Field(max_length=1024)
    ] = {}
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    n: Count = 1
    stop: (
        StopString
        | Annotated[list[StopString], Field(max_length=16, fail_fast=True)]
        | None
    ) = None
    stop_token_ids: Annotated[list[Id], Field(max_length=16, fail_fast=True)] = []
    allowed_token_ids: (
        Annotated[list[Id], Field(min_length=1, max_length=1024, fail_fast=True)] | None
    ) = None
    min_tokens: Annotated[int, Field(ge=0, lt=2**31)] = 0
    ignore_eos: bool = False
    stream: bool = False
    stream_options: StreamOptions | None = None
    priority: Annotated[int, Field(ge=-10, le=0)] = (
        0  # a stranger may stand back, not push in
    )
    cache_salt: Annotated[str, Field(min_length=1, max_length=256)] | None = (
        None  # who else may find my prefix computed
    )
    response_format: (
        Annotated[TextFormat | JsonFormat | SchemaFormat, Field(discriminator="type")]
        | None
    ) = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | str | None = (
        None  # a schema; vLLM's names until 0.11, one of them or another form
    )
    guided_regex: str | None = None
    guided_choice: Annotated[list[str], Field(min_length=1, max_length=1024)] | None = (
        None
    )
    skip_special_tokens: Literal[True] = True
    include_stop_str_in_output: Literal[False] = False
    store: bool = False  # nothing is stored either way
    metadata: Annotated[dict[str, str], Field(max_length=16)] = {}
    safety_identifier: str | None = (
        None  # this and the next would tell one client's users apart
    )
    prompt_cache_key: str | None = None
    service_tier: Literal["auto", "default"] = "auto"

    @model_validator(mode="after")
    def _fields_go_together(self) -> "SamplingRequest":
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options is given, but stream is not true")
        forms = [
            name
            for name in (
                "response_format",
                "structured_outputs",
                "guided_json",
                "guided_regex",
                "guided_choice",
            )
            if getattr(self, name) is not None
        ]
        if len(forms) > 1:
            raise ValueError(
                f"{forms[1]} and {forms[0]} are both given: an answer has one form"
            )
        return self

    def structure(self) -> Structure | None:
        """The form that the answer must have."""
        if self.structured_outputs is not None:
            return self.structured_outputs.structure()
        if self.guided_json is not None:
            schema = self.guided_json
            return Structure(
                "json_schema", schema if isinstance(schema, str) else json.dumps(schema)
            )
        if self.guided_regex is not None:
            return Structure("regex", self.guided_regex)
        if self.guided_choice is not None:
            return Structure("choice", json.dumps(self.guided_choice))
        return self.response_format and self.response_format.structure()

    def params(
        self, max_tokens: int, logprobs: int | None, prompt_logprobs: int | None = None
    ) -> SamplingParams:
        """As the engine takes them. ValueError if a key of logit_bias is no id."""
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if wrong := next(
            (
                key
                for key in self.logit_bias
                if not (key.isascii() and key.isdigit()) or len(key) > 10
            ),
            None,
        ):
            raise ValueError(
                f"logit_bias has the key {wrong[:40]!r}: a token's id is expected"
            )
        return SamplingParams(
            temperature=0 if self.temperature < NEARLY_GREEDY else self.temperature,
            top_p=max(self.top_p, SMALLEST_TOP_P),
            top_k=self.top_k,
            min_p=self.min_p,
            typical_p=self.typical_p,
            stop_token_ids=tuple(self.stop_token_ids),
            min_tokens=self.min_tokens,
            allowed_token_ids=self.allowed_token_ids and tuple(self.allowed_token_ids),
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            repetition_penalty=self.repetition_penalty,
            n=self.n,
            seed=None if self.seed is None else self.seed % 2**63,
            stop=tuple(stop),
            logit_bias={int(key): value for key, value in self.logit_bias.items()},
            ignore_eos=self.ignore_eos,
            max_tokens=max_tokens,
            logprobs=logprobs,
            prompt_logprobs=prompt_logprobs,
            structure=self.structure(),
        )


class CompletionRequest(SamplingRequest):
    """POST /v1/completions."""

    prompt: (
        str
        | Annotated[list[Id], Field(fail_fast=True)]
        | Annotated[list[str], Field(fail_fast=True)]
        | Annotated[
            list[Annotated[list[Id], Field(fail_fast=True)]], Field(fail_fast=True)
        ]
    )
    max_tokens: Annotated[int, Field(ge=0, lt=2**31)] = (
        16  # 0: only the prompt's own, with echo
    )
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    echo: bool = False
    best_of: Count | None = None

    @model_validator(mode="after")
    def _what_is_asked_for_is_served(self) -> "CompletionRequest":
        if self.best_of is not None and self.best_of != self.n:
            raise ValueError(
                f"best_of is {self.best_of} and n {self.n}: only best_of equal to n is"
                " served"
            )
        if self.max_tokens == 0 and not self.echo:
            raise ValueError("max_tokens is 0 without echo: there would be no answer")
        return self

    @property
    def prompts(self) -> list[str] | list[list[int]]:
        """All prompts, also if there is one."""
        several = (
            isinstance(self.prompt, list)
            and self.prompt
            and isinstance(self.prompt[0], (str, list))
        )
        return self.prompt if several else [self.prompt]


class ChatRequest(SamplingRequest):
    """POST /v1/chat/completions."""

    messages: Annotated[
        list[Message], Field(min_length=1, max_length=2048, fail_fast=True)
    ]
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    tools: Annotated[list[Tool], Field(max_length=128, fail_fast=True)] = []
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    modalities: list[Literal["text"]] | None = None
    parallel_tool_calls: bool | None = None
    # what else the template may ask for; it runs in a sandbox
    chat_template_kwargs: Annotated[dict[str, Any], Field(max_length=16)] = {}
    add_generation_prompt: Literal[True] = True
    reasoning_effort: (
        Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    ) = None
    verbosity: Literal["low", "medium", "high"] | None = None

    @model_validator(mode="after")
    def _top_needs_logprobs(self) -> "ChatRequest":
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs is given, but logprobs is not true")
        return self

    @model_validator(mode="after")
    def _calls_are_of_its_tools(self) -> "ChatRequest":
        names = [tool.function.name for tool in self.tools]
        if len(set(names)) < len(names):
            raise ValueError("tools has two functions of one name")
        if isinstance(self.tool_choice, ToolChoice):
            if self.tool_choice.function.name not in names:
                raise ValueError("tool_choice names a function that is not in tools")
        elif self.tool_choice == "required" and not names:
            raise ValueError("tool_choice is required, but there are no tools")
        if self.called().is_forced and super().structure() is not None:
            raise ValueError(
                "tool_choice forces a call, and another form is given: drop one"
            )
        return self

    @model_validator(mode="after")
    def _template_keeps_its_own(self) -> "ChatRequest":
        own = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}
        if taken := own & set(self.chat_template_kwargs):
            raise ValueError(f"chat_template_kwargs must not set {min(taken)}")
        return self

    def called(self) -> Tools:
        """The functions that the answer may or must call."""
        if self.tool_choice == "none":
            return Tools()
        functions = [tool.function.model_dump(exclude_none=True) for tool in self.tools]
        if isinstance(self.tool_choice, ToolChoice):
            name = self.tool_choice.function.name
            functions = [each for each in functions if each["name"] == name]
        forced = self.tool_choice not in (None, "auto")
        return Tools(tuple(functions), forced)

    def structure(self) -> Structure | None:
        """The form that the answer must have: another's, or that of a call."""
        return self.called().structure() or super().structure()


class EmbeddingRequest(Asked):
    """POST /v1/embeddings."""

    input: str | Annotated[list[str], Field(fail_fast=True)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Count | None = None  # only as many as the encoder has


def parse(kind: type[Kind], body: bytes) -> Kind:
    """The request in a body. ApiError names all unknown fields, or the first wrong."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        found = error.errors(
            include_url=False, include_input=False, include_context=False
        )
    first = found[0]
    if first["type"] == "json_invalid":
        raise ApiError(400, f"the body is not JSON: {first['msg']}")
    unknown = [each for each in found if each["type"] == "extra_forbidden"]
    if unknown:
        paths = dict.fromkeys(".".join(map(str, each["loc"])) for each in unknown)
        raise ApiError(
            400,
            f"unrecognized request argument{'s' * (len(paths) > 1)}:"
            f" {', '.join(path[:200] for path in list(paths)[:20])}",
            param=str(unknown[0]["loc"][0]),
            code="unknown_parameter",
        )
    name = str(first["loc"][0]) if first["loc"] else None
    # A field that may be of two types has an error for each.
    said = dict.fromkeys(
        _sentence(each) for each in found if each["loc"][:1] == first["loc"][:1]
    )
    if name is None and (word := next(iter(said)).split()[0]) in kind.model_fields:
        # two fields that don't go together: the sentence begins with the one to change
        name = word
    raise ApiError(
        400, f"{name or 'the body'}: {'; or '.join(list(said)[:3])}", param=name
    )


def _sentence(error: Mapping[str, Any]) -> str:
    """What is wrong, without pydantic's words for our own sentences."""
    if error["type"] == "too_long" and "at most 0 items" in error["msg"]:
        return "only an empty list is served"
    return error["msg"].removeprefix("Value error, ")
