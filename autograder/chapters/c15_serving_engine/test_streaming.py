"""Checks of chapter 15, part 3: text that may be shown, and events."""

import json
import random

from autograder.chapters.c15_serving_engine.withholding import OURS, RIVALS
from autograder.checks.inputs.draws import counts, whole
from autograder.checks.protocol import CheckFailed, StudentError, Watched, exercise, expect, inside

BOOK = "15-serving-engine"

streamer = exercise(
    "15.Streamer",
    function="Streamer",
    points=6,
    see=f"{BOOK}/engine#from-a-token-to-text",
    withhold=OURS | RIVALS,
)
NO_STREAMER = "`Streamer(pieces, stop)` needs the methods `add` and `finish`, and `stopped`."


def begun(data: bytes) -> int:
    """How many bytes at the end are the beginning of a letter."""
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead >= 0xC0:
            return back if back < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4) else 0
        if lead < 0x80:
            return 0
    return 0


def shown(data: bytes, stop: list[str]) -> tuple[str, bool]:
    """Of all bytes so far: the text that may be shown, and whether a stop text is in it.

    No token boundary is known here.
    """
    text = data[: len(data) - begun(data)].decode()
    places = [text.find(one) for one in stop if one and one in text]
    if places:
        return text[: min(places)], True
    for kept in range(min(len(text), max(map(len, stop), default=0)), 0, -1):
        if any(one != text[-kept:] and one.startswith(text[-kept:]) for one in stop):
            return text[:-kept], False
    return text, False


def spoken(
    pieces: list[bytes], stop: list[str], ids: list[int]
) -> tuple[list[str], list[bool], str]:
    """What each token returns, `stopped` after each, and what the end returns."""
    data, before, met, texts, flags = b"", "", False, [], []
    for id in ids:
        if not met:
            data += pieces[id]
            text, met = shown(data, stop)
            texts.append(text[len(before) :])
            before = text
        else:
            texts.append("")
        flags.append(met)
    return texts, flags, "" if met else data.decode(errors="replace")[len(before) :]


def ask_streamer(
    student,
    pieces: list[bytes],
    stop: list[str],
    ids: list[int],
    cause: str,
    end: bool = False,
    flag: bool = True,
) -> None:
    """Compare what each token returns; flag: and `stopped`; end: and what `finish` returns."""
    handle, (texts, flags, rest) = (
        student.build("Streamer", pieces, stop),
        spoken(pieces, stop, ids),
    )
    told = [pieces[id] for id in ids]
    try:
        for place, (id, text, met) in enumerate(zip(ids, texts, flags)):
            given = f"stop {stop}, {b' | '.join(told[: place + 1])[-150:]!r}"
            expect(
                student.ask("call", "Streamer", "add", of=handle, args=(id,)).value,
                "What `add` returned",
                given,
            ).equals(text, cause=cause)
            if flag and (met or place < 3 or place == len(ids) - 1):
                expect(
                    student.ask("get", "Streamer", "stopped", of=handle).value, "`stopped`", given
                ).equals(
                    met,
                    cause=(
                        "`stopped` is True as soon as a stop string was found, and False before."
                    ),
                )
        if end:
            given = f"stop {stop}, {b' | '.join(told)[-150:]!r} and the end"
            expect(
                student.ask("call", "Streamer", "finish", of=handle).value,
                "What `finish` returned",
                given,
            ).equals(rest, cause=cause)
            expect(
                student.ask("get", "Streamer", "stopped", of=handle).value, "`stopped`", given
            ).equals(bool(flags) and flags[-1], cause="`finish` does not change `stopped`.")
    except StudentError as error:
        try:
            there = error.kind != "missing" and (
                error.kind != "error" or inside(handle).get("stopped") is not None
            )
        except StudentError:
            there = False
        raise error if there else CheckFailed(NO_STREAMER, error.text) from None


def cut(rng, text: str, longest: int = 3) -> list[bytes]:
    """A text's bytes in pieces of drawn lengths."""
    data, pieces = text.encode(), []
    while data:
        size = whole(rng, 1, longest)
        pieces.append(data[:size])
        data = data[size:]
    return pieces


