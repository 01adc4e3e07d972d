"""RoBERTa, ALBERT, ELECTRA and DistilBERT against transformers, from tiny random configurations
with the same weights.
"""

import pytest
import torch
import transformers
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.albert import AlbertConfig, AlbertForPreTraining  # noqa: E402
from reference_impl.models.bert import BertConfig, BertForPreTraining  # noqa: E402
from reference_impl.models.distilbert import (
    DistilBert,
    DistilBertConfig,
    DistilBertForMaskedLM,
    start_from_teacher,
)  # noqa: E402
from reference_impl.models.electra import (
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    share_embeddings,
)  # noqa: E402
from reference_impl.models.roberta import Roberta, RobertaConfig, RobertaForMaskedLM  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

TINY = [
    (
        {
            "vocab_size": 61,
            "hidden_size": 12,
            "num_hidden_layers": 1,
            "num_attention_heads": 3,
            "intermediate_size": 7,
            "max_position_embeddings": 11,
        },
        [9, 4, 1],
    ),
    (
        {
            "vocab_size": 101,
            "hidden_size": 20,
            "num_hidden_layers": 3,
            "num_attention_heads": 1,
            "intermediate_size": 33,
            "max_position_embeddings": 64,
            "hidden_act": "relu",
        },
        [5, 5],
    ),
    (
        {
            "vocab_size": 37,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 8,
            "intermediate_size": 64,
            "max_position_embeddings": 302,
            "hidden_act": "gelu_new",
        },
        [300, 213],
    ),
]
EACH = pytest.mark.parametrize("settings, lengths", TINY)


def pair(parity, ours_class, config_class, theirs):
    return parity.make_same(ours_class(config_from(config_class, theirs.config.to_dict())), theirs)


def segments_of(ids):
    return torch.randint(0, 2, ids.shape, generator=torch.Generator().manual_seed(1))


@EACH
@pytest.mark.parametrize("side", ["right", "left"])
def test_roberta_is_transformers_whichever_side_the_padding_is_on(
    parity, ragged, settings, lengths, side
):
    theirs = transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(**settings, type_vocab_size=1)
    )
    ours, theirs = pair(parity, RobertaForMaskedLM, RobertaConfig, theirs)
    ids, mask = ragged(settings["vocab_size"], lengths, first=3)
    mask = mask if side == "right" else mask.flip(1)
    ids = ids.where(mask, 1)  # the library counts positions by the padding's id, 1
    labels = ids.where(mask, -100)
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    logits = ours(ids, mask)
    parity.assert_close(logits[mask], output.logits[mask])
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_albert_is_transformers(parity, ragged, settings, lengths):
    theirs = transformers.AlbertForPreTraining(
        transformers.AlbertConfig(**settings, embedding_size=6)
    )
    ours, theirs = pair(parity, AlbertForPreTraining, AlbertConfig, theirs)
    ids, mask = ragged(settings["vocab_size"], lengths)
    order = torch.arange(len(lengths)) % 2
    labels = ids.where(mask & (torch.arange(ids.shape[1]) % 3 == 0), -100)
    output = theirs(
        ids,
        token_type_ids=segments_of(ids),
        attention_mask=mask.long(),
        labels=labels,
        sentence_order_label=order,
    )
    tokens, sentences = ours(ids, segments_of(ids), mask)
    parity.assert_close(tokens, output.prediction_logits)
    parity.assert_close(sentences, output.sop_logits)
    loss = cross_entropy(tokens.flatten(0, 1), labels.flatten()) + cross_entropy(sentences, order)
    parity.assert_same_gradients(ours, theirs, loss, output.loss)
    parity.assert_same_state(ours, theirs)


@EACH
@pytest.mark.parametrize("embedding_size", [6, None])
def test_electras_discriminator_and_generator_are_transformers(
    in_double, parity, ragged, settings, lengths, embedding_size
):
    config = transformers.ElectraConfig(
        **settings, embedding_size=embedding_size or settings["hidden_size"]
    )
    ids, mask = ragged(settings["vocab_size"], lengths)
    given = {"token_type_ids": segments_of(ids), "attention_mask": mask.long()}
    ours, theirs = pair(
        parity, ElectraForPreTraining, ElectraConfig, transformers.ElectraForPreTraining(config)
    )
    replaced = (torch.arange(ids.shape[1]) % 3 == 0).expand(ids.shape).long()
    with in_double():  # the library casts the labels to float32
        output = theirs(ids, **given, labels=replaced)
    logits = ours(ids, segments_of(ids), mask)
    parity.assert_close(logits, output.logits)
    loss = binary_cross_entropy_with_logits(logits[mask], replaced[mask].double())
    parity.assert_same_gradients(ours, theirs, loss, output.loss)
    parity.assert_same_state(ours, theirs)
    ours, theirs = pair(
        parity, ElectraForMaskedLM, ElectraConfig, transformers.ElectraForMaskedLM(config)
    )
    output = theirs(ids, **given, labels=ids)
    logits = ours(ids, segments_of(ids), mask)
    parity.assert_close(logits, output.logits)
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), ids.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_distilbert_is_transformers(parity, ragged, settings, lengths):
    names = {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
    }
    config = transformers.DistilBertConfig(
        **{names.get(name, name): value for name, value in settings.items()}
    )
    ours, theirs = pair(
        parity, DistilBertForMaskedLM, DistilBertConfig, transformers.DistilBertForMaskedLM(config)
    )
    ids, mask = ragged(settings["vocab_size"], lengths)
    output = theirs(ids, attention_mask=mask.long(), labels=ids)
    logits = ours(ids, mask)
    parity.assert_close(logits, output.logits)
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), ids.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


