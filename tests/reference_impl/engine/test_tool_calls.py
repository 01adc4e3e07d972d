"""Tools through OpenAI's client: calls by a template's tag and calls by a grammar, whole and as
streams, and text that only looks like one.
"""

import json

import openai
import pytest

from reference_impl.engine.protocol import ApiError, ChatRequest, parse
from reference_impl.engine.tool_calls import CallParser, CallStream, Tools, whole_with_calls
from reference_impl.tokenizers.chat import render_chat

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Says how it is outside.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Ulm", "Bern"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {"name": "clock", "parameters": {"type": "object", "additionalProperties": False}},
}
ASK = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 60}
TOOLS = Tools((WEATHER["function"], CLOCK["function"]))
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Ulm"}}\n</tool_call>'
TEMPLATE = (
    "{% if tools %}tools:{% for t in tools %}{{ t['function']['name'] }},{% endfor %}{% endif %}"
    "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}"
    "{% for c in m['tool_calls'] or [] %}<{{ c['function']['arguments']['city'] }}>{% endfor %}"
    ";{% endfor %}"
)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"weather", "clock"}),
        ({"type": "function", "function": {"name": "clock"}}, {"clock"}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_forced_call_is_one_of_the_tools_with_arguments_of_its_schema(
    client, choice, names, seed
):
    answer = client.chat.completions.create(
        **ASK, tools=[WEATHER, CLOCK], tool_choice=choice, temperature=1.5, seed=seed
    ).choices[0]
    (call,) = answer.message.tool_calls
    assert call.function.name in names and answer.message.content is None
    arguments = json.loads(call.function.arguments)
    assert arguments == {} or arguments["city"] in ("Ulm", "Bern")
    assert answer.finish_reason == "tool_calls" and call.id.startswith("call_")


def test_a_forced_call_streams_as_one_piece(client):
    asked = {**ASK, "tools": [WEATHER], "tool_choice": "required", "temperature": 0}
    whole = client.chat.completions.create(**asked).choices[0].message.tool_calls[0].function
    pieces = [piece.choices[0] for piece in client.chat.completions.create(**asked, stream=True)]
    calls = [call for piece in pieces for call in piece.delta.tool_calls or []]
    assert [(call.index, call.function.arguments) for call in calls] == [(0, whole.arguments)]
    assert "".join(piece.delta.content or "" for piece in pieces) == ""
    assert pieces[-1].finish_reason == "tool_calls"


def test_a_call_that_max_tokens_cuts_off_is_text(client):
    answer = client.chat.completions.create(
        **{**ASK, "max_tokens": 5}, tools=[WEATHER], tool_choice="required", temperature=0
    ).choices[0]
    assert answer.finish_reason == "length" and not answer.message.tool_calls
    assert answer.message.content.startswith("{")


def test_tools_that_need_not_be_called_change_nothing_where_the_template_has_none(client):
    asked = {**ASK, "max_tokens": 12, "temperature": 0}
    plain = client.chat.completions.create(**asked).choices[0].message.content
    for choice in ("auto", "none", openai.NOT_GIVEN):
        answer = client.chat.completions.create(**asked, tools=[WEATHER], tool_choice=choice)
        assert answer.choices[0].message.content == plain


def test_the_template_reads_tools_calls_and_their_results(start):
    seen = []

    def render(messages, **variables):
        seen.append(render_chat(TEMPLATE, messages, **variables))
        return seen[-1]

    with start(render_chat=render) as running, running.client() as client:
        reply = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Ulm"}'},
                }
            ],
        }
        result = {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
        client.chat.completions.create(
            **{**ASK, "messages": [*ASK["messages"], reply, result], "max_tokens": 2},
            tools=[WEATHER],
        )
        client.chat.completions.create(
            **{**ASK, "max_tokens": 2}, tools=[WEATHER], tool_choice="none"
        )
    assert seen == [
        "tools:weather,user:hi;assistant:<Ulm>;tool:rain;",
        "user:hi;",
    ]


def answer_of(text, reason="stop"):
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": message}]
    }


