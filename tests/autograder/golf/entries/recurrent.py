"""A GRU in torch. Its state starts again every CONTEXT bytes, so it never sees further back."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

CONTEXT, WIDTH, STEPS = 24, 64, 60


class Model(nn.Module):
    """Embedding, one recurrent layer, logits; byte 10 starts a text."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, WIDTH)
        self.layer = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.logits = nn.Linear(WIDTH, 256)

    def forward(self, x, state=None):
        """Logits (B, T, 256) and the state."""
        y, state = self.layer(self.embedding(x), state)
        return self.logits(y), state


def train(text, seed):
    """The weights in float32."""
    torch.manual_seed(seed)
    model, ids = Model(), torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        starts = torch.randint(len(ids) - CONTEXT - 1, (16, 1))
        chunk = ids[starts + torch.arange(CONTEXT + 1)]
        loss = cross_entropy(model(chunk[:, :-1])[0].flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat([one.detach().flatten() for one in model.parameters()]).numpy().tobytes()


class Predictor:
    """Keeps the state of every passage."""

    def __init__(self, artefact, passages):
        self.model, self.passages, self.position = Model(), passages, 0
        weights = torch.frombuffer(bytearray(artefact), dtype=torch.float32)
        nn.utils.vector_to_parameters(weights, self.model.parameters())

    @torch.no_grad()
    def next(self, observed):
        """One step of the layer, or a new start."""
        if self.position % CONTEXT == 0:
            self.state = None
            observed = torch.full((self.passages,), 10) if observed is None else observed
        self.position += 1
        logits, self.state = self.model(observed[:, None], self.state)
        return logits[:, 0].softmax(-1)
