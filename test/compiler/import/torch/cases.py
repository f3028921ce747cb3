"""Small functions of torch, each with the arguments to call it with, by kind of operator.

case(function, *arguments): an argument is a tensor made by f (floats), i (integers) or p (booleans) of sizes that are
numbers or the symbols "b" and "s". `static=True` says that torch itself cannot export the function with symbolic sizes.
"""
import math

import torch
import torch.nn.functional as F

KINDS = {}


class Arg:
    def __init__(self, kind, sizes, dtype, low, high):
        self.kind, self.sizes, self.dtype, self.low, self.high = kind, sizes, dtype, low, high

    def make(self, generator, symbols):
        sizes = [symbols.get(size, size) for size in self.sizes]
        if self.kind == "p":
            return torch.rand(sizes, generator=generator) < 0.5
        if self.kind == "i":
            return torch.randint(self.low, self.high, sizes, generator=generator).to(self.dtype)
        return (torch.rand(sizes, generator=generator) * (self.high - self.low) + self.low).to(self.dtype)


def f(*sizes, dtype=torch.float32, low=-2.0, high=2.0):
    return Arg("f", sizes, dtype, low, high)


def i(*sizes, dtype=torch.int64, low=-5, high=6):
    return Arg("i", sizes, dtype, low, high)


def p(*sizes):
    return Arg("p", sizes, torch.bool, 0, 1)


class Case:
    def __init__(self, name, function, args, static, tolerance):
        self.name, self.function, self.args, self.static, self.tolerance = name, function, args, static, tolerance


def kind(name):
    cases = KINDS.setdefault(name, [])

    def case(function, *args, static=False, tolerance=2e-5):
        cases.append(Case(f"{name}[{len(cases)}]", function, args, static, tolerance))
    return case


# --- element by element -------------------------------------------------------------------------------------------

case = kind("unary")
for name in ("abs", "sin", "cos", "tan", "atan", "asinh", "sinh", "cosh", "tanh", "erf", "exp", "exp2", "expm1", "ceil",
             "floor", "trunc", "round", "frac", "sign", "sgn", "neg", "positive", "sigmoid", "relu", "square",
             "deg2rad", "rad2deg", "sinc", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "logical_not"):
    case(lambda x, g=getattr(torch, name): g(x), f("b", 3, "s"))
for name in ("asin", "acos", "atanh", "logit"):
    case(lambda x, g=getattr(torch, name): g(x), f("b", "s", low=0.01, high=0.99))
for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "acosh", "erfc"):
    case(lambda x, g=getattr(torch, name): g(x), f("b", "s", low=1.1, high=3))
for name in ("sin", "exp", "sqrt", "sigmoid", "abs", "neg", "sign", "ceil", "round", "square", "isnan", "isinf", "log1p"):
    case(lambda x, g=getattr(torch, name): g(x), i("b", "s", low=1))
case(lambda x: torch.nan_to_num(x / x.round(), nan=3.0, posinf=7.0), f("b", "s"))
case(lambda x: torch.nan_to_num(x / (x - x.round()) * 1e38), f("b", "s"))
case(lambda x: torch.round(x, decimals=2), f("b", "s"))
case(lambda x: torch.round(x * 100, decimals=-1), f("b", "s"))
case(lambda x: ~x, i("b", "s"))
case(lambda x: ~x, p("b", "s"))
case(lambda x: torch.isinf(1 / (x.round())) & torch.isnan(x.round() / x.round()), f("b", "s"))

case = kind("activation")
for function in (F.silu, F.gelu, F.relu6, F.hardtanh, F.hardsigmoid, F.hardswish, F.elu, F.selu, F.celu, F.leaky_relu,
                 F.mish, F.softplus, F.softsign, F.tanhshrink, F.hardshrink, F.softshrink, F.logsigmoid):
    case(lambda x, g=function: g(x), f("b", "s", 4, low=-4, high=4))
case(lambda x: F.gelu(x, approximate="tanh"), f("b", "s"))
case(lambda x: F.elu(x, alpha=0.3), f("b", "s"))
case(lambda x: F.celu(x, alpha=0.7), f("b", "s"))
case(lambda x: F.leaky_relu(x, 0.2), f("b", "s"))
case(lambda x: F.hardtanh(x, -0.5, 0.25), f("b", "s"))
case(lambda x: F.softplus(x, beta=3.0, threshold=2.0), f("b", "s"))
case(lambda x: F.hardshrink(x, 0.9) + F.softshrink(x, 0.3), f("b", "s"))
case(lambda x: F.threshold(x, 0.1, 20.0), f("b", "s"))
case(lambda x, w: F.prelu(x, w), f("b", 3, "s"), f(3))
case(lambda x, w: F.prelu(x, w), f("b", 3, "s"), f(1))
case(lambda x: F.glu(x, dim=1), f("b", 6, "s"))
case(lambda x: F.rrelu(x, 0.1, 0.3, training=False), f("b", "s"))
case(lambda x: F.dropout(x, 0.5, training=False) + F.alpha_dropout(x, 0.5, training=False), f("b", "s"))

