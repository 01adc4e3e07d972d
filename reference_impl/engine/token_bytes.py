"""What one token stands for by itself, as bytes: log-probabilities report it, and
grammars are checked against it.
"""

from reference_impl.tokenizers.byte_level import ByteLevelBPE
from reference_impl.tokenizers.pretokenizers import METASPACE
from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer
from reference_impl.tokenizers.sentencepiece_file import BYTE
from reference_impl.tokenizers.tokenizer import Tokenizer


def token_bytes(tokenizer: Tokenizer, id: int) -> bytes:
    """What a token stands for by itself. It may be a part of a character."""
    model, token = tokenizer.model, tokenizer.vocabulary.token(id)
    if token in tokenizer.added.shown:
        return tokenizer.added.shown[token].encode()
    if isinstance(model, ByteLevelBPE):
        return model.decode_bytes([id])
    if isinstance(model, SentencePieceTokenizer):
        is_byte = model.kinds[id] == BYTE
        return (
            bytes([int(token[3:5], 16)])
            if is_byte
            else token.replace(METASPACE, " ").encode()
        )
    if tokenizer.decoder is not None:
        return tokenizer.decoder.token_bytes(token)
    return model.decode([id]).encode()


def token_text(tokenizer: Tokenizer, id: int) -> str:
    """A token's text; a part of a character is written as bytes, so that no two tokens
    look the same.
    """
    data = token_bytes(tokenizer, id)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
