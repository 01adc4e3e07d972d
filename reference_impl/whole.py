"""The whole course in one file: from a text to a language model that answers over HTTP.

`python -m reference_impl.whole` learns from the King James Bible for two minutes on one
core, then serves http://127.0.0.1:8000/v1/completions. Each part equals its fast
counterpart by test. But: no chat, no prefix caching, no chunked prefill, no kernels.
"""

import json
import math
from collections import Counter, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from queue import Queue
from random import Random
from threading import Event, Thread

import regex
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention, silu

from reference_impl import corpora

# Tokenizer: byte-level BPE (Sennrich et al. 2016; Radford et al. 2019) -- chapter 2
WORDS = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}  # GPT-2's first ids
BYTES = [bytes([b]) for b in sorted(range(256), key=lambda b: (b not in PRINTABLE, b))]


def merge(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Replace every occurrence of the pair, from the left, by the new id."""
    merged: list[int] = []
    for id in ids:
        if merged and (merged[-1], id) == pair:
            merged[-1] = new
        else:
            merged.append(id)
    return merged


class Tokenizer:
    """Learned from a text. The first 256 ids are bytes; each merge adds one."""

    def __init__(self, text: str, vocab_size: int):
        self.ids = {byte: id for id, byte in enumerate(BYTES)}
        self.merges: dict[tuple[int, int], tuple[int, int]] = {}  # pair to rank and id
        words = Counter(WORDS.findall(text))
        ids = {word: [self.ids[bytes([b])] for b in word.encode()] for word in words}
        self.tokens, counts = list(self.ids), Counter()
        for word, count in words.items():
            for pair in pairwise(ids[word]):
                counts[pair] += count
        while len(self.ids) < vocab_size:
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            joined = self.tokens[best[0]] + self.tokens[best[1]]
            new = self.ids.setdefault(joined, len(self.ids))
            self.merges[best] = len(self.merges), new
            self.tokens = list(self.ids)
            for word in (word for word in words if best[0] in ids[word]):
                for pair in pairwise(ids[word]):
                    counts[pair] -= words[word]
                ids[word] = merge(ids[word], best, new)
                for pair in pairwise(ids[word]):
                    counts[pair] += words[word]

    def encode(self, text: str) -> list[int]:
        """The ids: in each word, make the merges in the order they were learned."""
        words = WORDS.findall(text)
        ids = {word: [self.ids[bytes([b])] for b in word.encode()] for word in {*words}}
        for word in ids:
            while pairs := [p for p in pairwise(ids[word]) if p in self.merges]:
                first = min(pairs, key=self.merges.get)
                ids[word] = merge(ids[word], first, self.merges[first][1])
        return [id for word in words for id in ids[word]]


# The model: a LLaMA (Touvron et al. 2023) of 0.86 million parameters -- chapters 4, 12
@dataclass
class Config:
    vocab_size: int = 1024
    hidden_size: int = 128
    intermediate_size: int = 344
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 32
    max_position_embeddings: int = 512


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """RoPE: rotate each pair of dimensions by the position times its frequency."""
    frequencies = 10_000.0 ** -(torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[:, None] * frequencies  # (T, D/2)
    a, b = x.chunk(2, -1)  # (B, H, T, D/2)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


def causal(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention in training: every token sees itself and those before."""
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class Block(nn.Module):
    """Grouped-query attention, then SwiGLU, each normed before and added after."""

    def __init__(self, config: Config):
        super().__init__()
        C, M, self.D = config.hidden_size, config.intermediate_size, config.head_dim
        KV = config.num_kv_heads * self.D
        self.attention_norm = nn.RMSNorm(C, 1e-6)
        self.query, self.output = nn.Linear(C, C, False), nn.Linear(C, C, False)
        self.key, self.value = nn.Linear(C, KV, False), nn.Linear(C, KV, False)
        self.feed_forward_norm = nn.RMSNorm(C, 1e-6)
        self.gate, self.up = nn.Linear(C, M, False), nn.Linear(C, M, False)
        self.down = nn.Linear(M, C, False)

    def forward(self, x: Tensor, positions: Tensor, layer: int, attend) -> Tensor:
        normed = self.attention_norm(x)  # (B, T, C)
        q, k, v = (
            linear(normed).unflatten(-1, (-1, self.D)).transpose(1, 2)  # (B, H, T, D)
            for linear in (self.query, self.key, self.value)
        )
        y = attend(layer, rotate(q, positions), rotate(k, positions), v)
        x = x + self.output(y.transpose(1, 2).flatten(2))
        normed = self.feed_forward_norm(x)
        return x + self.down(silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """The language model; its output layer is the embedding."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.hidden_size, 1e-6)
        for matrix in (weight for weight in self.parameters() if weight.ndim == 2):
            nn.init.normal_(matrix, std=0.02)

    def forward(self, ids: Tensor, positions: Tensor, attend=causal) -> Tensor:
        x = self.embedding(ids)  # (B, T, C)
        for layer, block in enumerate(self.blocks):
            x = block(x, positions, layer, attend)
        return self.norm(x) @ self.embedding.weight.T  # (B, T, V)


def train(model: Llama, ids: Tensor, steps=600, B=16, T=128) -> None:
    """Learn to predict the next token, from B random chunks a step -- chapter 8."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95))
    for step in range(steps):
        cosine = (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = 5e-3 * min(1, (step + 1) / 50) * cosine
        starts = torch.randint(len(ids) - T, (B, 1))
        chunks = ids[starts + torch.arange(T + 1)]  # (B, T + 1)
        logits = model(chunks[:, :-1], torch.arange(T))  # (B, T, V)
        loss = cross_entropy(logits.flatten(0, 1), chunks[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)


def sample(logits: Tensor, temperature: float, top_p: float, draw: float) -> int:
    """The token of the nucleus that a draw from [0, 1) falls on -- chapter 9."""
    probabilities = (logits / max(temperature, 1e-9)).softmax(-1)  # (V,); 0 is greedy
    ascending, order = probabilities.sort()
    dropped = ascending.cumsum(0)[:-1] <= 1 - top_p  # the likeliest always stays
    probabilities[order[:-1][dropped]] = 0
    cumulated = probabilities.double().cumsum(0)
    return int(torch.searchsorted(cumulated, draw * cumulated[-1:], right=True))


# Serving: paged attention (Kwon et al. 2023) and continuous batching (Yu et al. 2022)
@dataclass(eq=False)
class Request:
    ids: list[int]  # the prompt, and what was generated after it
    end: int  # the number of tokens at which it is finished
    temperature: float = 0.0
    top_p: float = 1.0
    random: Random = field(default_factory=Random)
    block_table: list[int] = field(default_factory=list)
    num_computed: int = 0  # tokens whose keys and values are cached
    generated: Queue = field(default_factory=Queue)  # ids; None is the end


class Engine:
    """Each step computes what is new in each running request: a prompt or one token."""

    def __init__(self, model: Llama, num_blocks=512, block_size=16, max_num_seqs=16):
        c, self.model, self.max_num_seqs = model.config, model.eval(), max_num_seqs
        shape = (c.num_layers, 2, num_blocks, block_size, c.num_kv_heads, c.head_dim)
        self.pool, self.block_size = torch.zeros(shape), block_size
        self.free, self.waiting, self.running = deque(range(num_blocks)), deque(), []

    def grow(self, request: Request) -> bool:
        """Take the blocks that the next step fills; False if too few are free."""
        needed = -(-len(request.ids) // self.block_size) - len(request.block_table)
        if fits := needed <= len(self.free):
            request.block_table += [self.free.popleft() for _ in range(needed)]
        return fits

    def release(self, request: Request) -> None:
        """Take a request out of the batch and give its blocks back."""
        self.running.remove(request)
        self.free.extend(request.block_table)
        request.block_table, request.num_computed = [], 0

    def schedule(self) -> None:
        """Running requests grow, preempting the newest if they must; others enter."""
        for request in tuple(self.running):
            while request in self.running and not self.grow(request):
                self.waiting.appendleft(self.running[-1])
                self.release(self.running[-1])
        most = self.max_num_seqs
        while self.waiting and len(self.running) < most and self.grow(self.waiting[0]):
            self.running.append(self.waiting.popleft())

    def attend(self, layer: int, *qkv: Tensor) -> Tensor:
        """Cache the new keys and values; each query sees its own request's so far."""
        outputs, new = [], [len(r.ids) - r.num_computed for r in self.running]
        for request, q, k, v in zip(self.running, *(x[0].split(new, 1) for x in qkv)):
            S, table = len(request.ids), torch.tensor(request.block_table)
            slots = torch.arange(request.num_computed, S)  # of the T new tokens
            block, offset = table[slots // self.block_size], slots % self.block_size
            new_kv = torch.stack((k, v)).transpose(1, 2)  # (2, T, K, D)
            self.pool[layer][:, block, offset] = new_kv
            own = self.pool[layer][:, table].flatten(1, 2)[:, :S]  # (2, S, K, D)
            kv, mask = own.transpose(1, 2), torch.arange(S) <= slots[:, None]  # (T, S)
            outputs.append(scaled_dot_product_attention(q, *kv, mask, enable_gqa=True))
        return torch.cat(outputs, 1)[None]  # (1, H, T of all requests, D)

    @torch.no_grad()
    def step(self) -> None:
        """One forward pass for all running requests; each gets its next token."""
        self.schedule()
        new = [torch.arange(r.num_computed, len(r.ids)) for r in self.running]
        ids = [id for r in self.running for id in r.ids[r.num_computed :]]
        logits = self.model(torch.tensor([ids]), torch.cat(new), self.attend)[0]
        ends = torch.tensor([len(each) for each in new]).cumsum(0) - 1
        for r, row in zip(tuple(self.running), logits[ends]):
            r.num_computed = len(r.ids)
            r.ids.append(sample(row, r.temperature, r.top_p, r.random.random()))
            r.generated.put(r.ids[-1])
            if len(r.ids) == r.end:
                self.release(r)
                r.generated.put(None)


# The server: OpenAI's POST /v1/completions, whole or streamed -- chapter 15
class Handler(BaseHTTPRequestHandler):
    error_message_format = '{"error": {"message": "%(message)s"}}'

    def do_POST(self) -> None:
        """Queue what is asked for and send the answer, or say what is wrong."""
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            ids, n = self.tokenizer.encode(body["prompt"]), body.get("max_tokens", 16)
            if not 0 < len(ids) < len(ids) + n <= Config.max_position_embeddings:
                raise ValueError("the prompt is empty, or too long with max_tokens")
            knobs = float(body.get("temperature", 1)), float(body.get("top_p", 1))
            request = Request(ids, len(ids) + n, *knobs, Random(body.get("seed")))
        except (KeyError, TypeError, ValueError) as error:
            return self.send_error(400, repr(error))
        self.engine.waiting.append(request)
        self.arrived.set()
        stream = body.get("stream")
        self.send_response(200)
        kind = "text/event-stream" if stream else "application/json"
        self.send_header("Content-Type", kind)
        self.end_headers()
        tokens = (self.tokenizer.tokens[id] for id in iter(request.generated.get, None))
        for text in tokens if stream else [b"".join(tokens)]:
            choice = {"index": 0, "text": text.decode("utf-8", "replace")}
            answer = json.dumps({"object": "text_completion", "choices": [choice]})
            self.wfile.write((f"data: {answer}\n\n" if stream else answer).encode())


def serve(engine: Engine, tokenizer: Tokenizer, port: int = 8000) -> None:
    """Answer on this port: the engine runs here, each connection in its thread."""
    Handler.engine, Handler.tokenizer, Handler.arrived = engine, tokenizer, Event()
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    while Handler.arrived.wait():
        Handler.arrived.clear()
        while engine.waiting or engine.running:
            engine.step()


if __name__ == "__main__":
    text, model = corpora.load("kjv"), Llama(Config())
    tokenizer = Tokenizer(text, Config.vocab_size)
    train(model, torch.tensor(tokenizer.encode(text)))
    serve(Engine(model), tokenizer)