@pytest.mark.parametrize(
    ("text", "shown", "called"),
    [
        (CALL, None, [("weather", {"city": "Ulm"})]),
        (f"Let me see.{CALL}", "Let me see.", [("weather", {"city": "Ulm"})]),
        (f"{CALL}\n{CALL}", None, [("weather", {"city": "Ulm"})] * 2),
        ('<tool_call>{"name": "clock"}</tool_call>', None, [("clock", {})]),
        ('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', ..., []),
        ("<tool_call>not json</tool_call>", ..., []),
        ('<tool_call>{"name": "clock"}', ..., []),
        ('<tool_call>{"name": "clock", "arguments": "all"}</tool_call>', ..., []),
        ("[" * 100_000, ..., []),
        ("a < b <tool", ..., []),
    ],
)
def test_calls_are_taken_out_of_an_answer_and_all_else_stays_text(text, shown, called):
    choice = whole_with_calls(answer_of(text), TOOLS)["choices"][0]
    found = choice["message"].get("tool_calls", [])
    assert choice["message"]["content"] == (text if shown is ... else shown)
    functions = [call["function"] for call in found]
    assert [(each["name"], json.loads(each["arguments"])) for each in functions] == called
    assert len({call["id"] for call in found}) == len(found)
    assert choice["finish_reason"] == ("tool_calls" if called else "stop")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("text", [f"Well <b>.{CALL}", "a <tool_ca", CALL, "no call at all"])
def test_a_stream_shows_what_the_whole_answer_shows_and_nothing_of_a_call(text, size):
    stream, shown, calls, reasons = CallStream(TOOLS), "", [], []
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        piece = {"index": 0, "finish_reason": "stop" if last else None, "logprobs": None}
        made = stream.piece({"choices": [{**piece, "delta": {"content": part}}]})
        if made is not None:
            (choice,) = made["choices"]
            shown += choice["delta"]["content"] or ""
            calls += choice["delta"].get("tool_calls", [])
            reasons.append(choice["finish_reason"])
    whole = whole_with_calls(answer_of(text), TOOLS)["choices"][0]
    assert shown == (whole["message"]["content"] or "")
    assert len(calls) == len(whole["message"].get("tool_calls", []))
    assert reasons[-1] == whole["finish_reason"] and set(reasons[:-1]) <= {None}


def test_an_answer_without_a_tag_is_shown_at_once():
    parser = CallParser(TOOLS)
    assert [parser.add(part) for part in ("a ", "<", "b> <to", "ol_")] == ["a ", "", "<b> ", ""]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"tools": [WEATHER, WEATHER]}, "two functions of one name"),
        ({"tool_choice": "required"}, "there are no tools"),
        (
            {"tools": [CLOCK], "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "names a function that is not in tools",
        ),
        (
            {
                "tools": [CLOCK],
                "tool_choice": "required",
                "response_format": {"type": "json_object"},
            },
            "another form is given",
        ),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "pattern"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "tool_call_id is missing"),
        ({"messages": [{"role": "user"}]}, "content is missing"),
        ({"messages": [{"role": "user", "content": None}]}, "content is missing"),
        ({"chat_template_kwargs": {"messages": []}}, "must not set messages"),
    ],
)
def test_tools_that_do_not_fit_are_refused_with_what_is_wrong(fields, says):
    body = json.dumps({**ASK, **fields}).encode()
    with pytest.raises(ApiError, match=says):
        parse(ChatRequest, body)


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "function", "function": {"name": "a", "description": "<|im_end|>"}}]},
        {"chat_template_kwargs": {"x": [{"<|im_start|>": 1}]}},
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "1", "function": {"name": "a", "arguments": '{"b": "<|im_end|>"}'}}
                    ],
                }
            ]
        },
    ],
)
def test_a_special_token_is_refused_wherever_it_would_reach_the_template(running, fields):
    answer = running.post("/v1/chat/completions", json={**ASK, **fields})
    assert answer.status_code == 400 and "special token" in answer.json()["error"]["message"]
