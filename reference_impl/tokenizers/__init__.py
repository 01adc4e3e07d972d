"""From text to ids and back: everything between a string and the first embedding.

In the order in which a text meets them:

    normalizers      make texts that should look alike be alike
    pretokenizers    cut the text into words
    bpe, byte_level, wordpiece, unigram    cut words into tokens; `*_training` learn how
    encoding         pairs, special tokens, truncation, padding
    tokenizer        all of that in one object, with offsets
    chat             from messages to one text, by a model's own template
    files            the files in which published models keep it; `tokenizer_json`,
                     `sentencepiece_file`, `gguf_tokenizer`
    streaming        texts that come in chunks; `surrogates`: texts that are none
    byte_models      models that see bytes or code points, and need none of it

What only files of others need stands in modules of its own: `strict` (nothing in a file
goes unread), `json_steps`, `file_models`, `added_tokens`, `text_normalizers`,
`word_cuts`, `decoders`, `oniguruma`. This package imports no torch.
"""

from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary

__all__ = ["Piece", "TokenizerError", "Vocabulary"]