case = kind("binary")
for name in ("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "logaddexp",
             "eq", "ne", "lt", "le", "gt", "ge", "floor_divide", "remainder", "fmod", "heaviside"):
    g = getattr(torch, name)
    case(lambda x, y, g=g: g(x, y), f("b", 3, "s"), f("b", 3, "s"))
    case(lambda x, y, g=g: g(x, y), f("b", 1, "s"), f(3, "s"))
for name in ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "lt", "ge", "floor_divide", "remainder", "fmod",
             "bitwise_and", "bitwise_or", "bitwise_xor"):
    g = getattr(torch, name)
    case(lambda x, y, g=g: g(x, y), i("b", "s"), i("b", "s", low=1))
    case(lambda x, y, g=g: g(-x, -y), i("b", "s", dtype=torch.int32), i("s", dtype=torch.int32, low=1))
case(lambda x, y: torch.div(x, y, rounding_mode="floor"), f("b", "s"), f("b", "s"))
case(lambda x, y: torch.div(x, y, rounding_mode="trunc"), f("b", "s"), f("b", "s"))
case(lambda x, y: torch.div(x, y, rounding_mode="floor"), i("b", "s"), i("b", "s", low=1))
case(lambda x, y: torch.div(x, y, rounding_mode="trunc"), i("b", "s"), i("b", "s", low=1))
case(lambda x, y: torch.div(x, -y, rounding_mode="floor"), i("b", "s"), i("b", "s", low=1))
case(lambda x, y: torch.add(x, y, alpha=2.5), f("b", "s"), f("b", "s"))
case(lambda x, y: torch.sub(x, y, alpha=3), i("b", "s"), i("b", "s"))
case(lambda x: torch.rsub(x, 2.0, alpha=0.5), f("b", "s"))
case(lambda x: 1 - x, f("b", "s"))
case(lambda x: 2.0 / x, f("b", "s", low=1))
case(lambda x, y: torch.pow(x, y), f("b", "s", low=0.5), f("b", "s"))
case(lambda x: (x ** 2, x ** 3, x ** 0.5, x ** -1), f("b", "s", low=0.5))
case(lambda x: (x ** 2, 2 ** x), i("b", "s", low=0))
case(lambda x: 2.5 ** x, f("b", "s"))
case(lambda x: torch.float_power(x, 2), i("b", "s"))
case(lambda x, y: torch.xlogy(x, y), f("b", "s"), f("b", "s", low=0.1))
case(lambda x, y: torch.special.xlog1py(x, y), f("b", "s"), f("b", "s", low=0.1))
case(lambda x, y: torch.ldexp(x, y), f("b", "s"), i("b", "s"))
case(lambda x, y: (x & y, x | y, x ^ y, torch.logical_and(x, y), torch.logical_xor(x, y)), p("b", "s"), p("s"))
case(lambda x, y: (torch.logical_or(x, y), torch.logical_and(x, y)), f("b", "s"), i("b", "s"))
case(lambda x: (x << 2, x >> 1, x & 3, x | 4, x ^ 7), i("b", "s", low=0, high=100))
case(lambda x, y: (x < y, x <= y, x == y), p("b", "s"), p("b", "s"))
case(lambda x, y, z: torch.where(x, y, z), p("b", "s"), f("b", "s"), f("s"))
case(lambda x, y: torch.where(x, y, 0.0), p("b", "s"), f("b", "s"))
case(lambda x, y: torch.where(x > 0, 1, y), f("b", "s"), f("b", "s"))
case(lambda x, m: x.masked_fill(m, -math.inf).softmax(-1).nan_to_num(), f("b", "s"), p("b", "s"))
case(lambda x: (x.clamp(-1, 1), x.clamp(min=0.5), x.clamp_max(0.25)), f("b", "s"))
case(lambda x, y, z: torch.clamp(x, y, z), f("b", "s"), f("s", high=0), f("s", low=0))
case(lambda x: x.clamp(-2, 3), i("b", "s"))
case(lambda x: x.clamp(-1.5, 2.5), i("b", "s"))
case(lambda x, y, z: torch.lerp(x, y, z), f("b", "s"), f("b", "s"), f("s"))
case(lambda x, y: torch.lerp(x, y, 0.3), f("b", "s"), f("b", "s"))
case(lambda x, y, z: torch.addcmul(x, y, z, value=0.5), f("b", "s"), f("b", "s"), f("s"))
case(lambda x, y, z: torch.addcdiv(x, y, z, value=2), f("b", "s"), f("b", "s"), f("s", low=1))
case(lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5)),
     f("b", "s"), f("b", "s"))
