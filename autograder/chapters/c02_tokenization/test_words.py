"""Checks of chapter 2, words and bytes: BERT's words, and from GPT-2's tokens back to text."""

import unicodedata
from functools import cache

from autograder.chapters.c02_tokenization.asking import (
    EACH,
    TOKENIZERS,
    ask_pieces,
    shuffled,
    word_of,
)
from autograder.checks.assertions.values import told_apart
from autograder.checks.inputs.draws import look_alikes, whole
from autograder.checks.protocol import exercise, expect

bert_words = exercise(
    "02.bert_words",
    function="bert_words",
    points=5,
    see="02-tokenization/tokens#normalization",
    withhold=TOKENIZERS,
)


def ask_words(student, text: str, right: list[str], cause: str) -> None:
    """Ask for the words of a text."""
    ask_pieces(student.bert_words(text), right, cause=cause, given=f"the text {ascii(text)}")


@cache
def old_characters() -> dict[str, list[str]]:
    """By category the characters that Unicode 3.2 had in it and today's has: every Python says the
    same of them.
    """
    found: dict[str, list[str]] = {}
    for one in map(chr, [*range(0x20000), *range(0xE0000, 0xE0200)]):
        if (category := unicodedata.category(one)) == unicodedata.ucd_3_2_0.category(one):
            found.setdefault(category, []).append(one)
    return found


def known(*categories: str) -> list[str]:
    """The characters of some categories, of all that Unicode has had for long."""
    return [one for category in categories for one in old_characters()[category]]


@bert_words.stage("spaces", points=1)
def test_words_are_cut_at_every_kind_of_space(student, rng):
    rule = "Split at white space. Several spaces, and spaces at the ends, give no empty words."
    ask_words(student, "we sat on the bank", ["we", "sat", "on", "the", "bank"], rule)
    ask_words(student, "  the  bank   lends ", ["the", "bank", "lends"], rule)
    ask_words(student, "bank", ["bank"], "A text of one word is that word.")
    ask_words(student, "the bank " * 40, ["the", "bank"] * 40, rule)
    ask_words(student, "bank" * 50, ["bank" * 50], f"{rule} A word may be as long as the text.")
    for text in ("", " ", " \n  "):
        ask_words(student, text, [], "A text without words gives an empty list.")
    kinds = (
        "A tab, a line end, and every other isspace() character separate words, as a space does."
    )
    ask_words(student, "the\tbank\nlends\r\nmoney", ["the", "bank", "lends", "money"], kinds)
    ask_words(
        student,
        "the\u00a0bank\u3000lends\u2003money\u2028here",
        ["the", "bank", "lends", "money", "here"],
        kinds,
    )
    ask_words(student, "a\rb", ["a", "b"], kinds)
    for space in known("Zs", "Zl", "Zp"):
        ask_words(student, f"a{space}b", ["a", "b"], kinds)
    for _ in range(2):
        words = [word_of(rng, "abcdefgh", 1, 6) for _ in range(whole(rng, 2, 6))]
        ask_words(student, "  ".join(words) + "\t", words, rule)


