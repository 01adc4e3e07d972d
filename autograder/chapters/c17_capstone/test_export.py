"""Checks of chapter 17, parts 4 and 5: the export, and the written answer."""

from autograder.chapters.c17_capstone.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import one_changed, whole
from autograder.checks.protocol import Sample, exercise, expect, short_answer

export_config = exercise(
    "17.export_config",
    function="export_config",
    points=6,
    see="17-capstone/serve#export",
    withhold=OURS | LIBRARIES,
)

KEYS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_layers",
    "num_heads",
    "num_kv_heads",
    "max_position_embeddings",
    "rope_theta",
    "rms_norm_eps",
    "tie_word_embeddings",
    "end_id",
)
HAND = (10, 4, 5, 1, 2, 1, 16, 10000.0, 1e-5, True, 1)
OTHER = (11, 8, 6, 3, 4, 2, 32, 500000.0, 1e-6, False, 2)
RENAMED = {
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "num_key_value_heads": "num_kv_heads",
    "eos_token_id": "end_id",
}
SAME = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "rope_theta",
    "rms_norm_eps",
    "tie_word_embeddings",
)
FIXED = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": None,
    "torch_dtype": "float32",
}


def published(sizes: dict) -> dict:
    """The right object of a config.json."""
    renamed = {name: sizes[ours] for name, ours in RENAMED.items()}
    return FIXED | {name: sizes[name] for name in SAME} | renamed


def tensors_of(sizes: dict) -> dict[str, tuple[int, ...]]:
    """The tensors that transformers loads, with their shapes."""
    V, C, F = sizes["vocab_size"], sizes["hidden_size"], sizes["intermediate_size"]
    narrow = sizes["num_kv_heads"] * (C // sizes["num_heads"])
    found = {"model.embed_tokens.weight": (V, C), "model.norm.weight": (C,)}
    if not sizes["tie_word_embeddings"]:
        found["lm_head.weight"] = (V, C)
    each = {
        "input_layernorm": (C,),
        "self_attn.q_proj": (C, C),
        "self_attn.k_proj": (narrow, C),
        "self_attn.v_proj": (narrow, C),
        "self_attn.o_proj": (C, C),
        "post_attention_layernorm": (C,),
        "mlp.gate_proj": (F, C),
        "mlp.up_proj": (F, C),
        "mlp.down_proj": (C, F),
    }
    for layer in range(sizes["num_layers"]):
        found |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in each.items()}
    return found


def drawn(rng) -> tuple:
    """Small sizes with grouped KV heads."""
    K, end = whole(rng, 2, 4), whole(rng, 0, 9)
    H = K * whole(rng, 2, 3)
    C, positions, tied = H * whole(rng, 2, 6), whole(rng, 8, 999), bool(whole(rng, 0, 1))
    sizes = (whole(rng, 10, 99), C, whole(rng, 2, 99), whole(rng, 2, 12), H, K, positions)
    return (*sizes, 10000.0 * whole(rng, 2, 50), 1e-6 * whole(rng, 2, 9), tied, end)


def models(rng) -> list[dict]:
    """All sizes that are asked, by the course's names."""
    capstone = (1024, 128, 344, 4, 4, 2, 256, 10000.0, 1e-5, True, 1)
    full = (49_152, 576, 1536, 30, 9, 9, 8192, 100000.0, 1e-5, False, 0)
    asked = (*one_changed(HAND, OTHER), OTHER, capstone, full, drawn(rng))
    return [dict(zip(KEYS, sizes, strict=True)) for sizes in asked if sizes[1] % sizes[4] == 0]


def ask_export(student, rng, part: str, keys: tuple[str, ...], cause: str) -> None:
    """Compare some keys of one of the two parts."""
    for sizes in models(rng):
        right = published(sizes) if part == "config" else tensors_of(sizes)
        given = ", ".join(f"{name} {value}" for name, value in sizes.items())
        came = expect(student.export_config(sizes), given=given)
        came = came.only_keys(("config", "tensors")).has(part)
        if part == "config":
            came = came.only_keys(right)
        for key in keys or right:
            came.has(key).equals(right[key], cause=cause)