case(lambda x, y: (F.mse_loss(x, y, reduction="none"), F.l1_loss(x, y, reduction="sum")), f("b", "s"), f("b", "s"))

case = kind("promotion")
case(lambda x, y: x + y, i("b", "s"), f("b", "s"))
case(lambda x, y: x + y, i("b", "s", dtype=torch.int32), i("b", "s"))
case(lambda x, y: x * y, i("b", "s", dtype=torch.uint8, low=0), i("b", "s", dtype=torch.int8))
case(lambda x, y: x * y, p("b", "s"), i("b", "s", dtype=torch.int16))
case(lambda x: (x + 1, x * 2.5, x + True), i("b", "s", dtype=torch.int32))
case(lambda x: (x + 1, x * 2.5), p("b", "s"))
case(lambda x, y: x + y, p("b", "s"), p("b", "s"))
case(lambda x, y: (x.half() + y).float(), f("b", "s"), i("b", "s"), tolerance=2e-3)
case(lambda x, y: (x.half() + y.bfloat16()), f("b", "s"), f("b", "s"), tolerance=2e-2)
case(lambda x, y: (x.half() * y.sum()).float(), f("b", "s"), f("s"), tolerance=2e-2)
case(lambda x, y: x + y.sum().double(), f("b", "s"), f("s"))
case(lambda x, y: x + y.sum().long(), i("b", "s", dtype=torch.int8), f("s"))
case(lambda x: (x.half() * 1.1).float(), f("b", "s"), tolerance=2e-3)
case(lambda x: (x.bfloat16() + 1).float(), f("b", "s"), tolerance=2e-2)
case(lambda x, y: torch.where(x > 0, x, y), f("b", "s"), i("b", "s"))
case(lambda x, y: torch.cat([x, y]), f("b", "s"), i("b", "s"))
case(lambda x, y: torch.stack([x, y.double()]), f("b", "s"), f("b", "s"))
case(lambda x: (x / 2, x // 2, x % 2, x.float() / 2), i("b", "s"))
case(lambda x: (x.int(), x.bool(), x.double(), x.to(torch.uint8)), f("b", "s", low=0, high=9))
case(lambda x: (x.sum(), x.mean(), x.cumsum(0), x.prod()), f("b", 3, dtype=torch.float64))
case(lambda x: (x.sum(), x.sum(1), x.cumsum(0), x.prod(1), x.any(), x.all(0)), i("b", 3, dtype=torch.int32))
case(lambda x: (x.sum(), x.float().mean(), x.cumsum(0)), p("b", 3))
case(lambda x, y: x.eq(y), i("b", "s"), f("b", "s"))
case(lambda x, y: x.type_as(y), i("b", "s"), f("b", "s"))

# --- reductions ---------------------------------------------------------------------------------------------------

case = kind("reduce")
for name in ("sum", "mean", "amax", "amin"):
    g = getattr(torch, name)
    case(lambda x, g=g: (g(x, dim=1), g(x, dim=(0, 2), keepdim=True), g(x, dim=-1, keepdim=True)), f("b", 3, "s"))
case(lambda x: (x.sum(), x.mean(), x.max(), x.min(), x.prod()), f("b", 3, low=0.5))
case(lambda x: (x.max(1).values, x.max(1).indices, x.min(-1, keepdim=True)), f("b", 3, "s"))
case(lambda x: (x.argmax(), x.argmin(1), x.argmax(-1, keepdim=True)), f("b", 3, "s"))
case(lambda x: (x.any(), x.all(), x.any(1), x.all(-1, keepdim=True)), p("b", 3, "s"))
case(lambda x: (x.any(), x.all(1)), i("b", "s", low=0, high=2))
case(lambda x: (torch.any(x, dim=(0, 1)), torch.all(x, dim=(0, 1))), p("b", 3, "s"))
case(lambda x: (x.var(), x.std(), x.var(1), x.std(-1, unbiased=False), x.var((0, 2), keepdim=True)), f("b", 3, "s"))
case(lambda x: (torch.var_mean(x, dim=1), torch.std_mean(x, dim=(1, 2), correction=0)), f("b", 3, "s"))
case(lambda x: (x.logsumexp(1), x.logsumexp((0, 2), keepdim=True)), f("b", 3, "s"))
case(lambda x: (x.norm(), x.norm(dim=1), x.norm(p=1, dim=-1), x.norm(p=3, dim=1, keepdim=True)), f("b", 3, "s"))
case(lambda x: (torch.linalg.vector_norm(x, math.inf, 1), torch.linalg.vector_norm(x, -math.inf, 1),
                torch.linalg.vector_norm(x, 0, 1), torch.linalg.norm(x[0])), f("b", 3, "s"))
case(lambda x: (x.count_nonzero(), x.count_nonzero(1)), i("b", "s", low=0, high=2))
case(lambda x: (x.softmax(1), x.log_softmax(-1), x.softmax(0)), f("b", 3, "s"))
case(lambda x: F.softmax(x, dim=-1, dtype=torch.float64), f("b", 3, "s"))
case(lambda x: (x.cumsum(1), x.cumsum(-1), x.cumsum(0)), f("b", 3, "s"))
case(lambda x: (x.nansum(), (x / x.round()).nansum(1).nan_to_num()), f("b", "s"))
case(lambda x: torch.aminmax(x, dim=1), f("b", 3, "s"))
case(lambda x: (x.prod(1), x.prod(-1, keepdim=True)), f("b", 3, 4))
case(lambda x: (F.normalize(x, dim=1), F.normalize(x, p=1.0, dim=-1)), f("b", 3, "s"))
case(lambda x: (x.sum(()), x.max(0), x.argmax(0)), f())
case(lambda x: (x.half().sum(1).float(), x.bfloat16().mean(1).float()), f("b", 3), tolerance=2e-2)

# --- shapes -------------------------------------------------------------------------------------------------------

case = kind("view")
case(lambda x: (x.view(-1, 4), x.reshape(x.shape[0], 12), x.flatten(), x.flatten(1)), f("b", 3, 4))
case(lambda x: (x.view(x.shape[0], -1), x.reshape(-1, x.shape[2])), f("b", 3, "s"))
case(lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(1).squeeze(1), x[:, None, :]), f("b", "s"))
case(lambda x: (x.squeeze(), x.squeeze(1), x.squeeze((1, 3)), x.squeeze(0)), f("b", 1, "s", 1))
case(lambda x: (x.permute(2, 0, 1), x.transpose(0, 2), x.mT, x.movedim(0, 2), x.swapaxes(1, 2)), f("b", 3, "s"))
case(lambda x: (x.t(), x.T, torch.movedim(x, (0, 1), (1, 0))), f("b", "s"))
case(lambda x: (x.expand(-1, 4, -1), x.expand(2, x.shape[0], 4, x.shape[2]), x.broadcast_to(x.shape[0], 2, x.shape[2])),
     f("b", 1, "s"))
case(lambda x, y: (x.expand_as(y), x.view_as(y[:, :1]), y.reshape_as(y)), f("b", 1, "s"), f("b", 3, "s"))
case(lambda x: (x.repeat(2, 1, 3), x.repeat(2, 1, 1, 1), x.tile((2,))), f("b", 3, "s"))
case(lambda x: (x.repeat_interleave(3, 1), x.repeat_interleave(2, dim=-1)), f("b", 3, "s"))
case(lambda x: (x[:, 1:], x[..., :2], x[:, 0], x[:, -1], x[:, ::2], x[0]), f("b", 5, 4))
case(lambda x: (x[:, :, 1:], x[:, :, :-1], x[:, :, -1], x[:, :, 2:4]), f("b", 3, "s"))
case(lambda x: (x[:, :, ::2], x[:, :, 1::3]), f("b", 3, 11))
case(lambda x: (x.narrow(1, 1, 2), x.select(1, 2), torch.narrow(x, 2, 0, 3)), f("b", 4, "s"))
case(lambda x: (*x.split(2, 1), *x.chunk(2, 1), *torch.tensor_split(x, 3, 1), *x.split([1, 3, 1], 1)), f("b", 5, "s"))
case(lambda x: (*x.unbind(1), *torch.tensor_split(x, (1, 2), 1), *torch.chunk(x, 4, 1)), f("b", 3, "s"))
case(lambda x, y: (torch.cat([x, y], 1), torch.cat([x, x]), torch.stack([x, x], 1), torch.stack([x, x], -1)),
     f("b", 3, "s"), f("b", 2, "s"))
case(lambda x, y: (torch.hstack([x, y]), torch.vstack([x, x]), torch.dstack([x, x]), torch.column_stack([x[0], y[0]])),
     f(4, 3), f(4, 3))
case(lambda x: (x.flip(1), x.flip((0, 2)), torch.fliplr(x), torch.flipud(x)), f("b", 3, "s"))
case(lambda x: (x.roll(1, 1), x.roll((1, -1), (1, 2)), x.roll(2)), f("b", 3, 4))
case(lambda x: (torch.rot90(x), torch.rot90(x, 2), torch.rot90(x, -1, (1, 2))), f(2, 3, 4))
case(lambda x: (x.tril(), x.triu(1), x.tril(-1), x.triu(-2)), f("b", 5, 4))
case(lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, 1, 2)), f(4, 5, 6))
case(lambda x: (torch.diag_embed(x), torch.diag_embed(x, 1), torch.diag_embed(x, -2, 0, 2)), f("b", 3))
case(lambda x: (x.unfold(1, 2, 1), x.unfold(2, 3, 2)), f("b", 4, 9))
case(lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 0, 2), value=1.5), F.pad(x, (-1, 1))), f("b", 4, "s"))
case(lambda x: (F.pad(x, (1, 2), mode="reflect"), F.pad(x, (2, 1), mode="replicate"), F.pad(x, (1, 1), mode="circular")),
     f("b", 3, 5))
