"""Answers of a given form have it, whatever the model would say, with guesses and without; the
oracle is jsonschema.
"""

import json
import re

import jsonschema
import pytest

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.speculative import NgramProposer
from reference_impl.generation.sampling_params import SamplingParams, Structure

SCHEMAS = [
    {
        "type": "object",
        "properties": {"name": {"enum": ["river", "money"]}, "sure": {"type": "boolean"}},
        "required": ["name", "sure"],
        "additionalProperties": False,
    },
    {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 99},
        "minItems": 2,
        "maxItems": 3,
    },
    {"type": "string", "pattern": "^[a-c]{2,5}$"},
    {
        "anyOf": [
            {"type": "null"},
            {
                "type": "object",
                "properties": {"a": {"const": "\u00fc"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ]
    },
]


def engine_of(tiny, proposer=None):
    config = EngineConfig(
        200,
        16,
        num_speculative_tokens=3 if proposer else 0,
        scheduler=SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=64, max_model_len=512),
    )
    return Engine(tiny.model, config, tiny.tokenizer, tiny.eos_ids, proposer)


def answers(tiny, structure, guess, **params):
    engine = engine_of(tiny, NgramProposer() if guess else None)
    found = engine.generate(
        ["a bank a bank", "what"],
        SamplingParams(
            **{
                "max_tokens": 300,
                "temperature": 1.0,
                "seed": 3,
                "n": 3,
                "structure": structure,
                **params,
            }
        ),
    )
    assert not engine.structures._matchers, "nothing is kept of those that ended"
    return [each for completions in found for each in completions]


@pytest.mark.parametrize("guess", [False, True], ids=["plain", "with guesses"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_every_answer_that_ends_is_accepted_by_its_schema(tiny, schema, guess):
    found = answers(tiny, Structure("json_schema", json.dumps(schema)), guess)
    assert all(each.finish_reason == "stop" for each in found)
    for each in found:
        jsonschema.validate(json.loads(each.text), schema)
    assert len({each.text for each in found}) > 1, "the model still chooses"


@pytest.mark.parametrize("guess", [False, True], ids=["plain", "with guesses"])
def test_an_expression_and_a_choice_are_kept_to(tiny, guess):
    pattern = r"[A-Z][a-z]{2,8}( [0-9]{1,3})? \([0-9]+\)"
    for each in answers(tiny, Structure("regex", pattern), guess):
        assert re.fullmatch(pattern, each.text), each.text
    words = ["a river", 'a "bank"', "geld\n", "\u00fcber"]
    assert {
        each.text for each in answers(tiny, Structure("choice", json.dumps(words)), guess)
    } <= set(words)


def test_a_greedy_answer_of_a_form_is_the_same_with_guesses(tiny):
    structure = Structure("json_schema", json.dumps(SCHEMAS[1]))
    plain, guessed = (
        answers(tiny, structure, guess, temperature=0, n=1) for guess in (False, True)
    )
    assert [each.ids for each in plain] == [each.ids for each in guessed]


def test_who_asks_for_no_form_says_the_same_beside_one_who_does(tiny):
    params = SamplingParams(max_tokens=12, seed=4)
    alone = engine_of(tiny).generate(["hello"], params)[0][0].ids
    engine = engine_of(tiny)
    engine.add_request(
        "hi",
        SamplingParams(max_tokens=60, structure=Structure("json_schema", json.dumps(SCHEMAS[0]))),
    )
    engine.add_request("hello", params, "beside")
    said = []
    while engine.has_work:
        said += [
            token.id
            for output in engine.step()
            if output.request_id == "beside"
            for token in output.tokens
        ]
    assert said == alone


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (Structure("json_schema", "{"), "no JSON"),
        (Structure("json_schema", '{"type": "sonnet"}'), "can't be used"),
        (Structure("regex", "(a"), "can't be used"),
        (Structure("regex", "a" * 70_000), "70,000 characters"),
        (Structure("regex", "(?=a)b"), "look-around"),  # llguidance says so in its last line
        (Structure("regex", r"[^\s\S]"), "can't be used"),  # no text has this form
        (Structure("json_schema", '{"$ref": "#"}'), "can't be used"),
        (
            Structure("regex", "((((a{100}){100}){100}){100})"),
            "too many expressions",
        ),  # takes seconds to look for a token
    ],
)
def test_a_form_that_is_none_is_refused_in_words(tiny, structure, words):
    engine = engine_of(tiny)
    with pytest.raises(ValueError, match=words):
        engine.add_request("hi", SamplingParams(structure=structure))
    assert not engine.has_work


def test_clients_ask_for_a_form_by_openais_field_and_by_vllms(client):
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "sense", "strict": True, "schema": SCHEMAS[0]},
    }
    asked = {
        "model": "tiny",
        "max_tokens": 200,
        "messages": [{"role": "user", "content": "which bank?"}],
    }
    said = (
        client.chat.completions.create(**asked, response_format=schema).choices[0].message.content
    )
    jsonschema.validate(json.loads(said), SCHEMAS[0])
    said = client.chat.completions.create(**asked, extra_body={"guided_choice": ["river", "money"]})
    assert said.choices[0].message.content in ("river", "money")
    text = client.completions.create(
        model="tiny", prompt="call", max_tokens=50, extra_body={"guided_regex": "[0-9]{3}-[0-9]{4}"}
    )
    assert re.fullmatch(r"[0-9]{3}-[0-9]{4}", text.choices[0].text)
    pieces = client.completions.create(
        model="tiny",
        prompt="x",
        max_tokens=200,
        stream=True,
        extra_body={"guided_json": SCHEMAS[1]},
    )
    jsonschema.validate(json.loads("".join(piece.choices[0].text for piece in pieces)), SCHEMAS[1])


@pytest.mark.parametrize(
    "form, right",
    [
        ({"choice": ["river", "money"]}, lambda text: text in ("river", "money")),
        ({"regex": "[0-9]{3}-[0-9]{4}"}, lambda text: re.fullmatch("[0-9]{3}-[0-9]{4}", text)),
        (
            {"json": SCHEMAS[0]},
            lambda text: jsonschema.validate(json.loads(text), SCHEMAS[0]) is None,
        ),
        ({"json": json.dumps(SCHEMAS[0])}, lambda text: json.loads(text) is not None),
    ],
)
def test_vllms_current_field_holds_each_form(client, form, right):
    answer = client.completions.create(
        model="tiny", prompt="x", max_tokens=200, extra_body={"structured_outputs": form}
    )
    assert right(answer.choices[0].text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"structured_outputs": {"regex": "a", "choice": ["a"]}},
        {"structured_outputs": {}},
        {"structured_outputs": {"regex": "a"}, "guided_choice": ["a"]},
        {"structured_outputs": {"grammar": "root ::= a"}},
    ],
)
def test_two_forms_none_or_an_unknown_one_in_vllms_field_are_refused(running, wrong):
    answer = running.post("/v1/completions", json={"model": "tiny", "prompt": "x", **wrong})
    assert answer.status_code == 400 and running.is_idle


def test_two_forms_or_a_broken_one_are_refused_with_the_field_named(running):
    body = {"model": "tiny", "prompt": "x"}
    answer = running.post(
        "/v1/completions", json={**body, "guided_regex": "a", "guided_choice": ["a"]}
    )
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "guided_choice"
    answer = running.post("/v1/completions", json={**body, "guided_regex": "(a"})
    assert answer.status_code == 400 and "can't be used" in answer.json()["error"]["message"]
    assert running.is_idle