@bert_words.stage("signs", points=1)
def test_each_sign_is_a_word_of_its_own(student, rng):
    rule = (
        "Every punctuation sign is a word of its own, also between letters and next to other signs."
    )
    ask_words(
        student,
        "the bank, it's muddy...",
        ["the", "bank", ",", "it", "'", "s", "muddy", ".", ".", "."],
        rule,
    )
    ask_words(
        student, "e-mail me@bank.org!", ["e", "-", "mail", "me", "@", "bank", ".", "org", "!"], rule
    )
    ask_words(
        student,
        "3.5 1,000 10:30 a_b 's",
        ["3", ".", "5", "1", ",", "000", "10", ":", "30", "a", "_", "b", "'", "s"],
        f"{rule} A sign between two digits is one too.",
    )
    ascii_signs = (
        "All 32 signs of string.punctuation are cut off, those too whose category does not begin"
        " with P."
    )
    ask_words(student, "5$+3~2", ["5", "$", "+", "3", "~", "2"], ascii_signs)
    ask_words(
        student,
        "a<b>=c|d^e`f",
        ["a", "<", "b", ">", "=", "c", "|", "d", "^", "e", "`", "f"],
        ascii_signs,
    )
    order = shuffled(rng, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    ask_words(
        student, "x".join(order), [part for sign in order for part in (sign, "x")][:-1], ascii_signs
    )
    others = (
        "A character of every category that begins with P is punctuation; string.punctuation has"
        " only those of ASCII."
    )
    ask_words(
        student,
        "the\u2014bank\u2039\u00bfwhy\u201d",
        ["the", "\u2014", "bank", "\u2039", "\u00bf", "why", "\u201d"],
        others,
    )
    ask_words(student, "bank\u060cx\u3002", ["bank", "\u060c", "x", "\u3002"], others)
    signs = [
        one
        for one in known("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po")
        if unicodedata.normalize("NFKD", one) == one
    ]
    ask_words(
        student, "x".join(signs), [part for sign in signs for part in (sign, "x")][:-1], others
    )
    ask_words(
        student,
        "5\u20ac 3\u00a9b 2\u00b0 \u2192x",
        ["5\u20ac", "3\u00a9b", "2\u00b0", "\u2192x"],
        "Symbols outside ASCII, such as the euro, are no punctuation and stay in their word.",
    )
    came = expect(student.bert_words(text := "the [MASK] [CLS]bank [SEP]")).is_a(list)
    ask_pieces(
        [part.lower() if type(part) is str else part for part in came],
        "the [ mask ] [ cls ] bank [ sep ]".split(),
        cause=f"{rule} The name of a special token is text like any other.",
        given=f"the text {text!r}, capitals not looked at",
    )
    ask_words(
        student,
        "a\u2e80b \u31c0x \u2e81 \u4dc0x\u4dff",
        ["a\u2e80b", "\u31c0x", "\u2e81", "\u4dc0x\u4dff"],
        "Radicals and strokes are symbols and in none of CJK_BLOCKS, whatever their name says: they"
        " stay in their word.",
    )


@bert_words.stage("accents", points=1)
def test_marks_are_dropped_and_nothing_else(student, rng):
    rule = "Decompose with NFD and remove what has category Mn."
    ask_words(student, "la c\u00f4te de la cote\u0301", ["la", "cote", "de", "la", "cote"], rule)
    ask_words(
        student,
        "na\u00efve \u0439\u043e\u0433 ti\u1ebfng",
        ["naive", "\u0438\u043e\u0433", "tieng"],
        rule,
    )
    ask_words(
        student,
        "\u0301 a\u0323\u0307b \u0301",
        ["ab"],
        "A mark by itself leaves nothing: no word is empty.",
    )
    only = (
        "Only marks are dropped and only NFD takes apart: raised and circled digits and letters"
        " such as \u00f8 stay as they are."
    )
    ask_words(
        student,
        "\u2460sh x\u00b2 \u00f8re \u0142 \u00e6",
        ["\u2460sh", "x\u00b2", "\u00f8re", "\u0142", "\u00e6"],
        only,
    )
    ask_words(
        student,
        "\ud55c",
        ["\u1112\u1161\u11ab"],
        "What NFD decomposed stays decomposed: a Korean syllable stays in its letters.",
    )
    ask_words(
        student,
        "\u0928\u0940 \u0c15",
        ["\u0928\u0940", "\u0c15"],
        "Spacing marks (category Mc) stay: only Mn is removed.",
    )
    ask_words(
        student,
        "1\u20e3 a\u20ddb",
        ["1\u20e3", "a\u20ddb"],
        "Enclosing marks (category Me) stay: only Mn is removed.",
    )
    ask_words(
        student,
        "\u0e01\u0e34\u0e19",
        ["\u0e01\u0e19"],
        "Ask for the category, Mn: combining() is 0 for some marks, such as Thai vowel signs.",
    )
    marks = [
        mark for mark in known("Mn") if not "\u3040" <= mark <= "\u30ff"
    ]  # kana have a question of their own
    ask_words(student, "a".join(marks), ["a" * (len(marks) - 1)], rule)
    ask_words(
        student,
        "a\u2260b \u2260",
        ["a", "=", "b", "="],
        "A sign is classified after step 3: without its stroke it is an =.",
    )
    ask_words(
        student,
        "a\u226eb c\u1fefd",
        ["a", "<", "b", "c", "`", "d"],
        "A sign is classified after step 3: NFD makes < and ` here.",
    )
    letters = shuffled(rng, "\u00e1\u00e8\u00ee\u00f5\u00fc\u00e7\u00f1")
    plain = dict(zip("\u00e1\u00e8\u00ee\u00f5\u00fc\u00e7\u00f1", "aeioucn"))
    ask_words(student, letters, ["".join(plain[letter] for letter in letters)], rule)


# Of each block the first character, and the last that Unicode 8 had.
CHINESE = [
    (0x4E00, 0x9FD5),
    (0x3400, 0x4DB5),
    (0x20000, 0x2A6D6),
    (0x2A700, 0x2B734),
    (0x2B740, 0x2B81D),
    (0x2B820, 0x2CEA1),
    (0xF900, 0xFAD9),
    (0x2F800, 0x2FA1D),
]


@bert_words.stage("chinese", points=0.5)
def test_each_chinese_character_is_a_word(student, rng):
    rule = (
        "A character of CJK_BLOCKS is a word of its own, also next to letters; both "
        "ends of a block belong to it."
    )
    ask_words(student, "\u9280\u884cbank\u6cb3", ["\u9280", "\u884c", "bank", "\u6cb3"], rule)
    ask_words(
        student,
        "a\u4e00b\u9fd5c\u3400d\U00020000e\uf900f\U0002f800",
        list("a\u4e00b\u9fd5c\u3400d\U00020000e\u8c48f\u4e3d"),
        rule,
    )
    ask_words(
        student,
        "\u304e\u3093\u3053\u3046 \u30ab\u30bf\u6cb3\u3042",
        ["\u304d\u3093\u3053\u3046", "\u30ab\u30bf", "\u6cb3", "\u3042"],
        "Kana get no spaces: they are in none of the blocks.",
    )
    ask_words(
        student,
        "\u3131x\u3131",
        ["\u3131x\u3131"],
        "Hangul gets no spaces: it is in none of the blocks.",
    )
    ask_words(
        student,
        "\ud55c\uad6d",
        ["\u1112\u1161\u11ab\u1100\u116e\u11a8"],
        "Hangul gets no spaces: it is in none of the blocks.",
    )
    outside = "a\u3005b\u3007c\u3021\u31f0\uff76x\ua000"
    ask_words(
        student,
        outside,
        [outside],
        "Only the blocks decide: the sign of repetition, the round zero and other neighbours of"
        " theirs are in none.",
    )
    for first, last in CHINESE:
        inside = [
            one
            for one in map(chr, (first, *(whole(rng, first, last) for _ in range(2)), last))
            if unicodedata.category(one) == "Lo"
        ]
        ask_words(
            student,
            "x".join(inside),
            [unicodedata.normalize("NFD", part) for one in inside for part in (one, "x")][:-1],
            rule,
        )


@bert_words.stage("invisible", points=0.5)
def test_what_cannot_be_seen_is_dropped_and_leaves_no_gap(student):
    rule = "Characters of the categories Cc and Cf, and U+FFFD, are removed without a replacement."
    ask_words(student, "un\u00adbank zero\u200bwidth", ["unbank", "zerowidth"], rule)
    ask_words(student, "ba\x00nk \x07 \ufeffriver\u200d \ufffd", ["bank", "river"], rule)
    ask_words(
        student,
        "ri\ufffdver \x0bx\x0cy\x1fz\x85",
        ["river", "xyz"],
        f"{rule} Some controls are spaces to isspace(): ask for the category first.",
    )
    ask_words(student, "\u200e\u2060", [], rule)
    ask_words(student, "a\x07 b", ["a", "b"], f"{rule} A text of ASCII holds them too.")
    hidden = [one for one in [*known("Cc", "Cf"), "\u2066"] if one not in "\t\n\r"]
    ask_words(student, "x".join(hidden), ["x" * (len(hidden) - 1)], rule)


@bert_words.stage("case", points=1)
def test_letters_become_small(student, rng):
    ask_words(student, "The BANK Lends", ["the", "bank", "lends"], "Lower-case the text.")
    ask_words(
        student,
        "C\u00d4TE \u0411\u0410\u041d\u041a \u00d8RE",
        ["cote", "\u0431\u0430\u043d\u043a", "\u00f8re"],
        "Letters of every script are lower-cased.",
    )
    ask_words(
        student,
        "Stra\u00dfe \u0130\u00d1I",
        ["stra\u00dfe", "ini"],
        "lower() makes letters small and leaves \u00df alone; casefold() does not.",
    )
    ask_words(
        student,
        "\u1e9e \u03c3\u03c2",
        ["\u00df", "\u03c3\u03c2"],
        "lower() makes \u1e9e small and leaves the small sigma at the end of a word as it is;"
        " casefold() does not.",
    )
    words = [word_of(rng, "abcXYZ", 1, 5) for _ in range(4)]
    ask_words(student, " ".join(words), [word.lower() for word in words], "Lower-case the text.")
    for text in ("ss", "\u00df", "SS", "\u1e9e", "ss"):
        ask_words(student, text, [text.lower()], EACH)
    for (text,) in look_alikes((" ".join(shuffled(rng, "abcxyz") for _ in range(28)),)):
        ask_words(student, text, text.split(), EACH)
    letters = [
        one
        for one in (
            drawn[whole(rng, 0, len(drawn) - 1)]
            for drawn in map(known, ("Lo", "Lm", "Nl", "No", "Nd") * 30)
        )
        if unicodedata.normalize("NFKD", one) == one.casefold() == one
        and ("\x7f" < one < "\u1100" or "\u1200" <= one < "\u2e80")
    ]
    for text in ("\u0131l\u0131k \u0237\u0142\u0111\u0127\u014b\u0138", "".join(letters)):
        ask_words(
            student,
            text,
            text.split(),
            "What no rule names stays as it is: letters and numbers of every script.",
        )


byte_decode = exercise(
    "02.byte_decode",
    function="byte_decode",
    also=["byte_table"],
    points=5,
    see="02-tokenization/bpe#byte-level-bpe",
    withhold=TOKENIZERS,
)


def right_table() -> list[str]:
    """Entry b is the character for byte b, as GPT-2's release makes it."""
    others = iter(range(256, 512))
    return [
        chr(byte) if 33 <= byte < 127 or 161 <= byte < 173 or byte >= 174 else chr(next(others))
        for byte in range(256)
    ]


def in_tokens(data: bytes, cuts: list[int]) -> list[str]:
    """Bytes as tokens, cut at these places."""
    text = "".join(right_table()[byte] for byte in data)
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]