def test_folders_that_transformers_wrote_are_read(ragged, tmp_path):
    settings, _ = TINY[0]
    ids, mask = ragged(61, [9, 4], first=3)
    cases = [
        (
            RobertaForMaskedLM,
            transformers.RobertaForMaskedLM,
            transformers.RobertaConfig(**settings, type_vocab_size=1),
        ),
        (
            AlbertForPreTraining,
            transformers.AlbertForPreTraining,
            transformers.AlbertConfig(**settings, embedding_size=6),
        ),
        (
            ElectraForPreTraining,
            transformers.ElectraForPreTraining,
            transformers.ElectraConfig(**settings),
        ),
        (
            DistilBertForMaskedLM,
            transformers.DistilBertForMaskedLM,
            transformers.DistilBertConfig(
                vocab_size=61,
                dim=12,
                n_layers=1,
                n_heads=3,
                hidden_dim=7,
                max_position_embeddings=11,
            ),
        ),
    ]
    for ours_class, theirs_class, config in cases:
        theirs = theirs_class(config).eval()
        theirs.save_pretrained(tmp_path / config.model_type)
        ours = ours_class.from_pretrained(tmp_path / config.model_type)
        logits = ours(ids, mask=mask)
        padded = ids.where(mask, 1)
        expected = theirs(padded, attention_mask=mask.long())[0]
        torch.testing.assert_close(
            (logits[0] if isinstance(logits, tuple) else logits)[mask], expected[mask]
        )
    assert DistilBert.from_pretrained(tmp_path / "distilbert")(ids, mask).shape == (2, 9, 12)


def test_all_of_alberts_layers_are_one():
    sizes = {
        "vocab_size": 11,
        "hidden_size": 8,
        "num_heads": 2,
        "intermediate_size": 4,
        "embedding_size": 2,
    }
    few, many = (AlbertForPreTraining(AlbertConfig(**sizes, num_layers=n)) for n in (1, 12))
    assert sum(p.numel() for p in few.parameters()) == sum(p.numel() for p in many.parameters())
    with pytest.raises(
        WeightsError,
        match="num_hidden_groups to 2: only 1 can be read, since all layers share one block",
    ):
        config_from(AlbertConfig, {"model_type": "albert", "num_hidden_groups": 2})


def test_a_shared_embedding_learns_from_generator_and_discriminator():
    sizes = {
        "vocab_size": 11,
        "embedding_size": 4,
        "num_layers": 1,
        "num_heads": 2,
        "intermediate_size": 4,
    }
    generator = ElectraForMaskedLM(ElectraConfig(hidden_size=4, **sizes))
    discriminator = ElectraForPreTraining(ElectraConfig(hidden_size=8, **sizes))
    share_embeddings(generator, discriminator)
    shared, ids = discriminator.electra.embeddings.word.weight, torch.arange(5)[None]
    for model in (generator, discriminator):
        (gradient,) = torch.autograd.grad(model(ids).sum(), shared)
        assert gradient.abs().sum() > 0
    assert generator.masked_lm.decoder.weight is shared
    with pytest.raises(ModelInputError, match="11 entries in 4 numbers, the discriminator 12 in 4"):
        share_embeddings(
            generator,
            ElectraForPreTraining(ElectraConfig(hidden_size=8, **sizes | {"vocab_size": 12})),
        )


def test_a_distilled_student_starts_from_every_second_layer_of_its_teacher():
    sizes = {"vocab_size": 11, "hidden_size": 4, "num_heads": 2, "intermediate_size": 4}
    teacher = BertForPreTraining(BertConfig(**sizes, num_layers=5))
    student = DistilBertForMaskedLM(DistilBertConfig(**sizes, num_layers=3))
    start_from_teacher(student, teacher)
    for i in range(3):
        assert torch.equal(
            student.distilbert.blocks[i].feed_forward.up.weight,
            teacher.bert.blocks[2 * i].feed_forward.up.weight,
        )
    assert torch.equal(student.masked_lm.decoder.weight, teacher.bert.embeddings.word.weight)
    assert student.masked_lm.decoder.weight is student.distilbert.embeddings.word.weight
    with pytest.raises(
        ModelInputError, match="4 layers need a teacher of 7 or more, but this one has 5"
    ):
        start_from_teacher(DistilBertForMaskedLM(DistilBertConfig(**sizes, num_layers=4)), teacher)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (BertConfig(), transformers.BertConfig()),
        (AlbertConfig(), transformers.AlbertConfig()),
        (ElectraConfig(), transformers.ElectraConfig()),
    ],
)
def test_what_a_config_json_leaves_out_has_the_librarys_default(ours, theirs):
    for name in ("vocab_size", "hidden_act", "layer_norm_eps", "type_vocab_size"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.hidden_dropout == theirs.hidden_dropout_prob
    assert ours.attention_dropout == theirs.attention_probs_dropout_prob


@pytest.mark.parametrize("masked", [True, False])
def test_roberta_skips_padding_by_its_id_with_a_mask_and_without(parity, masked):
    theirs = transformers.RobertaModel(
        transformers.RobertaConfig(
            vocab_size=31,
            hidden_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=6,
            max_position_embeddings=20,
            type_vocab_size=2,
        ),
        add_pooling_layer=False,
    )
    ours, theirs = parity.make_same(
        Roberta(config_from(RobertaConfig, theirs.config.to_dict())), theirs
    )
    ids = torch.tensor([[1, 1, 5, 9, 7], [5, 9, 7, 1, 1], [4, 1, 8, 1, 2]])
    mask = ids != 1 if masked else torch.ones_like(ids, dtype=torch.bool)
    found = ours(ids, mask if masked else None)
    parity.assert_close(
        found[mask], theirs(ids, attention_mask=mask.long()).last_hidden_state[mask]
    )
