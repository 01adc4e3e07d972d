"""Checks of chapter 12, part 4: the short answer."""

from autograder.checks.protocol import Sample, short_answer

BOOK = "12-llama"

short_answer(
    "12.forty_users",
    points=5,
    see=f"{BOOK}/cache#how-many-bytes",
    rubric={
        "the count": (
            1,
            (
                "works out 320 KiB (327,680 bytes) a token and 1.25 GiB a user of 4,096 tokens, and"
                " that 50 GiB hold 40 of them (half where one of the three is missing or wrong)"
            ),
        ),
        "the colleague": (
            1,
            (
                "says that the cache grows with the length itself, each token adding the same bytes"
                " (what grows with the square is the total work of attention, or scores); and that"
                " queries are not in the cache, so that there is nothing to drop (half for one of"
                " the two)"
            ),
        ),
        "three remedies": (
            1.5,
            (
                "three that differ in kind, half a point each: fewer bits per value; room given out"
                " as tokens come, in blocks, or less reserved; a shorter context or a sliding"
                " window; fewer KV heads; fewer or shared layers; keys and values moved to the"
                " host, or shared prefixes; another GPU, or weights in fewer bits"
            ),
        ),
        "with bytes": (
            1,
            (
                "says for at least two of them in numbers what they give: for example 8 bits: 160"
                " KiB a token and 80 users; 1,024 tokens used on average: 160 users; 4 KV heads:"
                " 160 KiB; a second GPU of 50 GiB: 80 users (half for one)"
            ),
        ),
        "what it costs": (
            0.5,
            (
                "says for one of them what is paid: rounding; users who have to wait or be put out"
                " when all write long texts; a forgotten beginning; training, because KV heads"
                " cannot be taken out of a trained model; money; time to move"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "The KV cache is very large for 70B models. You should use quantization, PagedAttention"
            " or a smaller model, and halve the context because attention is quadratic.",
            {"three remedies": 1},
            "Names two that hold, bits and blocks, and *a smaller model* without saying which"
            " factor changes. No number, and it follows the colleague's mistake.",
        ),
        Sample(
            "Half",
            "One token has 2 x 80 x 8 x 128 x 2 bytes = 320 KB, so a user has 1.25 GB and 40 users"
            " 50 GB. The colleague is wrong because memory is linear. Remedies: int8 cache gives 80"
            " users. A context of 2,048 gives 80 users too. Multi-query attention.",
            {"the count": 1, "the colleague": 0.5, "three remedies": 1.5, "with bytes": 1},
            "Nothing on the queries, and no remedy has a price: multi-query attention is not to be"
            " had without training.",
        ),
        Sample(
            "Good",
            "Keys and values: 2 * 80 layers * 8 heads * 128 * 2 bytes = 327,680 bytes a token,"
            " times 4,096 = 1.25 GiB, and 50 / 1.25 = 40. The cache grows linearly; queries are"
            " never stored. (1) Store it in 8 bits: 160 KiB a token, 80 users, with some rounding."
            " (2) Give out memory in blocks: if users have 1,024 tokens on average, 160 fit. (3)"
            " Buy a second card.",
            {
                "the count": 1,
                "the colleague": 1,
                "three remedies": 1.5,
                "with bytes": 1,
                "what it costs": 0.5,
            },
            "All rows: the rounding is a price, and two remedies have numbers.",
        ),
        Sample(
            "Strong",
            "Each token adds a key and a value in 80 layers and 8 KV heads of size 128, 2 bytes"
            " each: 320 KiB. 4,096 of them are 1.25 GiB, and 40 users are the 50 GiB. So it is a"
            " straight line in the length: the square is in the work of attention over a whole"
            " text. Queries are used once and thrown away; only 8 heads are kept, or it would be 5"
            " users. First I would stop reserving: most users have perhaps 600 tokens, in blocks of"
            " 16 that is 190 MiB a user and some 270 users, and if all write long at once somebody"
            " has to wait. Then 8 bits for keys and values, 160 KiB a token, which doubles that and"
            " has to be tested for quality. A window of 1,024 would give 160 users at any length,"
            " but forgets the beginning. To go from 8 to 4 KV heads would halve the bytes, but"
            " needs training.",
            {
                "the count": 1,
                "the colleague": 1,
                "three remedies": 1.5,
                "with bytes": 1,
                "what it costs": 0.5,
            },
            "All rows, and it names what needs training.",
        ),
    ],
)
