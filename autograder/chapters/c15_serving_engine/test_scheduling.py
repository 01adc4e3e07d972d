"""Checks of chapter 15, part 1: counting steps, the plan of a step, the queue."""

from autograder.chapters.c15_serving_engine.scheduling import Mirror, planned, walked
from autograder.chapters.c15_serving_engine.withholding import OURS, RIVALS
from autograder.checks.inputs.draws import counts, look_alike, whole
from autograder.checks.protocol import CheckFailed, StudentError, exercise, expect, inside

BOOK = "15-serving-engine"

predict_steps = exercise(
    "15.predict_steps",
    function="predict_steps",
    points=4,
    kind="predict",
    see=f"{BOOK}/scheduling#by-hand-two-batch-slots",
    withhold=OURS | RIVALS,
)

LISTS = (
    ([8, 4, 3, 1], 2),
    ([2, 3, 3, 8], 2),
    ([], 3),
    ([5], 1),
    ([5], 4),
    ([1], 1),
    ([3, 1, 2], 1),
    ([4, 4, 4, 4, 4], 5),
    ([4, 4, 4, 4, 4], 6),
    ([7, 1, 1, 1, 1, 1, 1, 6], 3),
    ([1, 9, 1, 9, 1, 9], 2),
    ([9, 9, 9, 1, 1, 1], 3),
    ([5, 3, 3, 5, 1], 2),
    ([10_000, 1, 9_999, 1], 2),
    ([2, 2], 1000),
    ([], 1),
    ([1, 2, 3, 4, 5, 6, 7], 3),
    ([7, 6, 5, 4, 3, 2, 1], 3),
    ([1, 2, 3, 4, 5, 6, 7], 4),
    ([6, 2, 4, 5], 3),
    ([6, 4, 2, 5], 3),
)


def ask_steps(student, rng, key: str, cause: str) -> None:
    """Compare one of the four numbers."""
    drawn = [
        (counts(rng, 1, 40, size).tolist(), slots)
        for size, slots in (
            (30, 4),
            (300, 7),
            (9, 3),
            (300, 1),
            (40, 299),
            (300, 130),
            (whole(rng, 10, 60), whole(rng, 2, 9)),
        )
    ]
    drawn.append((look_alike([*drawn[0][0][:-1], 41]), 4))
    drawn += [([*counts(rng, 9000, 9999, 299).tolist(), 10_000], slots) for slots in (1, 2, 7)] + [
        ([9999, *counts(rng, 1, 9998, 39).tolist()], 999),
        ([10_000, 9_999] * 150, 299),
    ]
    for answers, slots in (*LISTS, *drawn):
        given = (
            f"{slots} slots,"
            f" {f'answers of {answers}' if len(answers) < 12 else f'{len(answers)} answers'}"
        )
        right = walked(answers, slots)
        came = expect(student.predict_steps(answers, slots), given=given).only_keys(right)
        came.has(key).equals(right[key], cause=cause)


@predict_steps.stage("static", points=1)
def test_steps_of_fixed_batches(student, rng):
    ask_steps(
        student,
        rng,
        "static",
        (
            "A static batch takes as many steps as its longest answer; batches are formed in"
            " the order of the list and follow each other."
        ),
    )


@predict_steps.stage("idle", points=0.5)
def test_idle_places_of_fixed_batches(student, rng):
    ask_steps(
        student,
        rng,
        "idle",
        (
            "Each step of a static batch has `slots` slots, even if the last batch has fewer"
            " requests. Slots that generate no token are idle."
        ),
    )


@predict_steps.stage("continuous", points=2)
def test_steps_with_places_that_are_refilled(student, rng):
    ask_steps(
        student,
        rng,
        "continuous",
        (
            "A slot passes to the next request in the step after its request's last token."
            " Count up to the step of the very last token."
        ),
    )


@predict_steps.stage("wait", points=0.5)
def test_how_long_the_last_of_the_list_waits(student, rng):
    ask_steps(
        student,
        rng,
        "wait",
        (
            "With continuous batching, `wait` counts the steps before the last request's first"
            " token: 0 if that is in the first step."
        ),
    )


plan = exercise(
    "15.plan",
    function="plan",
    points=9,
    see=f"{BOOK}/scheduling#chunked-prefill-and-the-token-budget",
    withhold=OURS | RIVALS,
)
State = dict[str, int]