@streamer.stage("plain text", points=1)
def test_whole_letters_pass(student, rng):
    rule = (
        "With whole characters and no possible stop string, `add` returns exactly the text of"
        " its token."
    )
    pieces = [b"The", b" river", b"", b"\n", b"s and", "é".encode(), "日本".encode(), b" "]
    for ids in (
        [0, 1],
        [0, 1, 4, 1, 4],
        [2, 2, 0],
        [5, 6, 6, 3, 0],
        [7, 7, 7],
        [0] * 9,
        counts(rng, 0, 7, 60).tolist(),
    ):
        ask_streamer(student, pieces, [], ids, rule)
        ask_streamer(student, pieces, ["####"], ids, rule)
    ask_streamer(student, [b"x" * 100], [], [0] * 300, rule, flag=False)
    handles = [student.build("Streamer", pieces, stop) for stop in ([], ["river"])]
    for handle in handles:
        expect(
            student.ask("call", "Streamer", "add", of=handle, args=(0,)).value,
            "What `add` returned",
        ).equals("The", cause="Each Streamer has its own text.")


@streamer.stage("split characters", points=1.5)
def test_half_letters_are_held_back(student, rng):
    rule = (
        "An incomplete character is held back until a later token completes it. Whole"
        " characters before it are returned at once."
    )
    pieces = [
        b"\xc3",
        b"\xa9",
        b"a",
        b"\xe6\x97",
        b"\xa5",
        b"\xf0",
        b"\x9f",
        b"\xa6\x86",
        b"b\xc3",
        b"\xa9c",
        b"",
    ]
    for ids in (
        [0, 1],
        [2, 0, 1, 2],
        [3, 4, 2],
        [5, 6, 7],
        [5, 10, 6, 7, 2],
        [8, 9, 8, 1],
        [8, 1, 8, 9, 3, 4],
        [2, 5, 6, 7, 0, 1, 0, 9],
    ):
        ask_streamer(student, pieces, [], ids, rule)
        ask_streamer(student, pieces, ["zzz"], ids, rule)
    for text in (
        "naïve façade, Größe, żółw",
        "日本語のテキスト",
        "\U0001f986\U0001f986 ducks \U0001f600 \U0001f1eb\U0001f1f7",
        "e\u0301 \u200d \u2028",
    ):
        for longest in (1, 2, 5):
            made = cut(rng, text, longest)
            ask_streamer(student, made, [], list(range(len(made))), rule)


@streamer.stage("stop strings", points=1.5)
def test_nothing_of_a_stop_text_is_shown(student, rng):
    rule = (
        "When a stop string is found, in one token or across several, return all text before"
        " it, and nothing of it or after it."
    )
    for pieces, stop, ids in (
        ([b"x U", b"ser:", b" ok"], ["User:"], [0, 1, 2]),
        ([b"Hi", b" Us", b"er:", b" ok"], ["User:"], [0, 1, 2, 3]),
        ([b"one stop two", b"x"], ["stop"], [0, 1, 1]),
        ([b"a", b"b", b"c"], ["abc"], [0, 1, 2, 0]),
        ([b"ab", b"cd"], ["bc"], [0, 1, 0]),
        ([b"x", b"###"], ["###"], [0, 1, 0]),
        ([b"###"], ["###"], [0, 0]),
        ([b"a", b"\n", b"b"], ["\n\n"], [0, 1, 1, 2]),
        ([b"one B two A", b"z"], ["A", "B"], [0, 1]),
        ([b"xab"], ["b", "ab"], [0]),
        ([b"xab"], ["ab", "b"], [0]),
        ([b"a", b"ab"], ["aab"], [0, 0, 1, 0]),
        ([b"\xc3", b"\xa9t", b"\xc3\xa9"], ["été"], [2, 0, 1, 2]),
        ([b"t\xc3", b"\xa9"], ["té"], [0, 1, 0]),
        ([b"a", b"aa"], ["aaa"], [0, 1, 0]),
        ([b"."], ["."], [0]),
        ([b"stop", b"s", b"top"], ["stop"], [1, 2]),
        ([b"a STOP", b" Stop", b" stop", b"x"], ["stop"], [0, 1, 0, 2, 3]),
        ([b"a stop", b" STOP", b"x"], ["STOP"], [0, 0, 1, 2]),
        ([b"xEND of ST"], ["STOP", "END"], [0, 0]),
        ([b"xab", b"c"], ["ab", "abc"], [0, 1]),
        ([b"a", b"b", b"c"], ["abcd", "ab"], [0, 1, 2]),
        ([b"#", b"##"], ["###", "#"], [0, 1]),
    ):
        ask_streamer(student, pieces, stop, ids, rule)
    empty = "An empty stop string is ignored."
    for stop in ([""], ["", "zz"], ["b", ""]):
        ask_streamer(student, [b"a", b"b", b"c"], stop, [0, 1, 2], empty)
    long = "x" * 99 + "y"
    made = cut(rng, "w" + "x" * 120 + "yz", 7)
    ask_streamer(student, made, [long], list(range(len(made))), rule)