def ask_text(student, data: bytes, cuts: list[int], cause: str) -> None:
    """Ask for the text of some bytes, cut into tokens."""
    tokens, right = in_tokens(data, cuts), data.decode("utf-8", "replace")
    came = expect(student.byte_decode(tokens), given=f"the tokens {tokens}").is_a(str)
    shown = told_apart(came, right)
    expect(came == right).is_true(
        cause=cause,
        detail=f"Given the tokens {tokens}. Your result is {shown[0]}, expected {shown[1]}",
    )


@byte_decode.stage("table", points=1.5)
def test_the_table_has_a_character_for_every_byte(student):
    table = expect(student.byte_table(), "`byte_table()`").is_a(dict)
    expect(all(type(character) is str and len(character) == 1 for character in table)).is_true(
        cause=("The table maps a text of one character to its byte.")
    )
    table = {
        character: expect(byte, "A byte of the table").is_a(int)
        for character, byte in table.items()
    }
    right = {character: byte for byte, character in enumerate(right_table())}
    for byte, character in enumerate(right_table()):
        seen = {one: there for there, one in table.items()}
        kind = (
            "a printable byte stands for the character with its own number"
            if ord(character) == byte
            else (
                "the other bytes, from the smallest up, have the characters from 256 on, without"
                " a gap"
            )
        )
        expect(table.get(character) == byte).is_true(
            cause=(
                f"The table is wrong: {kind}. Printable are 33 to 126, 161 to 172 and 174 to 255,"
                " both ends included."
            ),
            detail=(
                f"byte {byte} should be written {ascii(character)}; your table writes it"
                f" {ascii(seen.get(byte))}"
            ),
        )
    expect(len(table) == len(right)).is_true(
        cause="The table has more entries than there are bytes.", detail=f"{len(table)} entries"
    )


