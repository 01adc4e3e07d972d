"""Five thousand texts of all kinds, drawn from a seed, for comparing tokenizers with the
libraries.
"""

import random
import unicodedata

CHANGED = {*"\u166d\u1734\u1885\u1886\u180e\u2eda", *map(chr, range(0x1D100, 0x1D200))}
"""Characters whose class is another one since the libraries' tables were made. And musical signs:
their marks are sorted before accents are dropped, and BERT's normaliser here drops them one by one,
so that places may differ by one."""
PHRASES = [
    "The bank lends money to the river people",
    "Crème brûlée à la carte, naïve Ångström",
    "ΣΟΦΟΣ Ελληνικά ἀρχή",
    "русский язык и ёлка",
    "עברית שָׁלוֹם",
    "العربية مُحَمَّد",
    "हिन्दी में पाठ क्षत्रिय",
    "ภาษาไทยที่นี่",
    "한국어 텍스트 각",
    "日本語のテキスト、中文字符。ガギグ",
    "ﬁne ﬂow № ™ ① ﷺ ｆｕｌｌ ㎏",
    "12,345.67 1234567 ½ ² Ⅷ ٣٤",
    "don't I'VE they'll 'tis we're",
    "def f(x):\n\treturn {'a': x**2}  # note\n\n\n",
    "https://example.org/a_b?c=d&e=%20#f",
    "``quoted'' text -- and ...",
    "\U0001f389\U0001f469\u200d\U0001f680\U0001f3f3\ufe0f\u200d\U0001f308\u2764\ufe0f",
    "İstanbul ß ſ K ǅ",
    "e\u0301e\u0308\u0323 a\u0316\u0301 \u1e9b\u0323 \u1100\u1161\u11a8 q\u0307\u0323",
    "\u2581lower\u2581one\u2581eighth \u0120gap",
    "camelCaseAndHTTPServer x-y_z",
    "[CLS] [SEP] [MASK] <s> </s> <unk> <pad> <mask> <|endoftext|> <0x0A>",
]
SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\u00a0",
    "\u3000",
    "\u2009",
    "\u200b",
    "\u2028",
    "\x0b",
    "\x85",
]
CONTROLS = [
    "\x00",
    "\x01",
    "\x1f",
    "\x7f",
    "\x80",
    "\x9f",
    "\ufeff",
    "\u00ad",
    "\u200d",
    "\u202e",
    "\ufffd",
    "\ufffe",
    "\ue000",
]
SURROGATES = ["\ud800", "\udfff", "\ud83d\ude00", "\ude00\ud83d", "a\ud83d\ude00b"]


def texts_of_all_kinds(
    number: int, specials: tuple[str, ...] = (), seed: int = 2026, surrogates: bool = True
) -> list[str]:
    """Phrases in their normal forms, mixed with noise from all scripts, spaces, controls and
    special tokens.
    """
    rng = random.Random(seed)
    old = [
        c
        for c in map(chr, range(0x30000))
        if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs", "Co") and c not in CHANGED
    ]
    alphabets = [
        old[:0x60],
        old[:0x80],
        old[:0x180],
        old[:0x1000],
        old,
        [c for c in old if unicodedata.combining(c)],
        list(specials) or [" "],
        SPACES,
        CONTROLS,
        SURROGATES if surrogates else ["\ufffd"],
    ]
    weights = [8, 3, 3, 3, 3, 2, 2, 3, 1, 0.3]

    def piece() -> str:
        kind = rng.random()
        if kind < 0.45:
            words = rng.choice(PHRASES).split(" ")
            start = rng.randrange(len(words))
            text = " ".join(words[start : start + rng.randint(1, 5)])
            form = rng.choice([None, None, "NFC", "NFD", "NFKC", "NFKD"])
            return unicodedata.normalize(form, text) if form else text
        if kind < 0.55:
            return rng.choice(PHRASES).upper()
        if kind < 0.65 and specials:
            return (
                rng.choice(["", " ", "  ", "a"])
                + rng.choice(specials)
                + rng.choice(["", " ", "\n", "b"])
            )
        return "".join(
            rng.choice(rng.choices(alphabets, weights)[0]) for _ in range(rng.randint(1, 12))
        )

    drawn = [
        "".join(
            piece() + rng.choice(["", " ", rng.choice(SPACES)])
            for _ in range(rng.choice([0, 1, 1, 2, 3, 5]))
        )
        for _ in range(number)
    ]
    return [rng.choice(["", "", " ", "  "]) + text for text in drawn]