def without(chance: random.Random, stop: list[str], letters: str, number: int) -> str:
    """A drawn text of these letters that contains no stop string, though often the start of one."""
    text = ""
    while len(text) < number:
        letter = chance.choice(letters)
        if not any((text + letter).endswith(one) for one in stop):
            text += letter
    return text


def grouped(chance: random.Random, text: str, most: int) -> list[bytes]:
    """A text's characters in pieces of 1 to `most`, no character split."""
    pieces = []
    while text:
        number = chance.randint(1, most)
        pieces.append(text[:number].encode())
        text = text[number:]
    return pieces


@streamer.stage("held", points=1.5)
def test_only_what_may_become_a_stop_text_is_held_back(student, rng):
    rule = (
        "Hold back only the longest suffix that starts a stop string. Return it as soon as it"
        " can no longer become one."
    )
    for pieces, stop, ids in (
        ([b"Hi", b" Us", b"ual"], ["User:"], [0, 1, 2]),
        ([b"a", b"b", b"x"], ["aab"], [0, 0, 0, 2, 0, 2]),
        ([b"\n", b"a"], ["\n\n\n"], [0, 0, 1, 0, 1]),
        ([b"ab"], ["ababc"], [0, 0, 0, 0]),
        ([b"long words before U", b"!"], ["User:"], [0, 1]),
        ([b"s", b"t", b"o", b"x"], ["stop", "toy"], [0, 1, 2, 3]),
        ([b"x", b"y"], ["xyz", "q"], [0, 1, 1]),
        ([b"aaa", b"b"], ["aab!"], [0, 1, 1]),
        ([b"U\xc3", b"\xa9", b"s"], ["Us"], [0, 1, 2]),
        ([b"a"], ["ab"], [0] * 6),
        ([b"stops", b"sto"], ["stopped"], [1, 0, 1, 1]),
        ([b"e", b"nd"], ["end", "e."], [0, 0, 0]),
    ):
        ask_streamer(student, pieces, stop, ids, rule)
    chance = random.Random(whole(rng, 0, 10**6))
    for stop in (
        ["aab", "ba"],
        ["abab"],
        ["aa", "bbb", "abc"],
        ["é日", "日日", "éé"],
        ["\n\n", "\na"],
        ["a" * 9, "b" * 3],
    ):
        letters = "".join(dict.fromkeys("".join(stop))) + "xy"
        for _ in range(4):
            made = grouped(chance, without(chance, stop, letters, 22), 3)
            ask_streamer(student, made, stop, list(range(len(made))), rule, flag=False)


