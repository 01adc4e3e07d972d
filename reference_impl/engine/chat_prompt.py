"""From a chat request to the text that the model continues, by the model's template.

Who writes a special token into a message would speak in another's name: that is refused
wherever a client's words reach the template.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reference_impl.engine.protocol import ApiError, ChatRequest
from reference_impl.tokenizers.vocabulary import TokenizerError


def chat_text(
    asked: ChatRequest, render_chat: Callable[..., str], specials: Iterable[str]
) -> str:
    """The text. ApiError 400 if the template must not see the messages, or refuses."""
    messages = [message.plain() for message in asked.messages]
    variables = dict(asked.chat_template_kwargs)
    if functions := asked.called().for_template():
        variables["tools"] = functions
    for special in specials:
        if any(special in text for text in _texts(messages)):
            raise ApiError(
                400,
                f"a message holds the special token {special!r}",
                param="messages",
            )
        if any(special in text for text in _texts(variables)):
            raise ApiError(
                400,
                f"tools or chat_template_kwargs hold the special token {special!r}",
                param="tools",
            )
    try:
        return render_chat(messages, **variables)
    except TokenizerError as error:
        raise ApiError(400, str(error), param="messages") from None


def _texts(value: Any) -> Iterator[str]:
    """Every string in some JSON, names of members included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