case(lambda x: (F.pad(x, (1, 2, 1, 0), mode="reflect"), F.pad(x, (1, 2, 2, 1), mode="replicate")), f("b", 3, 5, 4))
case(lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 4)), f("b", 8, 4, 6))
case(lambda x, y: torch.meshgrid(x, y, indexing="ij"), f(3), f(4))
case(lambda x, y: torch.meshgrid(x, y, indexing="xy"), f(3), f(4))
case(lambda x, y: torch.broadcast_tensors(x, y), f("b", 1), f(3))
case(lambda x: (torch.atleast_2d(x), torch.atleast_3d(x), x.ravel()), f("s"))
case(lambda x: x.unflatten(1, (2, 3)), f("b", 6, "s"))
case(lambda x: (x.contiguous(), x.clone(), x.detach(), x.transpose(0, 1).contiguous()), f("b", "s"))
case(lambda x: (x.select_scatter(x[:, 0] * 2, 1, 1), x.slice_scatter(x[:, :2] * 3, 1, 1, 3),
                x.slice_scatter(x[:, :2] * 3, 1, 0, 4, 2), x.diagonal_scatter(x[0, :4] * 0)), f(4, 4))
case(lambda x: (x.shape[0] + x.new_zeros(x.shape[1]), x.numel() + x.sum(), x.size(1) * 2), f("b", "s"))

