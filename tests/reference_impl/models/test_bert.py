"""BERT and its tasks against transformers, from tiny random configurations with the same
weights.
"""

import json

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models import bert_tasks  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig, BertForMaskedLM, BertForPreTraining  # noqa: E402
from reference_impl.weights.pretrained import config_from, hugging_face_state, load_hugging_face  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError, write_weights  # noqa: E402

TINY = [
    (
        {
            "vocab_size": 61,
            "hidden_size": 12,
            "num_hidden_layers": 1,
            "num_attention_heads": 3,
            "intermediate_size": 7,
            "max_position_embeddings": 9,
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
            "type_vocab_size": 3,
            "layer_norm_eps": 0.1,
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
            "max_position_embeddings": 300,
            "hidden_act": "gelu_new",
        },
        [300, 213],
    ),
]
EACH = pytest.mark.parametrize("settings, lengths", TINY)


def pair(parity, ours_class, theirs_class, settings, **labels):
    theirs = theirs_class(transformers.BertConfig(**settings, **labels))
    config = config_from(BertConfig, theirs.config.to_dict())
    return parity.make_same(ours_class(config, *labels.values()), theirs)


def inputs(ragged, settings, lengths):
    ids, mask = ragged(settings["vocab_size"], lengths)
    segments = torch.randint(
        0, settings.get("type_vocab_size", 2), ids.shape, generator=torch.Generator().manual_seed(1)
    )
    return (ids, segments, mask), {
        "input_ids": ids,
        "token_type_ids": segments,
        "attention_mask": mask.long(),
    }


@EACH
def test_pre_training_is_transformers(parity, ragged, settings, lengths):
    ours, theirs = pair(parity, BertForPreTraining, transformers.BertForPreTraining, settings)
    given, theirs_given = inputs(ragged, settings, lengths)
    labels = given[0].where(
        torch.rand(given[0].shape, generator=torch.Generator().manual_seed(2)) < 0.3, -100
    )
    labels[:, 0], follows = 3, torch.arange(len(lengths)) % 2
    output = theirs(**theirs_given, labels=labels, next_sentence_label=follows)
    tokens, sentences = ours(*given)
    parity.assert_close(tokens, output.prediction_logits)
    parity.assert_close(sentences, output.seq_relationship_logits)
    loss = cross_entropy(tokens.flatten(0, 1), labels.flatten()) + cross_entropy(sentences, follows)
    parity.assert_same_gradients(ours, theirs, loss, output.loss)
    parity.assert_same_state(ours, theirs)


@EACH
def test_the_encoder_and_its_pooler_are_transformers(parity, ragged, settings, lengths):
    ours, theirs = pair(parity, Bert, transformers.BertModel, settings)
    given, theirs_given = inputs(ragged, settings, lengths)
    output = theirs(**theirs_given)
    parity.assert_close(ours(*given).tokens, output.last_hidden_state)
    parity.assert_close(ours(*given).pooled, output.pooler_output)
    parity.assert_close(
        ours(given[0]).tokens, theirs(given[0]).last_hidden_state
    )  # no padding, one segment
    parity.assert_same_state(ours, theirs)


@pytest.mark.parametrize(
    "task, labels", [("SequenceClassification", 3), ("TokenClassification", 5), ("MaskedLM", None)]
)
@EACH
def test_tasks_of_one_output_are_transformers(parity, ragged, settings, lengths, task, labels):
    ours_class = BertForMaskedLM if labels is None else getattr(bert_tasks, f"BertFor{task}")
    labels = {} if labels is None else {"num_labels": labels}
    ours, theirs = pair(
        parity, ours_class, getattr(transformers, f"BertFor{task}"), settings, **labels
    )
    given, theirs_given = inputs(ragged, settings, lengths)
    logits, expected = ours(*given), theirs(**theirs_given).logits
    parity.assert_close(logits, expected)
    parity.assert_same_gradients(ours, theirs, logits.square().mean(), expected.square().mean())
    parity.assert_same_state(ours, theirs)


@EACH
def test_spans_and_choices_are_transformers(parity, ragged, settings, lengths):
    given, theirs_given = inputs(ragged, settings, lengths)
    ours, theirs = pair(
        parity, bert_tasks.BertForQuestionAnswering, transformers.BertForQuestionAnswering, settings
    )
    output = theirs(**theirs_given)
    for logits, expected in zip(
        ours(*given), (output.start_logits, output.end_logits), strict=True
    ):
        parity.assert_close(logits, expected)
    parity.assert_same_state(ours, theirs)
    ours, theirs = pair(
        parity, bert_tasks.BertForMultipleChoice, transformers.BertForMultipleChoice, settings
    )
    logits = ours(*(tensor[None] for tensor in given))
    parity.assert_close(
        logits, theirs(**{name: tensor[None] for name, tensor in theirs_given.items()}).logits
    )
    parity.assert_same_state(ours, theirs)


