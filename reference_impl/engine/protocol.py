"""The requests of OpenAI's API that the server understands, and the shape in which it refuses one.

Fields have OpenAI's names; those that vLLM adds (top_k, min_p, repetition_penalty, priority ...) have vLLM's. A field
that is not known is refused rather than ignored: who asks for `logprobs` and gets none should be told.

Not here: tools, pictures, audio, several prompts in one request.
"""
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reference_impl.generation.sampling_params import SamplingParams


class ApiError(Exception):
    """A request that is refused: the HTTP status and what OpenAI's clients expect to read."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error", param: str | None = None,
                 code: str | None = None, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status, self.headers = status, headers
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class Sampling(BaseModel):
    """What completions and chat have in common."""

    model_config = ConfigDict(extra="forbid")

    model: str
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: dict[int, float] = Field(default_factory=dict)
    seed: int | None = None
    n: int = 1
    stop: str | list[str] | None = None
    ignore_eos: bool = False
    stream: bool = False
    stream_options: "StreamOptions | None" = None
    priority: int = 0
    user: str | None = None

    def params(self, max_tokens: int, logprobs: int | None) -> SamplingParams:
        """As the engine takes them. ValueError names a field that is out of range."""
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return SamplingParams(temperature=self.temperature, top_p=self.top_p, top_k=self.top_k, min_p=self.min_p,
                              presence_penalty=self.presence_penalty, frequency_penalty=self.frequency_penalty,
                              repetition_penalty=self.repetition_penalty, logit_bias=self.logit_bias, seed=self.seed,
                              n=self.n, stop=tuple(stop), ignore_eos=self.ignore_eos, max_tokens=max_tokens,
                              logprobs=logprobs)


class StreamOptions(BaseModel):
    """Whether a last event without text tells how many tokens were used."""

    model_config = ConfigDict(extra="forbid")

    include_usage: bool = False


class CompletionRequest(Sampling):
    """POST /v1/completions."""

    prompt: str | list[int]
    max_tokens: int = 16
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    echo: Literal[False] = False


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(Sampling):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], Field(min_length=1)]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None


class EmbeddingRequest(BaseModel):
    """POST /v1/embeddings."""

    model_config = ConfigDict(extra="forbid")

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    user: str | None = None