case = kind("create")
case(lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 2.5), torch.empty_like(x).fill_(3)), f("b", "s"))
case(lambda x: (x.new_zeros(2, 3), x.new_full((2, 2), 4), x.new_ones(x.shape[0])), f("b", "s"))
case(lambda x: (torch.arange(5), torch.arange(2, 9, 3), torch.arange(x.shape[0]), torch.arange(0.0, 1.0, 0.3), x + 0), f("b", "s"))
case(lambda x: (torch.arange(x.shape[1], dtype=torch.float32) + x, torch.arange(5, 0, -2, dtype=torch.int32)), f("b", "s"))
case(lambda x: (torch.linspace(0, 1, 7), torch.linspace(-2, 3, 1), torch.eye(3), torch.eye(2, 4), x + 0), f("b", "s"))
case(lambda x: (torch.zeros(x.shape[0], 2), torch.ones(3, dtype=torch.int64), torch.full((2,), True), torch.full((x.shape[1],), 7)), f("b", "s"))
case(lambda x: (torch.tensor(3.5) * x, torch.tensor([1.0, 2.0]).sum() + x, torch.scalar_tensor(2) + x), f("b", "s"))
case(lambda x: (torch.tril_indices(3, 4), torch.triu_indices(3, 3, 1), x + 0), f("b", "s"))
case(lambda x: F.one_hot(x, 7), i("b", "s", low=0, high=7))

case = kind("index")
case(lambda x, y: (x[y], x[:, y[:2] % 3], F.embedding(y, x[:, :, 0])), f(6, 3, 4), i("b", low=0, high=6))
case(lambda x, y: x.index_select(1, y), f("b", 5, "s"), i(3, low=0, high=5))
case(lambda x, y: (x.gather(1, y), torch.take_along_dim(x, y, 1)), f(3, 5), i(3, 3, low=0, high=5))
case(lambda x, y: torch.take(x, y), f(3, 4), i("b", low=0, high=12))
case(lambda x, y, z: (x[y, z], x[:, y, z], x[y, :, z], x[y[:, None], z]), f(6, 6, 6, 2), i(3, low=0, high=6), i(3, low=0, high=6))
case(lambda x, y: (x[:, None][y], x[y, None], x[..., y]), f(4, 4), i("b", low=-4, high=4))
case(lambda x: (x[[0, 2]], x[:, [1, 0]], x[torch.tensor([[0, 1], [2, 0]])]), f(3, 4))

