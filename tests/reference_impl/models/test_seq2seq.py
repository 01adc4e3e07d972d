"""The encoder-decoder with attention, step by step by torch's own operators, and what must not
matter to it.
"""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.seq2seq import AdditiveAttention, Seq2Seq, Seq2SeqConfig
from reference_impl.objectives.sequence_to_sequence import sequence_to_sequence

TINY = [
    (
        {"source_vocab_size": 11, "target_vocab_size": 7, "embedding_size": 3, "hidden_size": 5},
        [4, 1],
        3,
    ),
    (
        {"source_vocab_size": 9, "target_vocab_size": 23, "embedding_size": 6, "hidden_size": 2},
        [5, 7, 2],
        6,
    ),
    (
        {"source_vocab_size": 13, "target_vocab_size": 13, "embedding_size": 4, "hidden_size": 8},
        [3],
        1,
    ),
]


def made(settings):
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(**settings)).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def torchs_logits(model, source, lengths, target):
    """The paper's equations with torch's LSTM, its cell and plain matrix products, row by row,
    without padding.
    """

    def load(module, cells):
        state = {}
        for cell, end in zip(cells, ("_l0", "_l0_reverse")):
            end = "" if isinstance(module, nn.LSTMCell) else end
            state |= {
                "weight_ih" + end: cell.input.weight,
                "weight_hh" + end: cell.recurrent.weight,
                "bias_ih" + end: cell.input.bias,
                "bias_hh" + end: torch.zeros_like(cell.input.bias),
            }
        module.double().load_state_dict(state)
        return module

    config, attention = model.config, model.attention
    reader = load(
        nn.LSTM(config.embedding_size, config.hidden_size, bidirectional=True, batch_first=True),
        model.encoder.layers[0],
    )
    writer = load(nn.LSTMCell(model.decoder.input.in_features, config.hidden_size), [model.decoder])
    rows = []
    for ids, length, words in zip(source, lengths, target):
        memory, (last, _) = reader(model.source_embedding.weight[ids[:length]])  # (S, 2 H)
        shown = torch.tanh(last[1] @ model.first_state.weight.T + model.first_state.bias)
        state, logits = (shown, torch.zeros_like(shown)), []
        for word in words:
            word = model.target_embedding.weight[word]
            scores = [
                attention.score.weight[0]
                @ torch.tanh(
                    attention.query.weight @ state[0]
                    + attention.key.weight @ vector
                    + attention.key.bias
                )
                for vector in memory
            ]
            seen = torch.stack(scores).softmax(0) @ memory
            state = writer(torch.cat((word, seen)), state)
            mixed = torch.tanh(
                model.mix.weight @ torch.cat((word, seen, state[0])) + model.mix.bias
            )
            logits.append(model.output.weight @ mixed + model.output.bias)
        rows.append(torch.stack(logits))
    return torch.stack(rows)


@pytest.mark.parametrize("settings, lengths, num_targets", TINY)
def test_logits_loss_and_gradients_are_those_of_the_papers_equations(
    ragged, parity, settings, lengths, num_targets
):
    model = made(settings)
    source, mask = ragged(settings["source_vocab_size"], lengths)
    target, _ = ragged(settings["target_vocab_size"], [num_targets] * len(lengths))
    expected = torchs_logits(model, source, lengths, target)
    parity.assert_close(model(source, target, mask), expected)
    labels = target.roll(-1, 1)
    terms = sequence_to_sequence(
        model, {"source": source, "source_mask": mask, "target": target, "labels": labels}
    )
    loss = cross_entropy(expected.flatten(0, 1), labels.flatten())
    parity.assert_close(terms.mean, loss)
    shared = [
        parameter
        for name, parameter in model.named_parameters()
        if not name.startswith(("encoder", "decoder"))
    ]
    for found, wanted in zip(
        torch.autograd.grad(terms.mean, shared), torch.autograd.grad(loss, shared), strict=True
    ):
        parity.assert_close(found, wanted)


def test_attention_by_hand():
    # tanh(ln 2 + 0) = 3/5 and tanh(ln 2 - ln 2) = 0; times 5/3 ln 3 gives scores of ln 3 and 0:
    # weights 3/4, 1/4.
    attention = AdditiveAttention(1, 1, 1)
    with torch.no_grad():
        attention.query.weight.fill_(1)
        attention.score.weight.fill_(float(torch.tensor(3.0).log() * 5 / 3))
    log2 = torch.tensor(2.0).log()
    keys, memory = (
        torch.stack((torch.zeros(1), -log2.view(1)))[None],
        torch.tensor([[[8.0], [4.0]]]),
    )
    seen, weights = attention(log2.view(1, 1), keys, memory)
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25]]))
    torch.testing.assert_close(seen, torch.tensor([[7.0]]))


def test_what_is_written_is_the_likeliest_token_after_each_prefix_and_ends_at_the_end_token(ragged):
    model = made(
        {"source_vocab_size": 9, "target_vocab_size": 23, "embedding_size": 8, "hidden_size": 16}
    )
    for parameter in model.parameters():
        nn.init.normal_(parameter)  # so that it does not say the same all the time
    source, mask = ragged(9, [5, 7, 2])
    free, _ = model.write(source, mask, start_id=1, end_id=22, max_tokens=8)
    end_id = free[0][2]
    written, looks = model.write(source, mask, start_id=1, end_id=end_id, max_tokens=8)
    assert written == [row[: row.index(end_id)] if end_id in row else row for row in free]
    assert len(set(map(len, written))) > 1
    for row, ids, there in zip(written, source, mask):
        prefix = torch.tensor([[1, *row]])
        best = model(ids[None], prefix, there[None]).argmax(-1)[0].tolist()
        assert best == [*row, end_id] if len(row) < 8 else best[:8] == row
    torch.testing.assert_close(looks.sum(-1), torch.ones_like(looks[..., 0]))
    assert looks.masked_select(~mask[:, None]).abs().max() == 0


@pytest.mark.usefixtures("as_students_run_it")
def test_what_cannot_be_read_is_refused():
    model = made(TINY[0][0])
    ids, target = torch.ones(2, 3, dtype=torch.long), torch.ones(2, 2, dtype=torch.long)
    with pytest.raises(ModelInputError, match="a source of 0 tokens"):
        model(ids, target, torch.tensor([[True, True, True], [False, False, False]]))
    with pytest.raises(ModelInputError, match="id 11 but a vocabulary of 11"):
        model(ids * 11, target)
    with pytest.raises(ModelInputError, match="id 7 but a vocabulary of 7"):
        model(ids, target * 7)
    with pytest.raises(ModelInputError, match="the mask is torch.int64"):
        model(ids, target, ids)