@byte_decode.stage("ascii", points=1)
def test_plain_texts_come_back_with_their_spaces(student, rng):
    rule = "Look up each character of the tokens in the table, and decode the bytes as UTF-8."
    ask_text(student, b"We sat on the bank", [2, 6, 9, 13], rule)
    ask_text(student, b"bank", [], "One token is a text.")
    ask_text(
        student,
        "voil\u00e0".encode(),
        [2],
        "Look up every character of the tokens in the table, and add no spaces between them.",
    )
    ask_text(
        student,
        "Be\u0301\u00e9K ".encode(),
        [1, 2],
        "The text is what the bytes say: no normalization, and no spaces added or removed.",
    )
    ask_text(student, b"bank " * 40, list(range(1, 200)), rule)
    ask_text(
        student,
        b"\xef\xbb\xbfbank\r\nriver\rbank",
        [3, 8],
        "Every byte is kept: no mark at the beginning is taken off, and no end of a line is"
        " rewritten.",
    )
    ask_text(
        student,
        b" two  spaces\n\tand\x00control\x7f signs \xc2\xad",
        [4, 5, 12],
        "Every byte has its character, not only the space.",
    )
    ask_text(
        student, b"\0a\0", [1], "Every byte is kept: byte 0 is one like any other, also at the end."
    )
    ask_text(
        student,
        b"a<|endoftext|><s>",
        [1, 14],
        "The name of a special token is text like any other: look up every character.",
    )
    expect(student.byte_decode([])).equals("", cause="Without tokens the text is empty.")
    expect(student.byte_decode(["", "a", ""])).equals("a", cause="A token may be empty.")
    text = word_of(rng, "ab c\nd~!", 6, 14).encode()
    ask_text(student, text, [2, 4], rule)
    for (long,) in look_alikes(
        (shuffled(rng, "The river bank lends. " * 15),)
    ):  # some hundred tokens
        ask_text(student, long.encode(), list(range(1, len(long))), EACH)