def state(tokens: int, computed: int = 0, blocks: int = 0) -> State:
    """A request as the plan sees it."""
    return {"tokens": tokens, "computed": computed, "blocks": blocks}


def decoding(computed: int, size: int, full: bool = False) -> State:
    """A running request with one token to compute; full: its blocks are."""
    computed = -(-computed // size) * size if full else computed + (computed % size == 0)
    return state(computed + 1, computed, -(-computed // size))


def reading(tokens: int, computed: int, size: int) -> State:
    """A running request with several tokens to compute, and blocks for them all."""
    return state(tokens, computed, -(-tokens // size))


def ask_plan(student, requests: list[State], budget: int, free: int, size: int, cause: str) -> None:
    """Compare a plan."""
    shown = ", ".join("{tokens}/{computed}/{blocks}".format(**one) for one in requests[:8]) + (
        " ..." if len(requests) > 8 else ""
    )
    given = (
        f"tokens/computed/blocks {shown or 'none'}; budget {budget}, {free} free blocks of {size}"
    )
    came, right = (
        expect(student.plan(requests, budget, free, size), given=given).is_a(list),
        planned(requests, budget, free, size),
    )
    expect(len(came) == len(right)).is_true(
        cause=cause,
        detail=f"Given {given}: {len(came)} requests are in your plan, {len(right)} were expected",
    )
    pairs = [
        tuple(
            expect(number, "A number in your plan").is_a(int)
            for number in expect(pair, "An entry of your plan").unpacks(2)
        )
        for pair in came
    ]
    expect(pairs, given=given).equals(right, cause=cause)


def drawn_states(rng, number: int, size: int, kinds: str) -> list[State]:
    """Some requests: d decodes, f decodes with full blocks, r reads on, w waits."""
    made = {
        "d": lambda: (
            decoding(whole(rng, 1, 60) * 2 + (size == 2), size)
            if size > 1
            else decoding(whole(rng, 1, 60), 1, full=True)
        ),
        "f": lambda: decoding(whole(rng, 1, 60), size, full=True),
        "r": lambda: reading((done := whole(rng, 0, 40)) + whole(rng, 2, 50), done, size),
        "w": lambda: state(whole(rng, 1, 40)),
    }
    return [made[kinds[whole(rng, 0, len(kinds) - 1)]]() for _ in range(number)]


@plan.stage("decode first", points=1.5)
def test_who_decodes_gets_a_token(student, rng):
    rule = (
        "Each running request with one token to compute gets it: a tuple (index,"
        " 1), in index order."
    )
    ask_plan(student, [], 8, 3, 4, rule)
    for size, number in ((4, 1), (4, 3), (16, 7), (3, 300), (1000, 5)):
        many = drawn_states(rng, number, size, "d")
        for budget in (number, number + 1, 100_000)[: 1 if number == 300 else 3]:
            ask_plan(student, many, budget, 9, size, rule)
    ask_plan(
        student,
        [state(100_000, 99_999, 25_000), state(3, 2, 1)],
        2,
        0,
        4,
        f"{rule} Its last block has room for it.",
    )
    ask_plan(
        student,
        [state(1, 0, 1), state(2, 1, 1)],
        2,
        0,
        4,
        f"{rule} Holding a block, it is running.",
    )
    ask_plan(
        student,
        [state(6, 5, 9), state(2, 1, 1), state(9, 8, 3)],
        5,
        0,
        4,
        f"{rule} Its unfilled blocks have room.",
    )


@plan.stage("running prefills", points=2.5)
def test_prompts_are_read_in_pieces_behind_those_who_decode(student, rng):
    rule = (
        "Decodes come first, wherever they are in the list; running prefills get the rest of"
        " the budget, in order. Omit requests that get nothing."
    )
    for left, budgets in (
        (2, (1, 2, 3)),
        (7, (1, 6, 7, 8)),
        (900, (64, 256, 899, 900, 901, 100_000)),
    ):
        for budget in budgets:
            ask_plan(student, [reading(left + 5, 5, 4)], budget, 0, 4, rule)
            ask_plan(student, [reading(left, 0, 4)], budget, 3, 4, rule)
            ask_plan(
                student,
                [reading(left + 4, 4, 4), decoding(6, 4), decoding(9, 4)],
                budget + 2,
                0,
                4,
                rule,
            )
            ask_plan(
                student,
                [reading(left + 4, 4, 4), decoding(6, 4), reading(30, 2, 4), decoding(2, 4)],
                budget + 3,
                2,
                4,
                rule,
            )
    for size, budget in ((4, 20), (16, 64), (1, 40), (7, 33), (16, 3000)):
        for number in (2, 6, 15):
            ask_plan(
                student, drawn_states(rng, number, size, "dr"), max(budget, number), 40, size, rule
            )
    ask_plan(student, drawn_states(rng, 300, 5, "ddr"), 420, 300, 5, rule)


@plan.stage("admission", points=1.5)
def test_waiting_requests_are_let_in_with_what_is_left(student, rng):
    rule = (
        "Waiting requests get the budget that running ones leave, in"
        " order; the last may get a chunk."
    )
    ask_plan(student, [state(1)], 1, 1, 4, f"{rule} One token is no exception.")
    for budget in (1, 4, 5, 6, 8, 9, 100):
        ask_plan(student, [state(5), state(3)], budget, 50, 4, rule)
        ask_plan(
            student,
            [state(5), decoding(6, 4), state(1), reading(9, 6, 4), state(2)],
            budget + 1,
            50,
            4,
            rule,
        )
        ask_plan(
            student,
            [state(5), state(5), decoding(5, 4), decoding(7, 4)],
            budget + 2,
            50,
            4,
            f"{rule} A waiting request may precede a running one.",
        )
    for size, number in ((4, 5), (16, 9), (1, 12), (30, 300)):
        for _ in range(3):
            ask_plan(
                student,
                drawn_states(rng, number, size, "drww"),
                number + whole(rng, 0, 90),
                10_000,
                size,
                rule,
            )


def ask_blocks_of_thousands(student) -> None:
    """As many blocks as half precision cannot count."""
    for tokens, size in ((2049, 1), (4097, 1), (4099, 2), (65_535, 16), (99_999, 4), (99_999, 7)):
        need = -(-tokens // size)
        for free in (need - 1, need):
            ask_plan(
                student,
                [state(tokens)],
                100_000,
                free,
                size,
                (
                    "A waiting request needs exactly `tokens` over `block_size` free blocks,"
                    " rounded up."
                ),
            )


@plan.stage("blocks", points=2, after="decode first")
def test_blocks_are_counted(student, rng):
    ask_blocks_of_thousands(student)
    edge = (
        "Blocks are full when `computed` equals blocks times `block_size`; then a decode"
        " takes a free block or gets nothing."
    )
    for free in (0, 1, 2, 3, 4):
        ask_plan(
            student,
            [
                decoding(8, 4, full=True),
                decoding(9, 4),
                decoding(4, 4, full=True),
                decoding(12, 4, full=True),
            ],
            6,
            free,
            4,
            edge,
        )
        ask_plan(student, [decoding(5, 1), decoding(3, 1), decoding(9, 1)], 3, free, 1, edge)
        ask_plan(
            student,
            [decoding(8, 4, full=True), reading(20, 7, 4), decoding(16, 4, full=True)],
            9,
            free,
            4,
            f"{edge} Unused budget goes to others.",
        )
    for size in (4, 5, 8, 12, 1):
        (
            ask_plan(
                student,
                [state(13, 12, 3), state(12), state(5)],
                50,
                4,
                size,
                f"{edge} Blocks have `block_size` tokens.",
            )
            if 3 * size >= 12
            else ask_plan(
                student,
                [state(3), state(2)],
                50,
                4,
                size,
                "A waiting request needs free blocks for all its tokens.",
            )
        )
    whole_prompt = (
        "A waiting request needs, and takes, free blocks for all its tokens, not"
        " only for this chunk."
    )
    for free in (0, 1, 2, 3, 4, 5, 7):
        ask_plan(student, [state(9)], 100, free, 4, whole_prompt)
        ask_plan(student, [state(8)], 100, free, 4, whole_prompt)
        ask_plan(student, [state(12)], 2, free, 4, whole_prompt)
        ask_plan(student, [state(4), state(4), state(5)], 100, free, 4, whole_prompt)
        ask_plan(
            student,
            [state(6), decoding(8, 4, full=True), decoding(4, 4, full=True)],
            100,
            free,
            4,
            f"{whole_prompt} Running requests take theirs first.",
        )
        if free > 2:
            ask_plan(
                student,
                [state(9), state(1), state(1)],
                100,
                free,
                4,
                f"{whole_prompt} A partly filled block is not shared.",
            )
        ask_plan(
            student,
            [reading(20, 4, 4), state(5)],
            100,
            free,
            4,
            f"Running prefills hold their blocks already. {whole_prompt}",
        )


@plan.stage("no overtaking", points=1.5, after="admission")
def test_nobody_overtakes(student, rng):
    rule = (
        "The first waiting request without its blocks ends admission. If smaller ones overtook"
        " it, it could wait forever."
    )
    for free in (0, 1, 2, 3, 5):
        ask_plan(student, [state(20), state(1), state(4)], 50, free, 4, rule)
        ask_plan(student, [state(4), state(20), state(1)], 50, free, 4, rule)
        ask_plan(
            student,
            [
                state(3),
                decoding(9, 4),
                state(17),
                decoding(8, 4, full=True),
                state(2),
                reading(30, 2, 4),
                state(1),
            ],
            90,
            free,
            4,
            rule,
        )
    for size in (4, 16, 1):
        for number in (3, 8, 20, 300):
            for _ in range(1 if number == 300 else 3):
                ask_plan(
                    student,
                    drawn_states(rng, number, size, "dfrww"),
                    100_000,  # enough for whole prompts: chunks have a stage of their own
                    whole(rng, 0, 2 * number // size + 6),
                    size,
                    rule,
                )


queue = exercise(
    "15.Queue",
    function="Queue",
    points=8,
    see=f"{BOOK}/preemption#when-memory-runs-out",
    withhold=OURS | RIVALS,
)
NO_QUEUE = (
    "`Queue(blocks, block_size)` needs the methods `add`, `step`, `finish` and `abort`, and"
    " `free`, `running` and `waiting`."
)


class Beside:
    """A student's queue, and what it should hold."""

    def __init__(self, student, blocks: int, size: int):
        self.student, self.right, self.given = (
            student,
            Mirror(blocks, size),
            f"{blocks} blocks of {size} tokens",
        )
        self.handle, self.told = student.build("Queue", blocks, size), []

    def call(self, method: str, *arguments: object) -> object:
        """Call a method, under the name of the class, so that what comes back is compared with what
        known mistakes give.
        """
        self.told.append(f"{method}({', '.join(map(repr, arguments))})")
        try:
            return self.student.ask("call", "Queue", method, of=self.handle, args=arguments).value
        except StudentError as error:
            raise self.lacking(error) from None

    def lacking(self, error: StudentError) -> Exception:
        """What is no queue at all is a wrong answer, and not an error of the student's code."""
        try:
            there = error.kind != "missing" and (
                error.kind != "error" or inside(self.handle).get("free") is not None
            )
        except StudentError:
            there = False
        return error if there else CheckFailed(NO_QUEUE, error.text)

    def told_last(self) -> str:
        """What it was asked, the last of it."""
        return f"{self.given}; {'... ' if len(self.told) > 12 else ''}{' '.join(self.told[-12:])}"

    def state(self, cause: str, only: tuple[str, ...] = ("free", "running", "waiting")) -> None:
        """Compare what it holds."""
        for name in only:
            came = self.student.ask("get", "Queue", name, of=self.handle).value
            expect(came, f"`{name}`", self.told_last()).equals(
                getattr(self.right, name), cause=cause
            )

    def add(self, name: str, prompt: int) -> None:
        """A request comes, here and there."""
        expect(self.call("add", name, prompt) is None, "What `add` returned").is_true(
            cause="`add` returns nothing."
        )
        self.right.add(name, prompt)

    def step(self, cause: str, **options: object) -> None:
        """One step, here and there."""
        came = self.call("step")
        expect(came, "What `step` returned", self.told_last()).equals(
            self.right.step(), cause=cause
        )
        self.state(cause, **options)

    def finish(self, name: str, cause: str) -> None:
        """A request has said all."""
        came = self.call("finish", name)
        expect(came, "What `finish` returned", self.told_last()).equals(
            self.right.leave(name), cause=cause
        )

    def abort(self, name: str) -> None:
        """Its client went away."""
        expect(self.call("abort", name) is None, "What `abort` returned").is_true(
            cause="`abort` returns nothing."
        )
        self.right.leave(name)


@queue.stage("enough blocks", points=1.5)
def test_all_are_let_in_where_there_is_room(student, rng):
    rule = (
        "While blocks suffice, all requests are admitted in order and compute their prompts;"
        " then one token per step."
    )
    for blocks, size, prompts in (
        (300, 4, (3, 1, 2)),
        (300, 100, (5,)),
        (100, 1, (2, 1)),
        (300, 50, (49, 50, 51, 10_000)),
    ):
        beside = Beside(student, blocks, size)
        beside.step(
            f"{rule} Without requests, `step` computes nothing.", only=("running", "waiting")
        )
        for place, prompt in enumerate(prompts):
            beside.add(f"{'cba'[place % 3]}{place}", prompt)
            beside.state(
                "Added requests wait in the order in which they came.", only=("running", "waiting")
            )
        for _ in range(3):
            beside.step(rule, only=("running", "waiting"))
        beside.add("late", 7)
        for _ in range(2):
            beside.step(
                f"{rule} Requests that were running come first.", only=("running", "waiting")
            )


@queue.stage("one more block", points=1.5)
def test_blocks_are_taken_when_they_are_needed(student, rng):
    rule = (
        "An admitted request takes blocks for all its tokens. A running one takes another only"
        " when the token to compute no longer fits."
    )
    for size, prompt in ((4, 3), (4, 4), (4, 5), (1, 1), (2, 1), (3, 9), (100, 99)):
        beside = Beside(student, 40, size)
        beside.state("All blocks are free at the start.")
        beside.add("only", prompt)
        beside.state("A waiting request holds no block.")
        for _ in range(2 * min(size, 5) + 3):
            beside.step(rule)
    beside = Beside(student, 60, 4)
    for name, prompt in (("x", 7), ("y", 1), ("z", 4)):
        beside.add(name, prompt)
    for _ in range(9):
        beside.step(rule)


@queue.stage("admission order", points=1)
def test_who_does_not_find_blocks_waits_and_nobody_overtakes(student, rng):
    rule = (
        "A waiting request needs free blocks for all its tokens. The first without them ends"
        " the step; smaller ones behind it wait too."
    )
    for blocks, size, prompts in (
        (3, 4, (8, 9, 1)),
        (4, 2, (4, 4, 1)),
        (1, 4, (2, 1)),
        (6, 2, (2, 30 // 3, 2, 1)),
        (2, 100, (100, 100, 1)),
    ):
        beside = Beside(student, blocks, size)
        for place, prompt in enumerate(prompts):
            beside.add(f"{'qpo'[place % 3]}{place}", prompt)
        beside.step(rule)
    exact = Beside(student, 5, 4)
    for name, prompt in (("b", 8), ("a", 12), ("c", 1)):
        exact.add(name, prompt)
    exact.step("A request that fits exactly is admitted: it needs no spare block.")


def ask_refused_names(student, rule: str) -> None:
    """What was refused leaves no trace: later, the one that waited computes what it first asked
    for.
    """
    beside = Beside(student, 4, 2)
    for name, prompt in (("a", 4), ("b", 1), ("w", 3)):
        beside.add(name, prompt)
    beside.step(rule)
    for name in ("a", "b", "w"):
        try:
            beside.call("add", name, 2)
        except StudentError as error:
            beside.told[-1] += " ValueError"
            expect("ValueError" in error.text).is_true(cause=rule, detail=error.text)
        else:
            raise CheckFailed(rule, f"{beside.told_last()}: nothing was raised")
    beside.finish("a", rule)
    for _ in range(2):
        beside.step(rule)


@queue.stage("finish and abort", points=1)
def test_who_leaves_gives_back_all(student, rng):
    gone = (
        "`finish` and `abort` free all blocks and remove the name. `finish` returns the"
        " number of generated tokens, one per step in which it computed."
    )
    beside = Beside(student, 12, 4)
    for name, prompt in (("a", 9), ("b", 4), ("c", 2), ("d", 40), ("e", 1)):
        beside.add(name, prompt)
    for _ in range(3):
        beside.step(gone)
    beside.finish("b", gone)
    beside.state(gone)
    beside.abort("d")
    beside.state(gone)
    beside.step(gone)
    beside.abort("nobody")
    beside.abort("b")
    beside.state("`abort` with an unknown name changes nothing.")
    beside.finish("e", gone)
    beside.abort("a")
    beside.state(gone)
    twice = "`add` with a name that is waiting or running raises a ValueError and changes nothing."
    beside.add("q", 45)
    for name in ("c", "q"):  # one that runs, and one that waits
        try:
            raised = (
                beside.student.ask("call", "Queue", "add", of=beside.handle, args=(name, 3)) and ""
            )
        except StudentError as error:
            raised = error.text.rsplit("\n", 1)[-1]
        expect(raised.startswith("ValueError")).is_true(
            cause=twice, detail=raised or "nothing was raised"
        )
        beside.state(twice)
    ask_refused_names(student, twice)
    beside.abort("q")
    beside.add("b", 5)
    beside.add("a", 2)
    beside.add("w", 30)
    beside.finish("w", "A request that was never admitted has generated 0 tokens.")
    for _ in range(2):
        beside.step("A name that has left may be added again, as a new request behind the others.")
    beside.finish("b", gone)
    beside.finish("a", "A reused name is a new request: tokens of the earlier one do not count.")
    beside.finish("c", gone)
    beside.state(gone)
    one, other = Beside(student, 5, 2), Beside(student, 9, 3)
    for each in (one, other):
        each.add("same", 3)
    one.step("Each queue has its own requests.")
    other.state("Each queue has its own requests.")
    other.step("Each queue has its own requests.")


PUT_BACK = (
    "Without a free block, the running request that came last gives up its blocks, waits,"
    " and later recomputes all its tokens."
)


@queue.stage("preemption", points=2, after="enough blocks")
def test_the_last_that_came_is_put_back(student, rng):
    beside = Beside(student, 4, 2)
    for name, prompt in (("a", 3), ("b", 2), ("c", 1)):
        beside.add(name, prompt)
    for _ in range(4):
        beside.step(f"{PUT_BACK} No request overtakes.")
    beside.finish("a", "`finish` returns the number of generated tokens.")
    for _ in range(2):
        beside.step(PUT_BACK)
    for blocks, size, prompts in (
        (3, 1, (1, 1)),
        (2, 4, (3, 4)),
        (5, 2, (1, 2, 3)),
        (6, 3, (6, 1, 1, 2)),
        (4, 4, (4, 1, 4, 1)),
        (3, 4, (1, 4, 1)),
    ):
        beside = Beside(student, blocks, size)
        for place, prompt in enumerate(prompts):
            beside.add(f"{'zyxw'[place]}", prompt)
        for _ in range(blocks * size - sum(prompts[:1])):
            beside.step(PUT_BACK)
        first = beside.right.here[0][0]
        beside.finish(first, "`finish` returns the number of generated tokens.")
        beside.step(f"{PUT_BACK} Readmission keeps arrival order.")
        if len(beside.right.here) > 1:
            last = beside.right.here[-1][0]
            beside.finish(
                last,
                (
                    "`finish` returns the number of generated tokens, from before and after a"
                    " preemption."
                ),
            )
            beside.state("A preempted request holds no blocks: they must not be freed twice.")


@queue.stage("random commands", points=1, after="preemption")
def test_a_long_afternoon(student, rng):
    for blocks, size, number in ((9, 3, 60), (20, 2, 60), (300, 7, 40), (5, 1, 40)):
        beside, room = Beside(student, blocks, size), blocks * size
        for turn in range(number):
            for name in [one[0] for one in beside.right.here if one[1] + one[2] >= room]:
                beside.finish(
                    name,
                    (
                        "`finish` returns the number of generated tokens, from before and after"
                        " a preemption."
                    ),
                )
            if whole(rng, 0, 2) == 0 or not beside.right.here:
                beside.add(f"r{turn}", whole(rng, 1, max(1, room // 3)))
            if whole(rng, 0, 7) == 0:
                place = whole(rng, 0, len(beside.right.here) - 1)
                (
                    beside.abort
                    if turn % 2
                    else lambda name: beside.finish(
                        name, ("`finish` returns the number of generated tokens.")
                    )
                )(beside.right.here[place][0])
            beside.step(f"Random commands fail. {PUT_BACK}")
    handed = Beside(student, 6, 2)
    handed.add("a", 3)
    handed.add("b", 11)
    handed.step("The first fits, the second does not.")
    handed.state("Reading `running` or `waiting` twice gives the same list.")
