"""Inside the sandbox torch behaves as at home: a sweep over its public rooms, the same lines run in
both places.
"""

import pytest

from autograder.checks.assertions.values import same
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, open_student

pytestmark = pytest.mark.sandbox

SWEEP = {
    "generator": "torch.rand(3, generator=torch.Generator().manual_seed(3))",
    "generator_clone": (
        "torch.randint(9, (4,), generator=torch.Generator(device='cpu').manual_seed(1))"
    ),
    "manual_seed": "(torch.manual_seed(5), torch.randn(4))[1]",
    "fork_rng": "fork()",
    "testing_close": "str(torch.testing.assert_close(torch.ones(2), torch.ones(2)))",
    "testing_differs": "message(lambda: torch.testing.assert_close(torch.ones(2), torch.zeros(2)))",
    "testing_make": (
        "list(torch.testing.make_tensor((2, 3), dtype=torch.float32, device='cpu').shape)"
    ),
    "func_grad": "torch.func.grad(lambda x: (x ** 3).sum())(torch.arange(3.))",
    "func_vmap": "torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.).reshape(2, 3))",
    "vmap": "torch.vmap(lambda x: x.softmax(0) @ x)(torch.arange(6.).reshape(2, 3))",
    "jacrev": "torch.func.jacrev(torch.sin)(torch.arange(3.))",
    "jacfwd": "torch.func.jacfwd(torch.sin)(torch.arange(3.))",
    "hessian": "torch.func.hessian(lambda x: (x ** 3).sum())(torch.arange(3.))",
    "jvp": "torch.func.jvp(torch.exp, (torch.zeros(2),), (torch.ones(2),))[1]",
    "vjp": "torch.func.vjp(torch.exp, torch.zeros(2))[1](torch.ones(2))[0]",
    "functional_call": (
        "torch.func.functional_call(linear(), {'weight': torch.ones(1, 2), 'bias': torch.ones(1)},"
        " torch.ones(1, 2)).detach()"
    ),
    "autograd_grad": (
        "torch.autograd.grad((leaf := torch.ones(2, requires_grad=True)).pow(2).sum(), leaf)[0]"
    ),
    "autograd_jacobian": "torch.autograd.functional.jacobian(torch.sin, torch.zeros(2))",
    "gradcheck": (
        "torch.autograd.gradcheck(torch.sin, torch.zeros(2, dtype=torch.float64,"
        " requires_grad=True))"
    ),
    "custom_function": "custom()",
    "checkpoint": "checkpointed()",
    "linalg_svd": "torch.linalg.svd(torch.diag(torch.tensor([3., 2.])))[1]",
    "linalg_qr": "torch.linalg.qr(torch.eye(2))[1].abs()",
    "linalg_solve": "torch.linalg.solve(2 * torch.eye(2), torch.ones(2))",
    "linalg_eigh": "torch.linalg.eigvalsh(torch.diag(torch.tensor([1., 2.])))",
    "linalg_norm": "torch.linalg.vector_norm(torch.tensor([3., 4.]))",
    "linalg_pinv": "torch.linalg.pinv(2 * torch.eye(2))",
    "linalg_cholesky": "torch.linalg.cholesky(4 * torch.eye(2))",
    "linalg_lstsq": "torch.linalg.lstsq(torch.eye(2), torch.ones(2, 1)).solution",
    "fft": "torch.fft.ifft(torch.fft.fft(torch.arange(4.))).real",
    "rfft": "torch.fft.irfft(torch.fft.rfft(torch.arange(4.)), n=4)",
    "sparse_coo": (
        "torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2), (2, 2)).to_dense()"
    ),
    "sparse_mm": "torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 2))",
    "sparse_csr": "torch.eye(2).to_sparse_csr().to_dense()",
    "sparse_softmax": "torch.sparse.softmax(torch.eye(2).to_sparse(), dim=1).to_dense()",
    "special": (
        "torch.special.logsumexp(torch.zeros(3), 0) + torch.special.expit(torch.zeros(())) +"
        " torch.special.gammaln(torch.tensor(4.))"
    ),
    "distributions_categorical": "torch.distributions.Categorical(logits=torch.zeros(4)).entropy()",
    "distributions_normal": "torch.distributions.Normal(0., 1.).log_prob(torch.zeros(2))",
    "distributions_kl": (
        "torch.distributions.kl_divergence(torch.distributions.Normal(0., 1.),"
        " torch.distributions.Normal(1., 1.))"
    ),
    "distributions_sample": (
        "(torch.manual_seed(0), torch.distributions.Multinomial(5, torch.ones(3)).sample())[1]"
    ),
    "clip_grad": "clipped()",
    "nn_parametrize": "spectral()",
    "nn_rnn_utils": (
        "torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)"
    ),
    "nn_packed": (
        "torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 3, 1), torch.tensor([3, 2]),"
        " batch_first=True).data"
    ),
    "nn_vector": "torch.nn.utils.parameters_to_vector(linear().parameters()).detach()",
    "nn_init": "torch.nn.init.orthogonal_(torch.zeros(2, 2)).pow(2).sum()",
    "functional_sdpa": (
        "torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 3, 4)] * 3,"
        " is_causal=True)"
    ),
    "functional_losses": (
        "torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 2]),"
        " label_smoothing=0.1)"
    ),
    "functional_embedding_bag": (
        "torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), torch.eye(2), mode='mean')"
    ),
    "functional_unfold": "torch.nn.functional.unfold(torch.arange(9.).reshape(1, 1, 3, 3), 2)",
    "multihead": (
        "(torch.manual_seed(0), torch.nn.MultiheadAttention(4, 2, batch_first=True)(*[torch.ones(1,"
        " 3, 4)] * 3)[0].detach())[1]"
    ),
    "transformer_layer": (
        "(torch.manual_seed(0), torch.nn.TransformerEncoderLayer(4, 2, 8,"
        " batch_first=True).eval()(torch.ones(1, 3, 4)).detach())[1]"
    ),
    "lstm": "(torch.manual_seed(0), torch.nn.LSTM(2, 3)(torch.ones(4, 1, 2))[0].detach())[1]",
    "gru": "(torch.manual_seed(0), torch.nn.GRU(2, 3)(torch.ones(4, 1, 2))[0].detach())[1]",
    "conv": "torch.nn.functional.conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3), padding=1)",
    **{
        f"optim_{name}": f"step(torch.optim.{name})"
        for name in (
            "SGD",
            "Adam",
            "AdamW",
            "Adagrad",
            "Adadelta",
            "Adamax",
            "NAdam",
            "RAdam",
            "RMSprop",
            "Rprop",
            "ASGD",
        )
    },
    "optim_lbfgs": "lbfgs()",
    "schedulers": "schedule()",
    "swa": "averaged()",
    "einsum": "torch.einsum('bij,bjk->bik', torch.ones(1, 2, 3), torch.ones(1, 3, 2))",
    "meta": "list((torch.empty(2, 3, device='meta') @ torch.empty(3, 5, device='meta')).shape)",
    "meta_softmax": "list(torch.empty(2, 3, device='meta').softmax(-1).cumsum(0).shape)",
    "meta_svd": "list(torch.linalg.svd(torch.empty(2, 3, device='meta'))[1].shape)",
    "fake_mode": "faked()",
    "autocast": "mixed()",
    "amp_scaler": "torch.amp.GradScaler('cpu', enabled=False).get_scale()",
    "dispatch_mode": "counted()",
    "function_mode": "moded()",
    "masked": (
        "torch.masked.masked_tensor(torch.arange(3.), torch.tensor([True, False,"
        " True])).sum().get_data()"
    ),
    "nested": "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to_padded_tensor(0.)",
    "quantize": "torch.quantize_per_tensor(torch.arange(3.), 0.5, 0, torch.qint8).dequantize()",
    "bfloat16": "torch.ones(2, dtype=torch.bfloat16) @ torch.ones(2, 2, dtype=torch.bfloat16)",
    "complex": "torch.view_as_real(torch.polar(torch.ones(2), torch.zeros(2)))",
    "unique": "torch.unique(torch.tensor([3, 1, 3]), return_counts=True)[1]",
    "scatter_reduce": (
        "torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.arange(3.), 'amax')"
    ),
    "histogram": "torch.histc(torch.arange(4.), 2)",
    "bucketize": "torch.bucketize(torch.tensor([0.5, 1.5]), torch.arange(3.))",
    "save_and_load": "saved()",
    "data_loader": "torch.stack(list(torch.utils.data.DataLoader(torch.arange(4.), batch_size=2)))",
    "compile_eager": "torch.compile(lambda x: x.sin() + 1, backend='eager')(torch.zeros(2))",
    "export": "exported()",
    "fx": "str(torch.fx.symbolic_trace(torch.nn.ReLU()).graph).count('relu')",
    "jit_script": "torch.jit.script(torch.nn.ReLU())(torch.tensor([-1., 1.]))",
    "jit_trace": "torch.jit.trace(torch.sin, torch.zeros(2))(torch.zeros(2))",
    "profiler": "profiled()",
    "numpy": "np.linalg.svd(np.eye(2))[1] + np.random.default_rng(0).random(2)",
    "scipy": "scipy.special.softmax(np.zeros(2)) + scipy.stats.norm.cdf(np.zeros(2))",
}
HELPERS = """
import io
import numpy as np, scipy.special, scipy.stats, torch, torch.utils.checkpoint
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

def message(call):
    try: call()
    except AssertionError as error: return str(error)
def linear():
    layer = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(layer.weight, 0.5), torch.nn.init.zeros_(layer.bias)
    return layer
def fork():
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[]): torch.rand(9)
    return torch.rand(2)
def checkpointed():
    x = torch.ones(2, requires_grad=True)
    torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
    return x.grad
def custom():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): ctx.save_for_backward(x); return 2 * x
        @staticmethod
        def backward(ctx, g): return 3 * g
    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad
def clipped():
    layer = linear(); layer(torch.ones(1, 2)).sum().backward()
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
    return layer.weight.grad
def spectral():
    torch.manual_seed(0)
    return torch.nn.utils.parametrizations.weight_norm(linear())(torch.ones(1, 2)).detach()
def step(kind):
    layer = linear(); optimiser = kind(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimiser.zero_grad(); layer(torch.ones(1, 2)).pow(2).sum().backward(); optimiser.step()
    return layer.weight.detach()
def lbfgs():
    layer = linear(); optimiser = torch.optim.LBFGS(layer.parameters(), lr=0.1)
    def closure():
        optimiser.zero_grad(); loss = layer(torch.ones(1, 2)).pow(2).sum(); loss.backward()
        return loss
    optimiser.step(closure)
    return layer.weight.detach()
def schedule():
    optimiser = torch.optim.SGD(linear().parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 10)
    optimiser.step(); plan.step()
    return plan.get_last_lr()[0]
def averaged():
    model = torch.optim.swa_utils.AveragedModel(linear()); model.update_parameters(linear())
    return model(torch.ones(1, 2)).detach()
def faked():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(): return list((torch.empty(2, 3) @ torch.empty(3, 4)).shape)
def mixed():
    with torch.autocast("cpu", dtype=torch.bfloat16): return torch.ones(2, 2) @ torch.ones(2, 2)
def counted():
    seen = []
    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            seen.append(str(f)); return f(*args, **(kwargs or {}))
    with Counter(): torch.ones(2).softmax(0)
    return seen
def moded():
    seen = []
    class Counter(TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            seen.append(f.__name__); return f(*args, **(kwargs or {}))
    with Counter(): torch.ones(2) + 1
    return seen
def saved():
    file = io.BytesIO(); torch.save(linear().state_dict(), file); file.seek(0)
    return torch.load(file)["weight"]
def exported():
    return torch.export.export(linear(), (torch.ones(1, 2),)).module()(torch.ones(1, 2)).detach()
def profiled():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ones(2).sum()
    return "aten::sum" in [one.key for one in profile.key_averages()]
"""
NOTEBOOK = (
    HELPERS
    + "\n".join(f"def sweep_{name}(): return {line}" for name, line in SWEEP.items())
    + """
def compiled(): return torch.compile(lambda x: x + 1)(torch.zeros(1))
def own_slip(): return torch.nn.functional.no_such_name
def own_import(): import reference_impl.no_such_part
def absent_package(): import a_package_that_is_nowhere
def half_loaded():
    import torch.nn.functional as there, json
    program = "import json\\ndef broken(): return json.no_such_part"
    exec(compile(program, "/usr/lib/library.py", "exec"), space := {})
    return space["broken"]()
"""
)