case = kind("order")
case(lambda x: (x.topk(3, 1), x.topk(2, -1, largest=False)), f("b", 5, 7))
case(lambda x: (x.sort(1), x.sort(-1, descending=True), x.argsort(1), torch.sort(x, stable=True, dim=1)), f("b", 5, "s"))
case(lambda x: (x.sort(1).values, x.topk(4, 1).values), i("b", 6))
case(lambda x: (x.diff(), x.diff(dim=1), x.diff(n=2, dim=1), x.diff(prepend=x[..., :1])), f("b", 5, "s"))
case(lambda x: (x.cumprod(1), x.cumprod(-1)), f("b", 4, "s"))

case = kind("scatter")
case(lambda x, k, v: (x.scatter(1, k, v), x.scatter(1, k, 2.5), x.scatter_add(1, k, v)), f(3, 5), i(3, 4, low=0, high=5), f(3, 4))
case(lambda x, k, v: (x.scatter_reduce(1, k, v, "amax"), x.scatter_reduce(1, k, v, "sum"), x.scatter_reduce(1, k, v, "prod")),
     f(3, 5), i(3, 4, low=0, high=5), f(4, 6))
case(lambda x, v: (x.index_add(0, torch.tensor([2, 0, 2]), v), x.index_copy(0, torch.tensor([3, 1, 0]), v),
                   x.index_add(0, torch.tensor([1, 1, 0]), v, alpha=0.5)), f(4, "s"), f(3, "s"))
case(lambda x: (x.index_fill(1, torch.tensor([0, 2]), 7.0), x.index_copy(1, torch.tensor([1]), x[:, :1])), f("b", 4))
case(lambda x, v: (x.index_put((torch.tensor([0, 2, 0]),), v, accumulate=True), x.index_put((torch.tensor([3, 1, 2]),), v)),
     f(4, "s"), f(3, "s"))
case(lambda x, v: (x.index_put((torch.tensor([2, 0]), torch.tensor([0, 2])), v[0]), x.index_put((torch.tensor([[0], [2]]), torch.tensor([1, 3])), v[:2])),
     f(3, 4), f(3, 2))
case(lambda x, m: x.index_put((m,), torch.tensor(1.5)), f("b", 4), p("b", 4))

# --- products -----------------------------------------------------------------------------------------------------

case = kind("product")
case(lambda x, w, c: (F.linear(x, w, c), F.linear(x, w)), f("b", 8), f(6, 8), f(6))
case(lambda x, w, c: F.linear(x, w, c), f("b", "s", 8), f(6, 8), f(6))
case(lambda x, w: (F.linear(x, w), F.linear(x[0], w), x @ w[0]), f("b", 8), f(6, 8))
case(lambda x, y: (x @ y, torch.mm(x, y), torch.matmul(x, y[:, 0]), torch.matmul(x[0], y)), f("b", 8), f(8, "s"))
case(lambda x, y: (x @ y, torch.bmm(x, y)), f("b", 4, 8), f("b", 8, "s"))
case(lambda x, y: x @ y, f("b", 1, 4, 8), f(3, 8, 5))
case(lambda x, y: (torch.dot(x, y), torch.outer(x, y), torch.inner(x, y)), f(5), f(5))
case(lambda x, y: (torch.mv(x, y), torch.ger(y, y)), f("b", 5), f(5))
case(lambda x, y, z: (torch.addmm(x, y, z), torch.addmm(x, y, z, beta=0.5, alpha=2)), f(6), f("b", 8), f(8, 6))
case(lambda x, y, z: (torch.baddbmm(x, y, z), torch.baddbmm(x, y, z, beta=0, alpha=0.5), torch.addbmm(x[0], y, z)),
     f("b", 4, 6), f("b", 4, 8), f("b", 8, 6))
case(lambda x, y, z: (torch.addmv(x, y, z), torch.addr(y, x, z)), f(4), f(4, 6), f(6))
case(lambda x, y: (torch.einsum("bshd,bthd->bhst", x, y), torch.einsum("bshd,bthd->bh", x, y)), f("b", "s", 2, 4), f("b", "s", 2, 4))
case(lambda x, y: (torch.einsum("...ij,...jk->...ik", x, y), torch.einsum("bij,bjk", x, y), torch.einsum("bij->bji", x)),
     f("b", 3, 4), f("b", 4, 5))
