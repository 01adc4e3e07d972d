"""Every parameter out of its range is refused by name; every border is taken."""

import pytest

from reference_impl.generation.sampling_params import GenerationError, SamplingParams

WRONG = [
    ("temperature", -0.1),
    ("temperature", 1e-40),
    ("temperature", float("nan")),
    ("temperature", float("inf")),
    ("top_k", -2),
    ("top_p", 0.0),
    ("top_p", 1.01),
    ("min_p", -0.1),
    ("min_p", 1.1),
    ("typical_p", 0.0),
    ("repetition_penalty", 0.0),
    ("presence_penalty", 2.1),
    ("frequency_penalty", -2.1),
    ("logit_bias", {-1: 1.0}),
    ("logit_bias", {1: float("nan")}),
    ("allowed_token_ids", ()),
    ("max_tokens", 0),
    ("max_tokens", True),
    ("min_tokens", 17),
    ("stop", ("",)),
    ("stop", "word"),
    ("stop", (3,)),
    ("stop_token_ids", (-1,)),
    ("stop_token_ids", ("a",)),
    ("seed", -1),
    ("seed", 2**63),
    ("n", 0),
    ("logprobs", -1),
]


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize("name, value", WRONG)
def test_a_value_out_of_range_is_refused_by_name_and_value(name, value):
    with pytest.raises(GenerationError) as error:
        SamplingParams(**{name: value})
    assert str(error.value).startswith(f"{name} is {value!r}: it must be ")


@pytest.mark.parametrize(
    "name, value",
    [
        ("temperature", 0.0),
        ("top_k", -1),
        ("top_p", 1.0),
        ("min_p", 1.0),
        ("presence_penalty", -2.0),
        ("max_tokens", 1),
        ("min_tokens", 16),
        ("logprobs", 0),
        ("seed", 2**63 - 1),
        ("logit_bias", {3: -float("inf")}),
    ],
)
def test_a_value_at_the_border_is_taken(name, value):
    assert getattr(SamplingParams(**{name: value}), name) == value


def test_temperature_zero_alone_is_greedy():
    assert SamplingParams(temperature=0).greedy
    assert not SamplingParams(temperature=0.01).greedy