@streamer.stage("finish", points=0.5, after="plain text")
def test_the_end_gives_out_what_was_held_back(student, rng):
    rule = (
        "`finish` returns what was held back, then one replacement character for an incomplete"
        " character; after a stop string, nothing."
    )
    for pieces, stop, ids in (
        ([b"Hi", b" Us"], ["User:"], [0, 1]),
        ([b"Hi"], ["User:"], [0]),
        ([b"Hi\xc3"], [], [0]),
        ([b"\xf0\x9f", b"\xa6"], [], [0, 1]),
        ([b"\xf0"], [], [0]),
        ([b"U\xc3"], ["Us"], [0]),
        ([b"\xe6\x97"], ["日"], [0]),
        ([b"x"], [], []),
        ([b"a stop Us"], ["stop", "User"], [0]),
        ([b"sto", b"p\xc3"], ["stop"], [0, 1]),
        ([b"a", b"b"], ["abb"], [0, 1]),
        ([b"aa"], ["aaaa"], [0]),
        ([b""], ["", "x"], [0]),
        ([b"of User"], ["User:"], [0]),
        ([b"of Human", b"x\xc3"], ["Human:", "\ufffd"], [0]),
        ([b"x\xc3"], ["\ufffd"], [0]),
    ):
        ask_streamer(student, pieces, stop, ids, rule, end=True)


sse = exercise(
    "15.sse",
    function="sse",
    points=5,
    see=f"{BOOK}/load#what-goes-over-the-wire",
    withhold=OURS | RIVALS,
)
HEAD = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": "small",
}
Token = tuple[str, str | None]


def answering(tokens: list[Token]) -> Watched:
    """A `next_token` that returns these."""
    left = iter(tokens)
    return Watched(lambda: next(left, ("too many", "stop")), calls=len(tokens) + 3)


def expected(head: dict, tokens: list[Token], prompt_tokens: int | None) -> list[dict]:
    """The events that are JSON."""

    def piece(delta: dict, reason: str | None = None) -> dict:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    events = [
        piece({"role": "assistant", "content": ""}),
        *(piece({"content": text}) for text, _ in tokens if text),
        piece({}, tokens[-1][1]),
    ]
    usage = (
        []
        if prompt_tokens is None
        else [
            {
                **head,
                "choices": [],
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": len(tokens),
                    "total_tokens": prompt_tokens + len(tokens),
                },
            }
        ]
    )
    return events + usage


def parsed(piece: object, place: int, cause: str) -> object:
    """What one piece says: a dictionary, or "[DONE]"."""
    name = f"Event {place + 1}"
    data = expect(piece, name).is_a(bytes)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CheckFailed(f"{name} is not UTF-8. {cause}", repr(data[:200])) from None
    if (
        not text.startswith("data: ")
        or not text.endswith("\n\n")
        or "\n" in text[:-2]
        or "\r" in text
    ):
        raise CheckFailed(
            f"{name} is not one line that starts with `data: `, followed by an empty line: the"
            " client would keep waiting.",
            repr(text[:200]),
        )
    body = text[6:-2]
    if body == "[DONE]":
        return body
    try:
        said = json.loads(body, parse_constant=lambda word: None)
    except ValueError:
        raise CheckFailed(f"{name} is not JSON. {cause}", repr(text[:200])) from None
    if said == "[DONE]":
        raise CheckFailed(
            "The last event is `data: [DONE]`, without quotation marks.",
            repr(text[:200]),
        )
    return said


def ask_sse(
    student,
    tokens: list[Token],
    cause: str,
    prompt_tokens: int | None = None,
    head: dict = HEAD,
    whole_event: bool = True,
    done: bool = True,
) -> None:
    """Compare all events of an answer; whole_event: more of them than the texts."""
    right, given = (
        expected(head, tokens, prompt_tokens),
        f"tokens {tokens[:6]}, prompt_tokens {prompt_tokens}",
    )
    source = answering(tokens)
    stream = student.stream("sse", head, source, prompt_tokens)
    pieces = stream.take(len(right) + 4)
    stream.close()
    came = [parsed(piece, place, cause) for place, piece in enumerate(pieces)]
    events = [one for one in came if one != "[DONE]"]
    if not whole_event:
        texts = [text for one in events for text in _contents(one) if text]
        expect(texts, "The texts of your events", given).equals(
            [text for text, _ in tokens if text], cause=cause
        )
        return
    expect(len(events) == len(right)).is_true(
        cause=cause,
        detail=f"Given {given}: {len(events)} events before [DONE], {len(right)} were expected",
    )
    for place, (one, meant) in enumerate(zip(events, right)):
        expect(one, f"Event {place + 1}", given).equals(meant, cause=cause)
    if done:
        expect(came.count("[DONE]") == 1 and came[-1] == "[DONE]").is_true(
            cause=(
                "The last event is `data: [DONE]`, once. It tells the client that the stream"
                " has ended."
            )
        )
        expect(source.calls).equals(
            len(tokens),
            cause=("Call `next_token` once per token, and not again after the one with a reason."),
        )


