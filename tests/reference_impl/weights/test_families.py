"""Files are refused by default: every key of a published configuration is read, held to one value,
or known to change no number, and what a file leaves out is what the library takes for it.
"""

import dataclasses
import json

import pytest
import torch
import transformers

from reference_impl.models import (
    albert,
    bert,
    bert_tasks,
    bigbird,
    deberta,
    distilbert,
    electra,
    gpt,
    gpt_neox,
    gpt_tasks,
    llama,
    longformer,
    modernbert,
    roberta,
    t5,
    xlnet,
)
from reference_impl.weights.pretrained import config_from
from reference_impl.weights.published import FREE
from reference_impl.weights.shards import WeightsError

CONFIGS = {
    "Bert": bert.BertConfig,
    "Roberta": roberta.RobertaConfig,
    "Albert": albert.AlbertConfig,
    "Electra": electra.ElectraConfig,
    "DistilBert": distilbert.DistilBertConfig,
    "Deberta": deberta.DebertaConfig,
    "Longformer": longformer.LongformerConfig,
    "BigBird": bigbird.BigBirdConfig,
    "XLNet": xlnet.XLNetConfig,
    "T5": t5.T5Config,
    "OpenAIGPT": gpt.GPTConfig,
    "GPT2": gpt.GPTConfig,
    "GPTNeoX": gpt_neox.GPTNeoXConfig,
    "Llama": llama.LlamaConfig,
    "Mistral": llama.LlamaConfig,
    "Qwen2": llama.LlamaConfig,
    "Qwen3": llama.LlamaConfig,
    "ModernBert": modernbert.ModernBertConfig,
}
EACH = pytest.mark.parametrize("name", CONFIGS)
# A DeBERTa that says nothing of its positions has absolute ones, which are not built: the released
# ones all say it.
NEEDED = {
    "Deberta": {
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": ["c2p", "p2c"],
    }
}


def published(name):
    """What the library writes for a default configuration, as a config.json gives it back."""
    config = getattr(transformers, f"{name}Config")(**NEEDED.get(name, {}))
    return json.loads(config.to_json_string(use_diff=False))


@EACH
def test_every_key_that_the_library_writes_is_known(name):
    assert isinstance(config_from(CONFIGS[name], published(name)), CONFIGS[name])


@EACH
def test_a_key_that_is_not_known_is_refused_by_name(name):
    with pytest.raises(
        WeightsError, match="config.json sets attention_temperature to 2.0, which is not known"
    ):
        config_from(CONFIGS[name], {**published(name), "attention_temperature": 2.0})


def resolved(config):
    """A configuration with what None stands for in its place."""
    if isinstance(config, llama.LlamaConfig):
        heads = config.num_kv_heads or config.num_heads
        return dataclasses.replace(
            config,
            num_kv_heads=heads,
            head_dim=config.head_dim or config.hidden_size // config.num_heads,
        )
    if isinstance(config, t5.T5Config):
        return dataclasses.replace(
            config, num_decoder_layers=config.num_decoder_layers or config.num_layers
        )
    return config


@EACH
def test_a_key_that_is_left_out_has_the_librarys_default(name):
    told = published(name)
    theirs = getattr(transformers, f"{name}Config")
    for key in told.keys() - {"model_type"}:
        less = {other: value for other, value in told.items() if other != key}
        again = json.loads(
            theirs(**{k: v for k, v in less.items() if k != "model_type"}).to_json_string(
                use_diff=False
            )
        )
        try:
            ours = config_from(CONFIGS[name], less)
        except WeightsError as error:
            with pytest.raises(WeightsError):  # what it means without the key can't be read either
                config_from(CONFIGS[name], again)
            assert key in str(error), key
        else:
            assert resolved(ours) == resolved(config_from(CONFIGS[name], again)), key


