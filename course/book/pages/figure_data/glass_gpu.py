"""The figure `glass-gpu`: one launch of a kernel, access by access.

    from course.book.pages.figure_data.glass_gpu import glass_gpu
    glass_gpu({"yours": lambda: add(x, y, out, 4)})

It works in a notebook and on a page, with a student's kernel or one of ours: the harness of the
checks traces the launch (see `autograder.checks.kernels.traces`).
"""

from collections.abc import Callable, Mapping

from autograder.checks.kernels.traces import traced
from course.book.pages.figures import Figure, figure
from reference_impl.measure.roofline import A100, H100

TASK = "Step through the launch. Which elements does each program instance access?"
CAPTION = (
    "Each box is a program instance, each cell an element of a tensor. Light cells were accessed by"
    " the current instance before; a red frame marks a data race, red text an access out of bounds."
    " Bytes are what loads and stores ask for, before any cache. The table gives the roofline for"
    " the whole launch on NVIDIA's published peaks, products in 16 bits without sparsity."
)


def glass_gpu(
    launches: Mapping[str, Callable[[], object]],
    task: str = TASK,
    caption: str = CAPTION,
    alt: str = "",
    id: str | None = None,
) -> Figure:
    """The figure of the first launch that each function starts, by the name of its button."""
    runs = [
        {"key": str(number), "label": label, "trace": traced(launch)}
        for number, (label, launch) in enumerate(launches.items())
    ]
    machines = [
        {"label": one.name.split()[0], "flops": one.flops, "bandwidth": one.bandwidth}
        for one in (A100, H100)
    ]
    first = runs[0]["trace"]
    alt = alt or (
        f"Program instances of {first['kernel']} on the left, its tensors on the right, with the"
        " elements that one instance accesses."
    )
    data = {"task": task, "runs": runs, "machines": machines}
    return figure("glass-gpu", data, caption=caption, alt=alt, id=id)