case(lambda x: (torch.einsum("ii->i", x), torch.einsum("ii", x), torch.einsum("ij->j", x), torch.einsum("ij,jk,kl->il", x, x, x)), f(4, 4))
case(lambda x, y: (torch.tensordot(x, y, 1), torch.tensordot(x, x, ([0, 2], [0, 2]))), f("b", 3, 4), f(4, 5))
case(lambda x, y, w, c: F.bilinear(x, y, w, c), f("b", 3), f("b", 4), f(5, 3, 4), f(5))
case(lambda x, y: (torch.linalg.cross(x, y), torch.kron(x[0], y[0])), f("b", 3), f("b", 3))
case(lambda x, y: (F.cosine_similarity(x, y), F.pairwise_distance(x, y), torch.cdist(x, y)), f("b", 5), f("b", 5), tolerance=1e-4, static=True)
case(lambda x, y, z: torch.linalg.multi_dot([x, y, z]), f(6, 5), f(5, 4), f(4, 3))

# --- layers -------------------------------------------------------------------------------------------------------

case = kind("convolution")
case(lambda x, w, c: (F.conv1d(x, w, c), F.conv1d(x, w, c, stride=2, padding=1, dilation=2)), f("b", 4, "s"), f(6, 4, 3), f(6), static=True)
case(lambda x, w, c: (F.conv2d(x, w, c), F.conv2d(x, w, stride=(2, 1), padding=(1, 0))), f("b", 4, 8, 9), f(6, 4, 3, 3), f(6))
case(lambda x, w: (F.conv2d(x, w, groups=2), F.conv2d(x, w, groups=2, padding="same", dilation=2)), f("b", 4, 8, 9), f(6, 2, 3, 2))
case(lambda x, w: F.conv2d(x, w, groups=4, padding=1), f("b", 4, 8, 9), f(8, 1, 3, 3))
case(lambda x, w, c: F.conv3d(x, w, c, padding=1), f("b", 2, 4, 5, 6), f(3, 2, 3, 3, 3), f(3))
case(lambda x, w: F.conv2d(x, w, padding="valid"), f(4, 8, 9), f(6, 4, 3, 3))

case = kind("pool")
case(lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 3, 2, 1)), f("b", 3, 9))
case(lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, (2, 3), (1, 2), dilation=2)), f("b", 3, 9, 10))
case(lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)), f("b", 3, 9, 10))
case(lambda x: (F.max_pool2d(x, 3, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, ceil_mode=True),
                F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 2, 3, 1, ceil_mode=True)), f("b", 3, 9, 10))
case(lambda x: (F.avg_pool2d(x, 2, divisor_override=3), F.max_pool3d(x[:, :, None], (1, 2, 2))), f("b", 3, 8, 8))
case(lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_avg_pool2d(x, (4, None))), f("b", 3, 9, 10))
case(lambda x: (F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (3, 5)), F.adaptive_avg_pool1d(x[:, :, 0], 4)), f("b", 3, 9, 10))
case(lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(9, 8)), F.interpolate(x[:, :, 0], scale_factor=3)), f("b", 2, 3, 4))

case(lambda x, w, c: (F.conv_transpose2d(x, w, c), F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)), f("b", 4, 5, 6), f(4, 3, 3, 3), f(3))
case(lambda x, w: (F.conv_transpose2d(x, w, groups=2, dilation=2), F.conv_transpose1d(x[:, :, 0], w[:, :, 0], stride=3)), f("b", 4, 5, 6), f(4, 2, 3, 2))

case = kind("resample")
case(lambda x: (F.interpolate(x, scale_factor=2, mode="bilinear"), F.interpolate(x, size=(9, 5), mode="bilinear", align_corners=True),
                F.interpolate(x, size=(2, 7), mode="bilinear")), f("b", 2, 4, 6))
case(lambda x: (F.interpolate(x, size=(9, 5), mode="bicubic"), F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=True)), f("b", 2, 4, 6))
case(lambda x: (F.interpolate(x, size=7), F.interpolate(x, scale_factor=0.5), F.interpolate(x, size=9, mode="linear")), f("b", 2, 6))
case(lambda x: F.interpolate(x, scale_factor=1.5), f(2, 2, 4, 6))
case(lambda x, g: (F.grid_sample(x, g, align_corners=False), F.grid_sample(x, g, mode="nearest", padding_mode="border", align_corners=True),
                   F.grid_sample(x, g, padding_mode="reflection", align_corners=False)), f("b", 2, 4, 6), f("b", 3, 5, 2, low=-1.2, high=1.2), tolerance=1e-4)