@pytest.fixture(scope="module")
def both():
    namespace: dict = {"__name__": "__main__"}
    exec(NOTEBOOK, namespace)
    with open_student([Cell("all", NOTEBOOK)]) as inside:
        assert inside.cell_errors == []
        yield LocalStudent(namespace), inside


def outcome(student, name):
    try:
        return student.call(name).value
    except StudentError as error:
        return f"{error.kind}: {error.text}"


def test_torchs_public_rooms_give_inside_what_they_give_at_home(both):
    home, inside = both
    differs, faulty = {}, {}
    for name in SWEEP:
        left, right = outcome(home, f"sweep_{name}"), outcome(inside, f"sweep_{name}")
        if isinstance(left, str) and left.startswith(("error:", "unreadable:")):
            faulty[name] = left
        elif name != "testing_make" and not same(left, right):
            differs[name] = (left, right)
    assert faulty == {} and differs == {}


def test_the_compiler_is_refused_in_words(both):
    with pytest.raises(
        StudentError, match="torch.compile has no compiler while grading; leave it out"
    ):
        both[1].compiled()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("own_slip", "error"),
        ("own_import", "error"),
        ("absent_package", "error"),
        ("half_loaded", "fault"),
    ],
)
def test_a_library_that_fails_is_the_rooms_fault_and_a_slip_is_the_students(both, name, kind):
    with pytest.raises(StudentError) as caught:
        both[1].call(name)
    assert caught.value.kind == kind
