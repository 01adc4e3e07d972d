"""What a request consists of: forms of an answer, messages, tools.

Not here: the requests themselves (see `protocol`).
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reference_impl.generation.sampling_params import Structure

FUNCTION_NAME = r"^[a-zA-Z0-9_.-]{1,64}$"


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


class TextPart(Part):
    """A piece of a message's content."""

    type: Literal["text"]
    text: str


class CalledFunction(Part):
    """A function that the model has called, and the arguments, as JSON."""

    name: Annotated[str, Field(pattern=FUNCTION_NAME)]
    arguments: str


class ToolCall(Part):
    """A call in an answer that the client sends back."""

    id: Annotated[str, Field(max_length=128)]
    type: Literal["function"] = "function"
    function: CalledFunction

    def plain(self) -> dict[str, Any]:
        """As templates expect it: with arguments as an object, if they are one."""
        try:
            arguments = json.loads(self.function.arguments)
        except (ValueError, RecursionError):
            arguments = self.function.arguments
        function = {"name": self.function.name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function}


class Message(Part):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Annotated[list[TextPart], Field(fail_fast=True)] = ""
    name: str | None = None
    type: Literal["text"] = "text"  # as lm-evaluation-harness sends it
    tool_calls: Annotated[list[ToolCall], Field(max_length=128, fail_fast=True)] = []
    tool_call_id: Annotated[str, Field(max_length=128)] | None = None
    # as servers put it into the answers that clients send back
    annotations: Annotated[list[Any], Field(max_length=0)] = []

    @model_validator(mode="after")
    def _has_what_its_role_has(self) -> "Message":
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"tool_calls in a message of role {self.role}")
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("tool_call_id is missing: which call does this answer?")
        if self.role != "assistant" and "content" not in self.model_fields_set:
            raise ValueError(f"content is missing in a message of role {self.role}")
        return self

    def plain(self) -> dict[str, Any]:
        """Role and text, and calls if there are any, as templates expect them."""
        content = self.content
        role = (
            "system" if self.role == "developer" else self.role
        )  # OpenAI's newer word for it
        text = (
            content
            if isinstance(content, str)
            else "".join(part.text for part in content)
        )
        made: dict[str, Any] = {"role": role, "content": text}
        if self.tool_calls:
            made["tool_calls"] = [call.plain() for call in self.tool_calls]
        if self.tool_call_id is not None:
            made["tool_call_id"] = self.tool_call_id
        if self.name is not None and role == "tool":
            made["name"] = self.name
        return made


class FunctionDefinition(Part):
    """A function that the model may call, its parameters as a JSON schema."""

    name: Annotated[str, Field(pattern=FUNCTION_NAME)]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Part):
    """A function in a list of tools."""

    type: Literal["function"]
    function: FunctionDefinition


class NamedFunction(Part):
    """The name of one of the tools."""

    name: str


class ToolChoice(Part):
    """The one function that must be called."""

    type: Literal["function"]
    function: NamedFunction