case = kind("norm")
case(lambda x, w, c: (F.layer_norm(x, (8,), w, c), F.layer_norm(x, (8,)), F.layer_norm(x, (8,), w)), f("b", "s", 8), f(8), f(8))
case(lambda x, w, c: F.layer_norm(x, (3, 8), w, c, 1e-3), f("b", 3, 8), f(3, 8), f(3, 8))
case(lambda x, w: (F.rms_norm(x, (8,), w, 1e-5), F.rms_norm(x, (8,))), f("b", "s", 8), f(8))
case(lambda x, w, c: (F.group_norm(x, 2, w, c), F.group_norm(x, 3)), f("b", 6, "s"), f(6), f(6))
case(lambda x, w, c: (F.group_norm(x, 2, w, c), F.group_norm(x, 6)), f("b", 6, 3, 4), f(6), f(6))
case(lambda x, m, v, w, c: (F.batch_norm(x, m, v, w, c), F.batch_norm(x, m, v, eps=1e-2)), f("b", 6, "s"), f(6), f(6, low=0.5), f(6), f(6))
case(lambda x: (F.batch_norm(x, None, None, training=True), F.instance_norm(x)), f("b", 6, 5))
case(lambda x, w, c: F.instance_norm(x, weight=w, bias=c), f("b", 6, 3, 4), f(6), f(6))

case = kind("attention")
attend = F.scaled_dot_product_attention
case(lambda q, k, v: (attend(q, k, v), attend(q, k, v, scale=0.3), attend(q, k, v, is_causal=True)), f("b", 4, "s", 8), f("b", 4, "s", 8), f("b", 4, "s", 8))
case(lambda q, k, v, m: attend(q, k, v, m), f("b", 4, "s", 8), f("b", 4, 6, 8), f("b", 4, 6, 8), p("s", 6))
case(lambda q, k, v, m: attend(q, k, v, m), f("b", 4, "s", 8), f("b", 4, 6, 8), f("b", 4, 6, 8), f("b", 1, "s", 6))
case(lambda q, k, v: attend(q, k, v, enable_gqa=True), f("b", 4, "s", 8), f("b", 2, "s", 8), f("b", 2, "s", 8))
case(lambda q, k, v: attend(q, k, v, is_causal=True), f("b", 4, 3, 8), f("b", 4, 5, 8), f("b", 4, 5, 8))
case(lambda q, k, v: attend(q, k, v, is_causal=True), f(3, 4, 8), f(3, 4, 8), f(3, 4, 8))
case(lambda q, k, v: (attend(q, k, v), attend(q[0, 0], k[0, 0], v[0, 0])), f(2, 3, 4, 5, 8), f(2, 3, 4, 6, 8), f(2, 3, 4, 6, 4))

# --- writes -------------------------------------------------------------------------------------------------------

case = kind("write")


def in_place(function):
    """The function on a copy, which it may write to."""
    return lambda x, *rest: function(x.clone(), *rest)


case(in_place(lambda x: (x.relu_(), x)), f("b", "s"))
case(in_place(lambda x: (x.add_(1).mul_(2), x + 0)), f("b", "s"))
case(in_place(lambda x, y: (x.sub_(y, alpha=2), x.div_(2).clamp_(-1, 1))), f("b", "s"), f("s"))


@in_place
def element(x):
    x[0, 1] = 5.0
    x[:, 2] = x[:, 0] * 2
    return x


@in_place
def through_view(x):
    flat = x.view(-1)
    flat[3:5].mul_(-1)
    x.t()[0].sub_(1)
    return x + 0, flat.max(), flat * 2


@in_place
def through_parts(x):
    first, second = x.split(2, 1)
    first.mul_(3)
    second.copy_(first)
    rows = x.unbind(0)
    rows[1].zero_()
    return x, first, second


@in_place
def strided(x):
    x[:, ::2] = 0
    x[1::2, 1].add_(10)
    x.diagonal().fill_(7)
    return x


@in_place
def shapes(x):
    y = x.unsqueeze_(0)
    y.squeeze_(0).t_()
    z = x.reshape(-1)
    z.neg_()
    return x, y


for function in (element, through_view, through_parts, strided, shapes):
    case(function, f(4, 4))


@in_place
def by_index(x):
    x[torch.tensor([0, 2])] = 1.0
    x[:, torch.tensor([3, 1])] += 2.0
    x[torch.tensor([1, 3]), torch.tensor([0, 2])] = x[0, :2].clone()
    x.index_copy_(0, torch.tensor([2]), x[:1] * 3)
    x[x > 2] = -1.0
    return x


case(by_index, f(4, 4))
case(in_place(lambda x, m: (x.masked_fill_(m, 0.5), x)), f("b", "s"), p("b", "s"))
case(in_place(lambda x, y: (x.copy_(y), x.zero_().add_(3))), f("b", "s"), i("s"))
