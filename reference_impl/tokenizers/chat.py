"""Chat templates: from a list of messages to the one text that a model was trained to
continue.

A chat model knows no messages. It was fine-tuned on texts in which marks such as
`<|im_start|>` stand between turns, and the file of the model carries the program that
writes them: a Jinja template (`tokenizer.chat_template` in a GGUF table,
`chat_template` in tokenizer_config.json). With other marks, or without a space, the
model answers worse.

The template comes with the weights, from strangers, and it is a program: it runs in
Jinja's sandbox, where it can reach no attributes of Python's own and change none of our
objects.

Not here: tools and documents as arguments of their own, marking which tokens the
assistant wrote.
"""

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reference_impl.tokenizers.vocabulary import TokenizerError

MAX_CHARACTERS = 10_000_000
"""A template that writes more is stopped: it may have been made to fill the memory."""


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    add_generation_prompt: bool = False,
    **variables: Any,
) -> str:
    """The text of a chat, as `transformers`' apply_chat_template gives it.

    A message is {"role": "user", "content": "..."}. `add_generation_prompt` writes the
    start of an answer as well, for the model to go on from. `variables` are what else a
    template may ask for: bos_token, eos_token. TokenizerError if the template is no
    template, or refuses these messages.
    """
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise TokenizerError(
                f"message {number} is {message!r}: a mapping with a role and a content"
                " is expected"
            )
    try:
        parts, length = [], 0
        for part in _compiled(template).generate(
            messages=copy.deepcopy([dict(message) for message in messages]),
            add_generation_prompt=add_generation_prompt,
            **variables,
        ):
            parts.append(part)
            length += len(part)
            if length > MAX_CHARACTERS:
                raise TokenizerError(
                    f"the chat template wrote more than {MAX_CHARACTERS:,} characters"
                )
    except jinja2.TemplateError as error:
        raise TokenizerError(
            f"the chat template can't be used on these messages: {error}"
        ) from error
    # Arithmetic and calls inside a template fail with Python's own exceptions.
    except (
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        if isinstance(error, TokenizerError):
            raise
        raise TokenizerError(
            f"the chat template failed on these messages: {error!r}"
        ) from error
    return "".join(parts)


@functools.lru_cache(maxsize=16)
def _compiled(template: str) -> jinja2.Template:
    # The settings that transformers has: a block takes its own line and no line of the
    # text.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


def _to_json(value: Any, **options: Any) -> str:
    # Jinja's own filter writes \\u003c for <, for web pages.
    return json.dumps(value, ensure_ascii=False, **options)


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now().strftime(pattern)
