"""Texts that tokenizers get wrong, and running text of a kind that every machine has."""

import argparse
import inspect

import pytest

AWKWARD = [
    "",
    " ",
    "   ",
    "\n",
    "\t\r\n \u00a0\u3000",
    "\x00",
    "\x01\x7f\x80\ufeff\u200b\u00ad\ufffd",
    "a\x00b\x1fc",
    "Hello world",
    "  two  spaces  ",
    "It's they'll I'VE 'tis don't",
    "x" * 150,
    "ab" * 300,
    "Crème brûlée à la carte, naïve Ångström İstanbul ß ſ ﬁ",
    "a\u0301e\u0308 n\u0303 \u1e9b\u0323",
    "Ελληνικά ΣΟΦΟΣ",
    "русский язык",
    "עברית العربية",
    "हिन्दी में पाठ",
    "ภาษาไทย",
    "한국어 텍스트",
    "日本語のテキスト、中文字符。",
    "\U0001f389\U0001f469\u200d\U0001f680 \U0001f3f3\ufe0f\u200d\U0001f308 \u2764\ufe0f",
    "½ ² Ⅷ ٣ 12,345.67e-8 3.14",
    "def f(x):\n\treturn {'a': x**2}  # \u03bb\n\n\n",
    "https://example.org/a_b?c=d&e=%20#f",
    "$+<=>^`|~ \u00a9 \u2026 \u2018\u201d",
    "[CLS] [SEP] [MASK] <s> </s> <unk> <|endoftext|> <0x0A>",
    "\u2581lower\u2581one\u2581eighth",
    "##ing ##",
    "\U00020000\U0002f800 \ue000\U000f0000 \U0001d400\U0001d7d8",
    "\u2028\u2029\x85\x0b\x0c",
]


@pytest.fixture(scope="session")
def awkward() -> list[str]:
    return AWKWARD


@pytest.fixture(scope="session")
def code() -> str:
    """100 kB of Python, the same for every library that is compared."""
    return inspect.getsource(argparse)