@export_config.stage("renamed keys", points=1.5)
def test_sizes_have_the_names_of_transformers(student, rng):
    ask_export(
        student,
        rng,
        "config",
        (*RENAMED, *SAME),
        "The value under each key of `config` is that of the table's second column. transformers"
        " takes a default for every key that it does not find.",
    )


@export_config.stage("fixed keys", points=1)
def test_what_every_llama_of_the_course_has(student, rng):
    ask_export(
        student,
        rng,
        "config",
        tuple(FIXED),
        "These values are the same for every model: copy them from the table, with their types.",
    )
    sizes = dict(zip(KEYS, HAND, strict=True))
    config = expect(student.export_config(sizes)).has("config")
    for key in published(sizes):  # one that is missing is not the fixed value either
        config.has(key)


@export_config.stage("tensor names", points=2)
def test_every_tensor_has_its_name(student, rng):
    for sizes in models(rng):
        right = set(tensors_of(sizes))
        came = expect(student.export_config(sizes)).has("tensors").is_a(dict)
        missing, extra = sorted(right - set(came)), sorted(set(came) - right, key=repr)
        expect(not missing and not extra).is_true(
            cause=(
                "The names do not match. transformers leaves a tensor that it does not find at its"
                " random initial values, and ignores one that it does not know."
            ),
            detail=f"missing {missing[:3]}, not asked for {extra[:3]}",
        )


@export_config.stage("tensor shapes", points=1.5)
def test_every_tensor_has_its_shape(student, rng):
    ask_export(
        student,
        rng,
        "tensors",
        (),
        "A linear layer's weight is (outputs, inputs). Keys and values have `num_kv_heads` heads of"
        " dimension `hidden_size` / `num_heads` as outputs.",
    )


short_answer(
    "17.one_change",
    points=4,
    see="17-capstone/serve#the-report-card",
    rubric={
        "prediction": (
            1,
            (
                "names one change of one setting and predicts, before the run, a number for a named"
                " score (half for a direction without a number)"
            ),
        ),
        "mechanism": (
            1,
            (
                "gives a reason that follows from how the stage works, such as tokens seen,"
                " learning"
                " rate, what the reward pays for (half for 'more is better')"
            ),
        ),
        "result": (
            1,
            (
                "gives the score before and after with items or intervals, and says what was kept"
                " the same: seed, held-out items, all other settings (half without one of the two)"
            ),
        ),
        "conclusion": (
            1,
            (
                "compares result and prediction honestly: overlapping intervals or a single seed"
                " decide nothing; a wrong prediction earns the row if the text says what was wrong"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "I doubled the steps of pre-training, because more training is better. The model did"
            " get better, its answers look nicer.",
            {"prediction": 0.5, "mechanism": 0.5},
            "Row 1 for a direction, row 2 for 'more is better'. No scores, and a conclusion from"
            " looking.",
        ),
        Sample(
            "Half",
            "Prediction: without replay, scripture goes from 1.47 to about 2.5 bits per byte,"
            " because tuning then never sees pre-training text. Result: 3.1. So my prediction was"
            " right.",
            {"prediction": 1, "mechanism": 1, "result": 0.5},
            "Rows 1 and 2; row 3 without what was kept the same. 3.1 is not about 2.5, so row 4"
            " earns nothing.",
        ),
        Sample(
            "Good",
            "I predicted that 40 steps of GRPO instead of 20 take sums at temperature 1 from .84 to"
            " .92: more updates of the same reward. Same seed and the same 300 items: .84 [.79,"
            " .88]"
            " and .86 [.81, .89]. It rose less than I said.",
            {"prediction": 1, "mechanism": 0.5, "result": 1, "conclusion": 0.5},
            "Row 2 half: more updates is no mechanism. Row 4 half: the intervals overlap, so it is"
            " not known that it rose.",
        ),
        Sample(
            "Strong",
            "Change: no conversations in tuning. Prediction: character in the third turn falls from"
            " .90 to below .6, first turn unchanged, because positions after 60 tokens then never"
            " carry a loss. Seed 0, the same held-out items: third turn .89 [.82, .93] to .31 [.23,"
            " .41], first turn .91 to .92. The direction holds far beyond the intervals; I had"
            " expected a smaller fall. One seed, so I do not know how the size varies.",
            {"prediction": 1, "mechanism": 1, "result": 1, "conclusion": 1},
            "All four rows, with numbers and a limit.",
        ),
    ],
)