@EACH
def test_a_value_that_makes_no_sense_is_refused_wherever_it_stands(name, as_students_run_it):
    told, tried = published(name), 0
    (form,) = [one for one in CONFIGS[name].formats if one.model_type == told["model_type"]]
    for key in set(form.settings.values()) & told.keys() - {
        "max_relative_positions"
    }:  # below 1 it is unset
        value = told[key]
        if isinstance(value, bool):
            wrong = ["yes", 3]
        elif isinstance(value, int):
            wrong = [-3, 2.5, "12", True, [4], 2**40] + ([0] if key != "num_random_blocks" else [])
        elif isinstance(value, float):
            wrong = [-0.1, float("nan"), float("inf"), "0.1", True, [0.1]]
        else:
            wrong = ["no such word", 7.5]
        for other in wrong:
            with pytest.raises(WeightsError, match="config.json"):
                config_from(CONFIGS[name], {**told, key: other})
            tried += 1
    assert tried > 20


def test_no_key_is_free_and_read_at_once():
    for config_class in set(CONFIGS.values()):
        for form in config_class.formats:
            read = set(form.settings.values())
            assert (
                not read & form.free
                and not read & form.only.keys()
                and not form.free & form.only.keys()
            )
            assert form.settings.keys() <= {
                field.name for field in dataclasses.fields(config_class)
            }
            assert not read & FREE


def test_the_librarys_settings_of_generation_are_all_free():
    assert set(transformers.GenerationConfig._get_default_generation_params()) <= FREE
    assert (
        set(transformers.PretrainedConfig().to_dict()) - {"model_type", "is_encoder_decoder"}
        <= FREE
    )