def _contents(one: object) -> list:
    """The contents in an event, whatever else it may be."""
    choices = one.get("choices") if type(one) is dict else None
    return (
        [
            choice["delta"].get("content")
            for choice in choices
            if type(choice) is dict and type(choice.get("delta")) is dict
        ]
        if type(choices) is list
        else []
    )


ANSWERS: tuple[list[Token], ...] = (
    [("He", None), ("llo", None), ("", "stop")],
    [("Hi", "length")],
    [("", "stop")],
    [("a", None), ("", None), ("", None), ("b", "stop")],
    [("e\u0301 \u212b \ufb01 ½", "stop")],
    [("é 日本 \U0001f986", None), ("\n\n", None), ('"quoted" \\', "length")],
    [(" ", None), ("data: ", None), ("[DONE]", None), ("\u2028\r\n\t\x00", "stop")],
)


@sse.stage("event format", points=1.5)
def test_events_have_their_form(student, rng):
    for tokens in (*ANSWERS, [("x", None)] * 400 + [("y", "length")]):
        ask_sse(
            student,
            tokens,
            (
                "Each event is `data: `, a JSON object on one line, and an empty line, in"
                " UTF-8. Each non-empty text is in one of them, unchanged."
            ),
            whole_event=False,
        )


@sse.stage("chunks", points=1.5, after="event format")
def test_what_the_events_say(student, rng):
    rule = (
        "First the role with empty content, then a `content` per non-empty text, last"
        " delta {} with the reason. `finish_reason` is None elsewhere."
    )
    for tokens in ANSWERS:
        ask_sse(student, tokens, rule, done=False)
    for head in ({}, {"id": "1"}, {**HEAD, "system_fingerprint": "é", "created": 5}):
        ask_sse(
            student,
            [("a", None), ("b", "tool")],
            f"{rule} Each includes `head`.",
            head=head,
            done=False,
        )


@sse.stage("usage", points=1)
def test_usage_and_the_end(student, rng):
    rule = (
        "With `prompt_tokens`, one more event has empty choices and the usage."
        " `completion_tokens` counts every requested token, also those without text."
    )
    for tokens in ([("abcd", None), ("", None), ("", None), ("b", "stop")], *ANSWERS):
        for prompt_tokens in (7, 0, None, whole(rng, 20, 9000)):
            ask_sse(student, tokens, rule, prompt_tokens)


@sse.stage("one at a time", points=1, after="event format")
def test_events_come_as_soon_as_they_can(student, rng):
    rule = "Yield each event before requesting the next token, and the first before any token."
    source = answering([("a", None), ("", None), ("b", None), ("c", "stop")])
    stream, seen = student.stream("sse", HEAD, source, 3), []
    for _ in range(4):
        seen.append((len(stream.take(1)), source.calls))
    stream.close()
    expect(seen == [(1, 0), (1, 1), (1, 3), (1, 4)]).is_true(
        cause=rule,
        detail=(
            "After 1, 2, 3 and 4 events next_token had been called"
            f" {', '.join(str(calls) for _, calls in seen)} times, 0, 1, 3, 4 were expected"
        ),
    )
    one, other = (answering([("x", None), ("y", "stop")]) for _ in range(2))
    streams = [student.stream("sse", HEAD, source, None) for source in (one, other)]
    for stream in streams:
        stream.take(2)
    for stream in streams:
        stream.close()
    expect((one.calls, other.calls) == (1, 1)).is_true(
        cause="Two answers stream in parallel: each calls its own `next_token`.",
        detail=f"{one.calls} and {other.calls} calls",
    )
