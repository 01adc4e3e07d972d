"""XLNet against transformers, from tiny random configurations with the same weights; what each
stream sees by hand.
"""

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.xlnet import modeling_xlnet  # noqa: E402

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.xlnet import XLNet, XLNetConfig, XLNetLM  # noqa: E402
from reference_impl.objectives.permutation import Permutation, permutation_lm  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

TINY = [  # settings, lengths, predictions a row, tokens of memory
    ({"vocab_size": 61, "d_model": 12, "n_layer": 1, "n_head": 3, "d_inner": 7}, [9, 4, 3], 2, 0),
    (
        {
            "vocab_size": 101,
            "d_model": 20,
            "n_layer": 3,
            "n_head": 1,
            "d_inner": 33,
            "ff_activation": "relu",
            "layer_norm_eps": 0.1,
        },
        [5, 5],
        3,
        4,
    ),
    (
        {"vocab_size": 37, "d_model": 16, "n_layer": 2, "n_head": 8, "d_inner": 64},
        [150, 113],
        29,
        7,
    ),
]
EACH = pytest.mark.parametrize("settings, lengths, num_targets, before", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(modeling_xlnet):
        yield


def pair(parity, ours_class, theirs_class, settings, **more):
    theirs = theirs_class(transformers.XLNetConfig(**settings, **more))
    return parity.make_same(ours_class(config_from(XLNetConfig, theirs.config.to_dict())), theirs)


def an_order(lengths, mask, num_targets):
    """A random order for each row: who was said before whom, and the last ones of it as targets."""
    generator = torch.Generator().manual_seed(1)
    turns = torch.rand(mask.shape, generator=generator).masked_fill(~mask, 2).argsort(1).argsort(1)
    order = turns.argsort(1)
    last = torch.stack(
        [order[row, length - num_targets : length] for row, length in enumerate(lengths)]
    )
    return turns[:, None, :] < turns[:, :, None], torch.nn.functional.one_hot(
        last, mask.shape[1]
    ).bool()


@EACH
def test_two_streams_are_transformers(wide, parity, ragged, settings, lengths, num_targets, before):
    ours, theirs = pair(parity, XLNetLM, transformers.XLNetLMHeadModel, settings)
    ids, mask = ragged(settings["vocab_size"], lengths)
    visible, targets = an_order(lengths, mask, num_targets)
    segments = (torch.arange(ids.shape[1]) % 3).expand(ids.shape)
    labels = torch.einsum("bmt,bt->bm", targets.long(), ids)
    memory = [
        torch.randn(len(ids), before, settings["d_model"], dtype=torch.float64)
        for _ in range(settings["n_layer"])
    ]
    output = theirs(
        ids,
        attention_mask=mask.double(),
        perm_mask=(~visible).double(),
        target_mapping=targets.double(),
        token_type_ids=segments,
        labels=labels,
        mems=[m.transpose(0, 1) for m in memory] if before else None,
    )
    logits = ours(ids, mask, visible, targets, segments, memory if before else None)
    parity.assert_close(logits, output.logits)
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_one_stream_and_its_memory_are_transformers(
    wide, parity, ragged, settings, lengths, num_targets, before
):
    ours, theirs = pair(parity, XLNet, transformers.XLNetModel, settings, mem_len=max(lengths))
    ids, mask = ragged(settings["vocab_size"], lengths)
    output = theirs(ids, attention_mask=mask.double(), use_mems=True)
    vectors, memory = ours(ids, mask)
    parity.assert_close(vectors, output.last_hidden_state)
    for one, other in zip(memory, output.mems, strict=True):
        parity.assert_close(one, other.transpose(0, 1))
    after = ids.flip(0)[:, :3]
    output = theirs(after, mems=output.mems, use_mems=True)
    parity.assert_close(ours(after, memory=memory).vectors, output.last_hidden_state)


@pytest.fixture
def small():
    torch.manual_seed(0)
    model = (
        XLNetLM(
            XLNetConfig(
                vocab_size=31, hidden_size=8, num_layers=2, num_heads=2, intermediate_size=8
            )
        )
        .double()
        .eval()
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def who_sees(model, order, num_tokens):
    """For each token, the places whose prediction, and whose content vector, change with it."""
    turns = torch.tensor(order).argsort()
    ids, visible = (
        torch.arange(1, num_tokens + 1)[None],
        turns[None, None, :] < turns[None, :, None],
    )
    everywhere = torch.eye(num_tokens, dtype=torch.bool)[None]

    def both(ids):
        return model(ids, visible=visible, targets=everywhere), model(ids, visible=visible)

    predicted, contents, (first_g, first_h) = [], [], both(ids)
    for place in range(num_tokens):
        changed = ids.clone()
        changed[0, place] = 30
        g, h = both(changed)
        predicted.append((g != first_g).any(-1)[0].nonzero().flatten().tolist())
        contents.append((h != first_h).any(-1)[0].nonzero().flatten().tolist())
    return predicted, contents


def test_the_query_stream_sees_what_was_said_before_and_never_its_own_token(small):
    # Figure 4 of Yang et al. 2019: the order 3, 2, 4, 1 of four tokens, counted from one.
    predicted, contents = who_sees(small, [2, 1, 3, 0], 4)
    assert predicted == [[], [0, 3], [0, 1, 3], [0]]
    assert contents == [[0], [0, 1, 3], [0, 1, 2, 3], [0, 3]]


def test_the_first_of_an_order_knows_its_place_only(small):
    one, other = (
        small(
            torch.tensor([row]),
            visible=torch.zeros(1, 3, 3, dtype=torch.bool),
            targets=torch.eye(3, dtype=torch.bool)[None],
        )
        for row in ([1, 2, 3], [7, 8, 9])
    )
    assert torch.equal(one, other) and torch.equal(one[0, 0], one[0, 2])


def test_the_objective_trains_this_model(wide, parity, small):
    rows = [[1, 5, 6, 7, 8, 9, 10, 2], [1, 11, 12, 2]]
    batch = Permutation(special_ids={1, 2}, predicted=0.5)(rows, torch.Generator().manual_seed(0))
    theirs = transformers.XLNetLMHeadModel(
        transformers.XLNetConfig(vocab_size=31, d_model=8, n_layer=2, n_head=2, d_inner=8)
    )
    theirs.double().eval().load_state_dict(
        small.names.to_theirs(dict(small.named_parameters(remove_duplicate=False)))
    )
    expected = theirs(
        batch["ids"],
        attention_mask=batch["mask"].double(),
        perm_mask=(~batch["visible"]).double(),
        target_mapping=batch["targets"].double(),
        labels=batch["labels"],
    ).loss
    terms = permutation_lm(small, batch)
    parity.assert_close(terms.total / terms.count, expected)


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**TINY[0][0])).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask = ragged(61, [9, 4])
    torch.testing.assert_close(
        XLNetLM.from_pretrained(tmp_path)(ids, mask),
        theirs(ids, attention_mask=mask.float()).logits,
    )
    torch.testing.assert_close(
        XLNet.from_pretrained(tmp_path)(ids, mask).vectors,
        theirs.transformer(ids, attention_mask=mask.float()).last_hidden_state,
    )


def test_settings_that_are_not_built_are_refused():
    with pytest.raises(WeightsError, match="attn_type to 'uni': only 'bi' can be read"):
        config_from(XLNetConfig, {"model_type": "xlnet", "attn_type": "uni"})


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize(
    "given, says",
    [
        ({"visible": torch.ones(1, 2, 2)}, "the mask is torch.float32"),
        (
            {"visible": torch.ones(1, 1, 2).bool()},
            r"the mask has shape \(1, 1, 2\) but the ids \(1, 2, 2\)",
        ),
        (
            {"targets": torch.ones(1, 1, 3).bool()},
            r"the mask has shape \(1, 1, 3\) but the ids \(1, 1, 2\)",
        ),
        (
            {"segments": torch.zeros(1, 3).long()},
            r"segments have shape \(1, 3\) but the ids \(1, 2\)",
        ),
    ],
)
def test_what_a_model_cannot_take_is_refused_in_words(small, given, says):
    with pytest.raises(ModelInputError, match=says):
        small(torch.tensor([[3, 4]]), **given)