SMALL = {
    "vocab_size": 31,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 6,
    "max_position_embeddings": 16,
}
GPT_SMALL = {"vocab_size": 31, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
ROBERTA_SMALL = {**SMALL, "type_vocab_size": 1, "pad_token_id": 1}
XLNET_SMALL = {"vocab_size": 31, "d_model": 8, "n_layer": 1, "n_head": 2, "d_inner": 6}
T5_SMALL = {"vocab_size": 31, "d_model": 8, "d_kv": 4, "d_ff": 6, "num_layers": 1, "num_heads": 2}

# Our model, the library's, its settings, two names of the library's that are one parameter of ours.
TIES = {
    "bert": (bert.BertForMaskedLM, "BertForMaskedLM", SMALL, "cls.predictions.decoder.weight"),
    "bert pre-training": (
        bert.BertForPreTraining,
        "BertForPreTraining",
        SMALL,
        "cls.predictions.decoder.weight",
    ),
    "bert's bias": (bert.BertForMaskedLM, "BertForMaskedLM", SMALL, "cls.predictions.decoder.bias"),
    "roberta": (
        roberta.RobertaForMaskedLM,
        "RobertaForMaskedLM",
        ROBERTA_SMALL,
        "lm_head.decoder.weight",
    ),
    "albert": (
        albert.AlbertForPreTraining,
        "AlbertForPreTraining",
        {**SMALL, "embedding_size": 4},
        "predictions.decoder.weight",
    ),
    "electra": (
        electra.ElectraForMaskedLM,
        "ElectraForMaskedLM",
        {**SMALL, "embedding_size": 8},
        "generator_lm_head.weight",
    ),
    "distilbert": (
        distilbert.DistilBertForMaskedLM,
        "DistilBertForMaskedLM",
        {
            "vocab_size": 31,
            "dim": 8,
            "n_layers": 1,
            "n_heads": 2,
            "hidden_dim": 6,
            "max_position_embeddings": 16,
        },
        "vocab_projector.weight",
    ),
    "deberta": (
        deberta.DebertaForMaskedLM,
        "DebertaForMaskedLM",
        {**SMALL, **NEEDED["Deberta"]},
        "cls.predictions.decoder.weight",
    ),
    "longformer": (
        longformer.LongformerForMaskedLM,
        "LongformerForMaskedLM",
        {**ROBERTA_SMALL, "attention_window": 4},
        "lm_head.decoder.weight",
    ),
    "bigbird": (
        bigbird.BigBirdForMaskedLM,
        "BigBirdForMaskedLM",
        SMALL,
        "cls.predictions.decoder.weight",
    ),
    "xlnet": (xlnet.XLNetLM, "XLNetLMHeadModel", XLNET_SMALL, "lm_loss.weight"),
    "t5": (t5.T5, "T5ForConditionalGeneration", T5_SMALL, "lm_head.weight"),
    "gpt-1": (gpt.GPT, "OpenAIGPTLMHeadModel", GPT_SMALL, "lm_head.weight"),
    "gpt-2": (gpt.GPT, "GPT2LMHeadModel", GPT_SMALL, "lm_head.weight"),
    "llama": (
        llama.Llama,
        "LlamaForCausalLM",
        {**SMALL, "tie_word_embeddings": True},
        "lm_head.weight",
    ),
    "modernbert": (
        modernbert.ModernBertForMaskedLM,
        "ModernBertForMaskedLM",
        {**SMALL, "pad_token_id": 0},
        "decoder.weight",
    ),
}


def library(name, settings):
    return getattr(transformers, name)(getattr(transformers, name).config_class(**settings)).eval()


def write(folder, model, config=None, change=None):
    """The library's model as a folder, its configuration and its tensors changed."""
    from safetensors.torch import save_file

    weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if change is not None:
        change(weights)
    save_file(weights, folder / "model.safetensors")
    told = json.loads(model.config.to_json_string(use_diff=False))
    (folder / "config.json").write_text(json.dumps({**told, **(config or {})}))
    return folder


@pytest.mark.parametrize("family", TIES)
def test_a_file_whose_two_names_of_one_parameter_differ_is_refused_by_both_names(family, tmp_path):
    ours, name, settings, second = TIES[family]
    model = library(name, settings)
    assert ours.from_pretrained(write(tmp_path, model))

    def change(weights):
        weights[second][0] += 1e-3

    with pytest.raises(WeightsError, match="(?s)'.*' and '.*' differ in the checkpoint") as refused:
        ours.from_pretrained(write(tmp_path, model, change=change))
    assert second in str(refused.value)


@pytest.mark.parametrize("family", sorted(TIES.keys() - {"llama", "t5", "bert's bias"}))
def test_an_output_layer_that_is_said_not_to_be_the_embedding_is_refused(family, tmp_path):
    ours, name, settings, _ = TIES[family]
    with pytest.raises(WeightsError, match="sets tie_word_embeddings to False"):
        ours.from_pretrained(
            write(tmp_path, library(name, settings), {"tie_word_embeddings": False})
        )


@pytest.mark.parametrize("family", sorted(TIES.keys() - {"bert's bias"}))
def test_a_tensor_that_has_no_place_is_refused_by_name(family, tmp_path):
    ours, name, settings, _ = TIES[family]

    def change(weights):
        weights["adapter.down.weight"] = torch.ones(2)

    with pytest.raises(WeightsError, match="'(transformer.)?adapter.down.weight'"):
        ours.from_pretrained(write(tmp_path, library(name, settings), change=change))


@pytest.mark.parametrize(
    "inner",
    [
        bert.Bert,
        roberta.Roberta,
        albert.Albert,
        electra.Electra,
        distilbert.DistilBert,
        deberta.Deberta,
        longformer.Longformer,
        bigbird.BigBird,
        xlnet.XLNet,
        modernbert.ModernBert,
    ],
)
def test_an_encoder_is_read_out_of_a_model_with_a_head_and_what_is_no_head_is_refused(
    inner, tmp_path
):
    family = inner.__name__.lower()
    _, name, settings, _ = TIES["bert pre-training" if family == "bert" else family]
    inner.from_pretrained(write(tmp_path, library(name, settings)))

    def change(weights):
        weights["adapter.down.weight"] = torch.ones(2)

    with pytest.raises(WeightsError, match="'adapter.down.weight' is neither a part"):
        inner.from_pretrained(write(tmp_path, library(name, settings), change=change))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_model_is_made_in_the_dtype_that_is_asked_for(dtype, tmp_path):
    model = library("LlamaForCausalLM", SMALL)
    ours = llama.Llama.from_pretrained(write(tmp_path, model), dtype=dtype)
    assert {parameter.dtype for parameter in ours.parameters()} == {
        dtype
    } and torch.get_default_dtype() == torch.float32
    ids = torch.tensor([[3, 9, 1, 7]])
    expected = model.to(dtype)(ids).logits
    torch.testing.assert_close(
        ours(ids), expected, rtol=0, atol=1e-6 if dtype == torch.float64 else 2e-2
    )


def test_half_precision_in_a_file_is_widened_exactly(tmp_path):
    model = library("LlamaForCausalLM", SMALL).to(torch.bfloat16)
    ours = llama.Llama.from_pretrained(write(tmp_path, model))
    assert torch.equal(ours.embedding.weight, model.model.embed_tokens.weight.float())


@pytest.mark.parametrize("dtype", [torch.int8, "float16", None, torch.complex64])
def test_another_dtype_is_refused_in_words(dtype, tmp_path, as_students_run_it):
    with pytest.raises(WeightsError, match="dtype is .*: give one of torch.float16"):
        llama.Llama.from_pretrained(
            write(tmp_path, library("LlamaForCausalLM", SMALL)), dtype=dtype
        )


def test_whole_numbers_in_the_place_of_weights_are_refused_by_name(tmp_path):
    def change(weights):
        weights["model.norm.weight"] = torch.ones(8, dtype=torch.int8)

    with pytest.raises(
        WeightsError, match="'model.norm.weight' holds torch.int8: is the checkpoint quantised"
    ):
        llama.Llama.from_pretrained(
            write(tmp_path, library("LlamaForCausalLM", SMALL), change=change)
        )


@pytest.mark.parametrize(
    "rope, says",
    [
        (
            {"rope_scaling": {"rope_type": "default", "factor": 4.0}},
            "sets factor of its rotary positions to 4.0",
        ),
        ({"rope_scaling": {"rope_type": "linear"}}, "gives no factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 0}}, "sets rope_interpolation to 0"),
        (
            {"rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 2.0}},
            "'dynamic' and 'linear'",
        ),
        ({"rope_parameters": {"rope_theta": 500.0}, "rope_theta": 10.0}, "they are one setting"),
        (
            {"rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5}},
            "partial_rotary_factor",
        ),
        (
            {
                "rope_parameters": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 4.0,
                    "high_freq_factor": 1.0,
                    "original_max_position_embeddings": 64,
                }
            },
            "rope_bands",
        ),
        (
            {
                "rope_scaling": {"rope_type": "linear", "factor": 2.0},
                "rope_parameters": {"rope_theta": 5.0},
            },
            "one of the two",
        ),
    ],
)
def test_rotary_positions_that_contradict_themselves_are_refused(rope, says):
    with pytest.raises(WeightsError, match=says):
        config_from(llama.LlamaConfig, {"model_type": "llama", **SMALL, **rope})


@pytest.mark.parametrize(
    "config_class, kind, settings, says",
    [
        (
            llama.LlamaConfig,
            "llama",
            {"sliding_window": 4},
            "sets sliding_window to 4, which is not known",
        ),
        (
            llama.LlamaConfig,
            "qwen2",
            {"layer_types": ["sliding_attention"]},
            "a window is read for all layers or for none",
        ),
        (llama.LlamaConfig, "llama", {"num_key_value_heads": 0}, "sets num_kv_heads to 0"),
        (llama.LlamaConfig, "llama", {"head_dim": 0}, "sets head_dim to 0"),
        (llama.LlamaConfig, "llama", {"head_dim": 3}, "head_dim is 3: give an even number"),
        (
            llama.LlamaConfig,
            "llama",
            {"num_key_value_heads": 3, "num_attention_heads": 4},
            "not a multiple of num_kv_heads 3",
        ),
        (
            modernbert.ModernBertConfig,
            "modernbert",
            {"local_rope_theta": None},
            "sets local_rope_theta to None",
        ),
        (
            modernbert.ModernBertConfig,
            "modernbert",
            {"layer_types": ["full_attention"] * 2},
            "whole-text layers",
        ),
        (xlnet.XLNetConfig, "xlnet", {"d_head": 5}, "sets d_head to 5"),
        (t5.T5Config, "t5", {"relative_attention_num_buckets": 2}, "num_buckets is 2"),
        (
            t5.T5Config,
            "t5",
            {"dense_act_fn": "silu"},
            "sets dense_act_fn beside feed_forward_proj 'relu'",
        ),
        (
            gpt_neox.GPTNeoXConfig,
            "gpt_neox",
            {"rotary_pct": 0.33, "num_attention_heads": 64},
            "rotary positions turn pairs",
        ),
        (
            gpt_neox.GPTNeoXConfig,
            "gpt_neox",
            {"rope_theta": 500.0},
            "rope_theta to 500.0 outside of its rope_parameters",
        ),
        (
            longformer.LongformerConfig,
            "longformer",
            {"attention_window": 3},
            "attention_window is 3",
        ),
        (roberta.RobertaConfig, "roberta", {"max_position_embeddings": 2}, "give more than 2"),
        (bert.BertConfig, "bert", {"pruned_heads": {"0": [1]}}, "all heads are there"),
        (bert.BertConfig, "bert", {"quantization_config": {"bits": 4}}, "sets quantization_config"),
    ],
)
def test_settings_of_a_family_that_can_not_be_followed_are_refused_in_words(
    config_class, kind, settings, says
):
    with pytest.raises(WeightsError, match=says):
        config_from(config_class, {"model_type": kind, **settings})


def test_three_dropout_rates_stay_three():
    config = config_from(
        gpt.GPTConfig,
        {
            "model_type": "gpt2",
            "resid_pdrop": 0.1,
            "embd_pdrop": 0.2,
            "attn_pdrop": 0.3,
            **GPT_SMALL,
        },
    )
    model = gpt.GPT(config)
    assert (model.blocks[0].dropout.p, model.dropout.p, model.blocks[0].attention.dropout) == (
        0.1,
        0.2,
        0.3,
    )


def test_a_classifiers_own_dropout_and_activation_are_read(tmp_path):
    settings = {**SMALL, **NEEDED["Deberta"], "pooler_hidden_act": "relu"}
    theirs = library("DebertaForSequenceClassification", settings)
    ours = deberta.DebertaForSequenceClassification.from_pretrained(write(tmp_path, theirs))
    ids = torch.tensor([[3, 9, 1, 7]])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-6)
    dropped = config_from(
        bert.BertConfig, {"model_type": "bert", **SMALL, "classifier_dropout": 0.4}
    )
    assert bert_tasks.BertForSequenceClassification(dropped).classifier.dropout.p == 0.4


def test_a_choice_by_another_vector_than_the_last_is_refused(tmp_path):
    model = library("GPT2DoubleHeadsModel", {**GPT_SMALL, "num_labels": 1})
    gpt_tasks.GPTForMultipleChoice.from_pretrained(write(tmp_path, model))
    with pytest.raises(WeightsError, match="sets summary_type to 'mean'"):
        gpt_tasks.GPTForMultipleChoice.from_pretrained(
            write(tmp_path, model, {"summary_type": "mean"})
        )


def test_a_t5_1_1_whose_output_is_written_as_the_embedding_is_the_librarys(tmp_path):
    theirs = library(
        "T5ForConditionalGeneration",
        {**T5_SMALL, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    )
    theirs.save_pretrained(tmp_path)
    source, target = torch.tensor([[3, 9, 1]]), torch.tensor([[0, 5]])
    ours = t5.T5.from_pretrained(tmp_path)
    torch.testing.assert_close(
        ours(source, target),
        theirs(input_ids=source, decoder_input_ids=target).logits,
        rtol=1e-5,
        atol=1e-5,
    )


def test_bigbird_of_a_file_has_the_librarys_blocks_in_long_texts(tmp_path):
    theirs = library(
        "BigBirdForMaskedLM",
        {
            **SMALL,
            "max_position_embeddings": 64,
            "block_size": 4,
            "num_random_blocks": 1,
            "attention_type": "block_sparse",
        },
    )
    ids = torch.randint(1, 31, (2, 48), generator=torch.Generator().manual_seed(0))
    ours = bigbird.BigBirdForMaskedLM.from_pretrained(write(tmp_path, theirs))
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)
