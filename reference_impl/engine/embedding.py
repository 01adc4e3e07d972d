"""Sentence vectors for /v1/embeddings: a real encoder, mean over tokens, length one.

Reimers and Gurevych 2019, section 3 (mean pooling). MiniLM was trained with it, and to
be compared by cosine.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from reference_impl.models.bert import Bert
from reference_impl.models.bert_tasks import sentence_vectors
from reference_impl.tokenizers.tokenizer import Tokenizer

BATCH = 32


@dataclass(frozen=True)
class Encoder:
    """A BERT, its tokenizer, and the longest text it takes; what is longer is cut."""

    model: Bert
    tokenizer: Tokenizer
    max_length: int = 256

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> tuple[Float[Tensor, "N C"], int]:
        """Unit vectors, and how many tokens were read."""
        rows = [
            self.tokenizer.encode(
                text, max_length=self.max_length, specials_in_text=False
            )
            for text in texts
        ]
        vectors, num_tokens = [], 0
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            lengths = torch.tensor([len(row.ids) for row in part])
            mask = torch.arange(int(lengths.max())) < lengths[:, None]
            ids = torch.zeros(mask.shape, dtype=torch.long)
            ids[mask] = torch.tensor([id for row in part for id in row.ids])
            vectors.append(normalize(sentence_vectors(self.model, ids, mask), dim=-1))
            num_tokens += int(mask.sum())
        return torch.cat(vectors), num_tokens


def embed(
    encoder: Encoder, texts: Sequence[str], encoding_format: str, model: str
) -> dict:
    """The answer in OpenAI's shape; "base64" holds little-endian float32, as OpenAI's
    own client asks for.
    """
    vectors, num_tokens = encoder(texts)
    numbers = [
        (
            base64.b64encode(row.numpy().astype("<f4").tobytes()).decode()
            if encoding_format == "base64"
            else row.tolist()
        )
        for row in vectors
    ]
    return {
        "object": "list",
        "model": model,
        "usage": {"prompt_tokens": num_tokens, "total_tokens": num_tokens},
        "data": [
            {"object": "embedding", "index": i, "embedding": row}
            for i, row in enumerate(numbers)
        ],
    }
