"""The requests of OpenAI's API that the server understands, and the shape in which it
refuses one.

Fields have OpenAI's names; those that vLLM adds (top_k, min_p, repetition_penalty,
priority ...) have vLLM's. A field that is not known is refused rather than ignored: who
misspells `temperature` should be told. Types are strict ("1" is no number), every
number has bounds, and NaN and infinity, which Python's JSON would let through, are
none.

Fields of OpenAI's clients that could only ask for what happens anyway (`store`,
`tool_choice: "none"`, `best_of` equal to `n`, an empty list of tools ...) are taken and
change nothing.

Not here: tools, pictures, audio.
"""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reference_impl.generation.sampling_params import SamplingParams, Structure

Kind = TypeVar("Kind", bound="Asked")
Id = Annotated[int, Field(ge=0, lt=2**31)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
StopString = Annotated[str, Field(min_length=1, max_length=128)]
Nothing = Annotated[list[Any], Field(max_length=0)]
NEARLY_GREEDY = 1e-5
"""A smaller temperature counts as 0: dividing by it could leave the range of numbers,
and the likeliest token wins."""


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


class Part(BaseModel):
    """What a request consists of."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        return (
            {name: value for name, value in data.items() if value is not None}
            if isinstance(data, dict)
            else data
        )


class Asked(Part):
    """What every request has."""

    model: str
    user: str | None = None


class StreamOptions(Part):
    """Whether a last event without text tells how many tokens were used."""

    include_usage: bool = False
    include_obfuscation: Literal[False] = False


class TextFormat(Part):
    """An answer of any form, which is what there is without the field."""

    type: Literal["text"]

    def structure(self) -> None:
        """Any."""


class JsonFormat(Part):
    """An answer that is some JSON object."""

    type: Literal["json_object"]

    def structure(self) -> Structure:
        """An object with any members."""
        return Structure("json_schema", '{"type": "object"}')


class Schema(Part):
    """A JSON schema with a name."""

    name: Annotated[str, Field(max_length=64)]
    definition: Annotated[dict[str, Any], Field(alias="schema")]
    description: str | None = None
    strict: bool | None = None  # it is held to in any case


class SchemaFormat(Part):
    """An answer that a JSON schema accepts."""

    type: Literal["json_schema"]
    json_schema: Schema

    def structure(self) -> Structure:
        """That schema."""
        return Structure("json_schema", json.dumps(self.json_schema.definition))


class StructuredOutputs(Part):
    """vLLM's field for an answer of a given form: exactly one of these."""

    json_schema: Annotated[dict[str, Any] | str | None, Field(alias="json")] = None
    json_object: Literal[True] | None = None
    regex: str | None = None
    choice: Annotated[list[str], Field(min_length=1, max_length=1024)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "StructuredOutputs":
        forms = (self.json_schema, self.json_object, self.regex, self.choice)
        if sum(form is not None for form in forms) != 1:
            raise ValueError("give exactly one of json, json_object, regex and choice")
        return self

    def structure(self) -> Structure:
        """The form that the answer must have."""
        if self.regex is not None:
            return Structure("regex", self.regex)
        if self.choice is not None:
            return Structure("choice", json.dumps(self.choice))
        if self.json_object:
            return Structure("json_schema", '{"type": "object"}')
        schema = self.json_schema
        return Structure(
            "json_schema", schema if isinstance(schema, str) else json.dumps(schema)
        )


class SamplingRequest(Asked):
    """What completions and chat have in common."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    top_p: Annotated[float, Field(gt=1e-6, le=1)] = 1.0
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
            top_p=self.top_p,
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


class TextPart(Part):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class Message(Part):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextPart], Field(fail_fast=True)]
    name: str | None = None
    type: Literal["text"] = "text"  # as lm-evaluation-harness sends it
    # these two as servers put them into the answers that clients send back
    tool_calls: Nothing = []
    annotations: Nothing = []

    def plain(self) -> dict[str, str]:
        """Role and text, as templates expect them."""
        content = self.content
        role = (
            "system" if self.role == "developer" else self.role
        )  # OpenAI's newer word for it
        return {
            "role": role,
            "content": (
                content
                if isinstance(content, str)
                else "".join(part.text for part in content)
            ),
        }


class ChatRequest(SamplingRequest):
    """POST /v1/chat/completions."""

    messages: Annotated[
        list[Message], Field(min_length=1, max_length=2048, fail_fast=True)
    ]
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    tools: Nothing = []
    tool_choice: Literal["none"] | None = None
    modalities: list[Literal["text"]] | None = None
    parallel_tool_calls: bool | None = None

    @model_validator(mode="after")
    def _top_needs_logprobs(self) -> "ChatRequest":
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs is given, but logprobs is not true")
        return self


class EmbeddingRequest(Asked):
    """POST /v1/embeddings."""

    input: str | Annotated[list[str], Field(fail_fast=True)]
    encoding_format: Literal["float", "base64"] = "float"


def parse(kind: type[Kind], body: bytes) -> Kind:
    """The request in a body. ApiError names the first field that is wrong."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        found = error.errors(
            include_url=False, include_input=False, include_context=False
        )
    first = found[0]
    name = str(first["loc"][0]) if first["loc"] else None
    if (
        name is None
        and (word := first["msg"].removeprefix("Value error, ").split()[0])
        in kind.model_fields
    ):
        # two fields that don't go together: the sentence begins with the one to change
        name = word
    if first["type"] == "json_invalid":
        raise ApiError(400, f"the body is not JSON: {first['msg']}")
    if first["type"] == "extra_forbidden":
        path = ".".join(map(str, first["loc"]))
        raise ApiError(
            400,
            f"unrecognized request argument: {path[:200]}",
            param=name,
            code="unknown_parameter",
        )
    # A field that may be of two types has an error for each.
    said = dict.fromkeys(
        each["msg"] for each in found if each["loc"][:1] == first["loc"][:1]
    )
    raise ApiError(
        400, f"{name or 'the body'}: {'; or '.join(list(said)[:3])}", param=name
    )