def test_sentence_vectors_leave_padding_out(ragged):
    bert = Bert(
        BertConfig(vocab_size=11, hidden_size=6, num_layers=1, num_heads=2, intermediate_size=5)
    ).eval()
    ids, mask = ragged(11, [3, 7])
    alone = bert(ids[:1, :3]).tokens.mean(1)
    torch.testing.assert_close(bert_tasks.sentence_vectors(bert, ids, mask)[:1], alone)


def test_a_folder_that_transformers_wrote_is_read_whatever_its_head(parity, ragged, tmp_path):
    settings, lengths = TINY[0]
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**settings)).eval()
    theirs.save_pretrained(tmp_path)
    given, theirs_given = inputs(ragged, settings, lengths)
    output = theirs(**theirs_given)
    torch.testing.assert_close(
        BertForPreTraining.from_pretrained(tmp_path)(*given)[0], output.prediction_logits
    )
    torch.testing.assert_close(
        BertForMaskedLM.from_pretrained(tmp_path)(*given), output.prediction_logits
    )
    torch.testing.assert_close(
        Bert.from_pretrained(tmp_path)(*given).tokens, theirs.bert(**theirs_given).last_hidden_state
    )


def test_a_folder_that_we_wrote_is_read_by_transformers(parity, tmp_path):
    config = transformers.BertConfig(**TINY[0][0])
    ours = BertForPreTraining(config_from(BertConfig, config.to_dict())).eval()
    write_weights(tmp_path, hugging_face_state(ours))
    config.save_pretrained(tmp_path)
    theirs = transformers.BertForPreTraining.from_pretrained(tmp_path)
    ids = torch.arange(5)[None]
    torch.testing.assert_close(ours(ids)[0], theirs(ids).prediction_logits)


def test_a_checkpoint_of_another_architecture_is_refused(tmp_path):
    gpt = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=7, n_embd=4, n_layer=1, n_head=1, n_positions=4)
    )
    gpt.save_pretrained(tmp_path)
    with pytest.raises(WeightsError, match="model_type 'gpt2', but BertConfig reads 'bert'"):
        Bert.from_pretrained(tmp_path)
    tiny = BertConfig(vocab_size=7, hidden_size=4, num_layers=1, num_heads=1, intermediate_size=4)
    with pytest.raises(WeightsError, match="is no parameter of this model"):
        load_hugging_face(Bert(tiny), gpt.state_dict())


def test_a_checkpoint_that_does_not_fit_its_configuration_is_refused(tmp_path):
    transformers.BertModel(transformers.BertConfig(**TINY[0][0])).save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())

    def read_with(**changed):
        (tmp_path / "config.json").write_text(json.dumps(settings | changed))
        return Bert.from_pretrained(tmp_path)

    with pytest.raises(
        WeightsError, match=r"has shape \(61, 12\) in the checkpoint but \(62, 12\)"
    ):
        read_with(vocab_size=62)
    with pytest.raises(
        WeightsError, match="the checkpoint lacks 'blocks.1.attention.query.weight' and 15 more"
    ):
        read_with(num_hidden_layers=2)
    with pytest.raises(
        WeightsError, match="sets num_layers to 0: BertConfig expects int, 1 or more"
    ):
        read_with(num_hidden_layers=0)
    with pytest.raises(
        WeightsError, match="position_embedding_type to 'relative_key': only 'absolute' can be read"
    ):
        read_with(position_embedding_type="relative_key")


@pytest.fixture
def small_bert():
    return Bert(
        BertConfig(
            vocab_size=11,
            hidden_size=6,
            num_layers=1,
            num_heads=2,
            intermediate_size=5,
            max_position_embeddings=8,
        )
    ).eval()


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize(
    "ids, mask, says",
    [
        (torch.zeros(1, 9).long(), None, "9 tokens but 8 positions"),
        (torch.full((1, 2), 11), None, "id 11 but a vocabulary of 11"),
        (torch.zeros(1, 2).long(), torch.ones(1, 2), "the mask is torch.float32"),
        (
            torch.zeros(2, 2).long(),
            torch.ones(2).bool(),
            r"the mask has shape \(2,\) but the ids \(2, 2\)",
        ),
        (torch.zeros(3).long(), None, r"ids have shape \(3,\)"),
    ],
)
def test_what_a_model_cannot_take_is_refused_in_words(small_bert, ids, mask, says):
    with pytest.raises(ModelInputError, match=says):
        small_bert(ids, mask=mask)


def test_padding_changes_nothing_and_both_sides_are_seen(small_bert, ragged):
    ids, mask = ragged(11, [4, 8])
    torch.testing.assert_close(
        small_bert(ids, mask=mask).tokens[:1, :4], small_bert(ids[:1, :4]).tokens
    )
    changed = ids.clone()
    changed[1, 7] = (ids[1, 7] + 1) % 11
    assert not torch.equal(small_bert(changed).tokens[1, 0], small_bert(ids).tokens[1, 0])