@byte_decode.stage("joined-first", points=1.5)
def test_a_character_may_be_spread_over_tokens(student, rng):
    rule = "Join the tokens before you decode: a character may be spread over several of them."
    ask_text(student, "x\U0001f3e6 c\u00f4t\u00e9".encode(), [2, 3, 4, 8], rule)
    ask_text(student, "\u00e9".encode(), [1], rule)
    ask_text(student, "\u6cb3\u9280".encode(), [1, 2, 4, 5], rule)
    data = (word_of(rng, "\u00e9\u00df\u6cb3\U0001f3e6a", 5, 9) + "\u00e9").encode()
    ask_text(student, data, list(range(1, len(data))), rule)
    ask_text(
        student,
        "\u00c5\u00a6\u00ad\u0120\u0143x".encode(),
        [3],
        "Characters that stand in the table themselves are text like any "
        "other: only the table tells what a token means.",
    )


@byte_decode.stage("broken", points=1)
def test_bytes_that_are_no_text_show_as_u_fffd(student, rng):
    rule = (
        'Invalid UTF-8 shows as U+FFFD, as often as bytes.decode(errors="replace") '
        "gives it; nothing is skipped."
    )
    ask_text(student, "bank \U0001f3e6".encode()[:-1], [4, 6], rule)
    ask_text(student, b"a\x80b\xffc", [1, 3, 4], rule)
    ask_text(student, b"\xe6\xb2", [1], rule)
    ask_text(student, b"\xed\xa0\x80x", [1], f"{rule} Bytes of a surrogate are no UTF-8.")
    ask_text(student, b"\xe0\x80\x80\xf0\x80\x80\xf4\x90x\xc0\xaf", [1, 3], rule)
    ask_text(student, b"\xf0\x9f\x8f and \xc3", [], rule)
    ask_text(
        student,
        b"\xc0\x80 \xc1\xbf \xf8\x88\x80\x80\x80",
        [1, 4],
        f"{rule} A character in more bytes than it needs is no UTF-8.",
    )
    drawn = bytes(whole(rng, 0, 255) for _ in range(150))
    ask_text(
        student, b"a" + drawn + b"z", [7, 60], rule
    )  # a space at an end is what another stage asks for
