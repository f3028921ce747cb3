"""fuzz_test.py NX-KERNELC [--seed=N] [--count=N] [OPTIONS]: random kernels, in vector and scalar form, against numpy.

A kernel is a random chain of element-wise ops, reductions, scans, transpositions, slices, concatenations, reshapes and gathers
over sizes known and unknown. All numbers are small integers, so that every order of summation gives the same result, and
results must be equal.
"""
import os
import random
import sys
import tempfile

import numpy as np

from kernel_image import Image
from numeric_test import run

SYMBOLS = ["S", "T"]


class Generator:
    """Writes one kernel and computes it at the same time."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.sizes = {s: rng.choice([1, 2, 3, 5, 8, 13, 33]) for s in SYMBOLS}
        self.lines, self.args, self.values, self.count = [], [], [], 0

    # --- text
    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text):
        r = self.fresh()
        self.lines.append(f"{r} = {text}")
        return r

    def size(self, d):
        return self.sizes[d] if isinstance(d, str) else int(np.prod([self.size(p) for p in d])) if isinstance(d, tuple) else d

    def expr(self, d):
        return " * ".join(self.expr(p) for p in d) if isinstance(d, tuple) else str(d)

    def dynamic(self, d):
        return isinstance(d, str) or isinstance(d, tuple) and any(self.dynamic(p) for p in d)

    def type(self, shape, element="f32"):
        return "tensor<" + "".join(("?" if self.dynamic(d) else str(self.size(d))) + "x" for d in shape) + element + ">"

    def attribute(self, shape):
        return f"{{nx.shape = affine_map<()[{', '.join(SYMBOLS)}] -> ({', '.join(map(self.expr, shape))})>}}"

    def index(self, d):
        """The size as an index value."""
        if isinstance(d, tuple):
            parts = [self.index(p) for p in d]
            r = parts[0]
            for p in parts[1:]:
                r = self.emit(f"arith.muli {r}, {p} : index")
            return r
        if not isinstance(d, str):
            return self.emit(f"arith.constant {d} : index")
        for name, shape, _ in self.args:
            if d in shape:
                axis = self.emit(f"arith.constant {shape.index(d)} : index")
                element = "i64" if name.startswith("%i") else "f32"
                return self.emit(f"tensor.dim {name}, {axis} : {self.type(shape, element)}")
        raise AssertionError(d)

    def empty(self, shape):
        sizes = ", ".join(self.index(d) for d in shape if self.dynamic(d))
        return self.emit(f"tensor.empty({sizes}) : {self.type(shape)}")

    def fill(self, shape, value):
        e, c = self.empty(shape), self.emit(f"arith.constant {value} : f32")
        return self.emit(f"linalg.fill ins({c} : f32) outs({e} : {self.type(shape)}) -> {self.type(shape)}")

    def generic(self, rank, inputs, out, body, reduced=(), element="f32"):
        """inputs: [(value, shape, index expressions)]; out: (init, shape, index expressions)."""
        loops = ", ".join(f"d{i}" for i in range(rank))
        maps = ", ".join(f"affine_map<({loops}) -> ({', '.join(e)})>" for _, _, e in inputs + [out])
        kinds = ", ".join('"reduction"' if i in reduced else '"parallel"' for i in range(rank))
        types = [self.type(s, "i64" if v.startswith("%i") else "f32") for v, s, _ in inputs]
        ins = f"ins({', '.join(v for v, _, _ in inputs)} : {', '.join(types)}) " if inputs else ""
        block = ", ".join([f"%x{i}: {'i64' if v.startswith('%i') else 'f32'}" for i, (v, _, _) in enumerate(inputs)] + ["%o: f32"])
        return self.emit(f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins}outs({out[0]} : {self.type(out[1])}) {{\n"
                         f"  ^bb0({block}):\n    " + "\n    ".join(body) + f"\n    linalg.yield %y : f32\n  }} -> {self.type(out[1])}")

    # --- values
    def add(self, name, shape, array):
        assert list(array.shape) == [self.size(d) for d in shape], (shape, array.shape)
        self.values.append((name, list(shape), array.astype(np.float32)))

    def argument(self, shape):
        name = f"%a{len(self.args)}"
        array = np.random.default_rng(self.rng.randrange(1 << 30)).integers(-4, 5, [self.size(d) for d in shape])
        self.args.append((name, list(shape), array.astype(np.float32)))
        self.add(name, shape, array)

    def indices(self, d, limit):
        name = f"%i{len(self.args)}"
        array = np.random.default_rng(self.rng.randrange(1 << 30)).integers(0, limit, [self.size(d)])
        self.args.append((name, [d], array.astype(np.int64)))
        return name, array

    def pick(self, least=0):
        fits = [v for v in self.values if len(v[1]) >= least]
        return self.rng.choice(fits[-6:]) if fits else None

    @staticmethod
    def clamp(value, result="%y"):
        return ["%lo = arith.constant -9.0 : f32", "%hi = arith.constant 9.0 : f32", f"%cl = arith.maximumf {value}, %lo : f32",
                f"{result} = arith.minimumf %cl, %hi : f32"]

    # --- steps
    def unary(self):
        v, shape, a = self.pick()
        d = [f"d{i}" for i in range(len(shape))]
        kind = self.rng.choice(["negf", "abs", "index"]) if shape else "negf"
        if kind == "index":
            axis = self.rng.randrange(len(shape))
            body = [f"%n = linalg.index {axis} : index", "%two = arith.constant 2 : index", "%c = arith.cmpi ult, %n, %two : index",
                    "%m = arith.negf %x0 : f32", "%y = arith.select %c, %m, %x0 : f32"]
            sign = np.ones(a.shape, np.float32)
            np.moveaxis(sign, axis, 0)[:2] = -1
            result = a * sign
        else:
            body = ["%y = " + ("arith.negf" if kind == "negf" else "math.absf") + " %x0 : f32"]
            result = -a if kind == "negf" else np.abs(a)
        self.add(self.generic(len(shape), [(v, shape, d)], (self.empty(shape), shape, d), body), shape, result)

    def binary(self):
        v, shape, a = self.pick()
        d = [f"d{i}" for i in range(len(shape))]
        options = []
        for w, other, b in self.values[-8:]:
            # Match the other's dims with different dims of this one, in any order.
            positions, used = [], set()
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            for e in other:
                at = next((i for i in order if shape[i] == e and i not in used), None)
                if at is None and e == 1:
                    positions.append(None)
                    continue
                if at is None:
                    break
                used.add(at)
                positions.append(at)
            if len(positions) == len(other):
                options.append((w, other, b, positions))
        w, other, b, positions = self.rng.choice(options)
        index = ["0" if p is None else f"d{p}" for p in positions]
        kept = [p for p in positions if p is not None]
        aligned = b.reshape([b.shape[i] for i, p in enumerate(positions) if p is not None])
        aligned = aligned.transpose(np.argsort(kept)) if kept else aligned
        aligned = aligned.reshape([a.shape[i] if i in kept else 1 for i in range(len(shape))])
        op = self.rng.choice(["addf", "subf", "mulf", "maximumf"])
        f = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "maximumf": np.maximum}[op]
        body = [f"%r = arith.{op} %x0, %x1 : f32"] + self.clamp("%r")
        name = self.generic(len(shape), [(v, shape, d), (w, other, index)], (self.empty(shape), shape, d), body)
        self.add(name, shape, np.clip(f(a, aligned), -9, 9))

    def transpose(self):
        v, shape, a = self.pick(2)
        perm = list(range(len(shape)))
        self.rng.shuffle(perm)
        out = [shape[p] for p in perm]
        index = [f"d{perm.index(i)}" for i in range(len(shape))]
        name = self.generic(len(shape), [(v, shape, index)], (self.empty(out), out, [f"d{i}" for i in range(len(out))]),
                            ["%y = arith.negf %x0 : f32"])
        self.add(name, out, -a.transpose(perm))

    def reduce(self):
        v, shape, a = self.pick(1)
        axes = sorted(self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape))))
        out = [d for i, d in enumerate(shape) if i not in axes]
        op, init = self.rng.choice([("addf", "0.0"), ("maximumf", "-99.0"), ("addf", "2.0"), ("minimumf", "99.0")])
        start = np.float32(float(init))
        f = {"addf": np.add, "maximumf": np.maximum, "minimumf": np.minimum}[op]
        d = [f"d{i}" for i in range(len(shape))]
        name = self.generic(len(shape), [(v, shape, d)], (self.fill(out, init), out, [f"d{i}" for i in range(len(shape)) if i not in axes]),
                            [f"%y = arith.{op} %x0, %o : f32"], axes)
        with np.errstate(all="ignore"):
            self.add(name, out, f.reduce(a, axis=tuple(axes), initial=start))
        self.bound()

    def bound(self):
        """Clamps the newest value."""
        v, shape, a = self.values.pop()
        d = [f"d{i}" for i in range(len(shape))]
        self.add(self.generic(len(shape), [(v, shape, d)], (self.empty(shape), shape, d), self.clamp("%x0")), shape, np.clip(a, -9, 9))

    def scan(self):
        v, shape, a = self.pick(1)
        axis = self.rng.randrange(len(shape))
        rest = [d for i, d in enumerate(shape) if i != axis]
        loops = ", ".join(f"d{i}" for i in range(len(shape)))
        part = ", ".join(f"d{i}" for i in range(len(shape)) if i != axis)
        kinds = ", ".join('"reduction"' if i == axis else '"parallel"' for i in range(len(shape)))
        e, c, t, u = self.empty(shape), self.fill(rest, "0.0"), self.type(shape), self.type(rest)
        r = self.emit(f"linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({loops})>, "
                      f"affine_map<({loops}) -> ({part})>], iterator_types = [{kinds}]}} ins({v} : {t}) outs({e}, {c} : {t}, {u}) {{\n"
                      "  ^bb0(%x: f32, %p: f32, %s: f32):\n    %n = arith.addf %x, %s : f32\n    linalg.yield %n, %n : f32, f32\n"
                      f"  }} -> ({t}, {u})")
        self.lines[-1] = self.lines[-1].replace(f"{r} =", f"{r}:2 =", 1)
        self.add(r + "#0", shape, a.cumsum(axis))
        self.bound()

    def slice(self):
        v, shape, a = self.pick(1)
        fixed = [i for i, d in enumerate(shape) if isinstance(d, int) and d > 1]
        if not fixed:
            return
        axis = self.rng.choice(fixed)
        step = self.rng.choice([1, 1, 2])
        size = self.rng.randint(1, (shape[axis] + step - 1) // step)
        start = self.rng.randint(0, shape[axis] - (size - 1) * step - 1)
        out = list(shape)
        out[axis] = size
        offsets = ", ".join(str(start if i == axis else 0) for i in range(len(shape)))
        sizes = ", ".join(str(d) if isinstance(d, int) else self.index(d) for d in out)
        steps = ", ".join(str(step if i == axis else 1) for i in range(len(shape)))
        r = self.emit(f"tensor.extract_slice {v}[{offsets}] [{sizes}] [{steps}] : {self.type(shape)} to {self.type(out)}")
        self.add(r, out, np.moveaxis(np.moveaxis(a, axis, 0)[start:start + size * step:step], 0, axis))

    def concat(self):
        v, shape, a = self.pick(1)
        for axis in self.rng.sample(range(len(shape)), len(shape)):
            others = [x for x in self.values[-8:] if len(x[1]) == len(shape) and isinstance(x[1][axis], int) and
                      x[1][:axis] + x[1][axis + 1:] == shape[:axis] + shape[axis + 1:]]
            if isinstance(shape[axis], int) and others:
                break
        else:
            return
        w, other, b = self.rng.choice(others)
        out = list(shape)
        out[axis] = shape[axis] + other[axis]
        result = self.empty(out)
        for value, part, start in ((v, shape, 0), (w, other, shape[axis])):
            offsets = ", ".join(str(start if i == axis else 0) for i in range(len(shape)))
            sizes = ", ".join(str(d) if isinstance(d, int) else self.index(d) for d in part)
            ones = ", ".join("1" for _ in shape)
            result = self.emit(f"tensor.insert_slice {value} into {result}[{offsets}] [{sizes}] [{ones}] : {self.type(part)} into {self.type(out)}")
        self.add(result, out, np.concatenate([a, b], axis))

    def pad(self):
        v, shape, a = self.pick(1)
        fixed = [i for i, d in enumerate(shape) if isinstance(d, int)]
        if not fixed:
            return
        axis, low, high = self.rng.choice(fixed), self.rng.randint(0, 3), self.rng.randint(0, 3)
        out = list(shape)
        out[axis] += low + high
        offsets = ", ".join(str(low if i == axis else 0) for i in range(len(shape)))
        sizes = ", ".join(str(d) if isinstance(d, int) else self.index(d) for d in shape)
        ones = ", ".join("1" for _ in shape)
        f = self.fill(out, "1.0")
        r = self.emit(f"tensor.insert_slice {v} into {f}[{offsets}] [{sizes}] [{ones}] : {self.type(shape)} into {self.type(out)}")
        self.add(r, out, np.pad(a, [(low, high) if i == axis else (0, 0) for i in range(len(shape))], constant_values=1))

    def reshape(self):
        v, shape, a = self.pick(1)
        if len(shape) >= 2 and self.rng.random() < 0.6:
            at = self.rng.randrange(len(shape) - 1)
            pair = shape[at:at + 2]
            if any(isinstance(d, tuple) for d in pair):
                return
            merged = pair[0] * pair[1] if all(isinstance(d, int) for d in pair) else tuple(pair)
            out = shape[:at] + [merged] + shape[at + 2:]
            groups = [[i] for i in range(at)] + [[at, at + 1]] + [[i] for i in range(at + 2, len(shape))]
            r = self.emit(f"tensor.collapse_shape {v} {groups} : {self.type(shape)} into {self.type(out)}")
        else:
            splits = [i for i, d in enumerate(shape) if isinstance(d, int) and d % 2 == 0 and d or isinstance(d, tuple)]
            if not splits:
                return
            at = self.rng.choice(splits)
            parts = list(shape[at]) if isinstance(shape[at], tuple) else [2, shape[at] // 2]
            out = shape[:at] + parts + shape[at + 1:]
            groups = [[i] for i in range(at)] + [[at, at + 1]] + [[i + 1] for i in range(at + 1, len(shape))]
            sizes = ", ".join(self.index(d) if self.dynamic(d) else str(self.size(d)) for d in out)
            r = self.emit(f"tensor.expand_shape {v} {groups} output_shape [{sizes}] : {self.type(shape)} into {self.type(out)}")
        self.add(r, out, a.reshape([self.size(d) for d in out]))

    def gather(self):
        v, shape, a = self.pick(1)
        axis = self.rng.randrange(len(shape))
        if a.shape[axis] == 0:
            return
        d = [f"d{i}" for i in range(len(shape))]
        body = [f"%n{i} = linalg.index {i} : index" for i in range(len(shape))]
        at = [f"%n{i}" for i in range(len(shape))]
        at[axis] = "%g"
        inputs, out = [], list(shape)
        if self.rng.random() < 0.5:  # backwards
            last = self.index(shape[axis])
            body += ["%one = arith.constant 1 : index", f"%z = arith.subi {last}, %one : index", f"%g = arith.subi %z, %n{axis} : index"]
            result = np.flip(a, axis)
        else:
            out[axis] = self.rng.choice([3, 9])
            name, array = self.indices(out[axis], a.shape[axis])
            inputs.append((name, [out[axis]], [f"d{axis}"]))
            body.append("%g = arith.index_cast %x0 : i64 to index")
            result = np.take(a, array, axis)
        body.append(f"%y = tensor.extract {v}[{', '.join(at)}] : {self.type(shape)}")
        self.add(self.generic(len(shape), inputs, (self.empty(out), out, d), body), out, result)

    # --- the whole
    def make(self):
        rank = self.rng.randint(1, 3)
        self.argument([self.rng.choice(["S", "T", 4, 6, 8, 17]) for _ in range(rank)])
        self.argument(["S", self.rng.choice([1, 8, 10, "T"]), "T"])
        self.argument([self.rng.choice(self.values[0][1] + ["S"])])
        steps = [self.unary, self.binary, self.binary, self.binary, self.transpose, self.reduce, self.scan, self.slice, self.concat, self.pad,
                 self.reshape, self.reshape, self.gather]
        for _ in range(self.rng.randint(2, 8)):
            self.rng.choice(steps)()
            if self.values[-1][2].size > 200000:
                self.values.pop()
        # Everything that nothing uses is a result, else some of it would not be tested.
        text = "\n".join(self.lines)
        results = [v for v in self.values if not v[0].startswith("%a") and f"{v[0]} " not in text.replace(f"{v[0]} =", "", 1) and
                   f"{v[0]}," not in text and f"{v[0]}[" not in text and f"{v[0]}:2 =" not in text or v is self.values[-1]][-4:]
        arguments = ", ".join(f"{n}: {self.type(s, 'i64' if n.startswith('%i') else 'f32')} {self.attribute(s)}" for n, s, _ in self.args)
        types = ", ".join(f"{self.type(s)} {self.attribute(s)}" for _, s, _ in results)
        returned = f"return {', '.join(v for v, _, _ in results)} : {', '.join(self.type(s) for _, s, _ in results)}"
        self.text = f"func.func @{self.name}({arguments}) -> ({types}) {{\n  " + "\n  ".join(self.lines) + f"\n  {returned}\n}}\n"
        self.results = [a for _, _, a in results]
        return self


def main():
    tool = sys.argv[1]
    flag = lambda name, default: next((int(o.split("=")[1]) for o in sys.argv if o.startswith(f"--{name}=")), default)
    options = [o for o in sys.argv[2:] if o.startswith("--") and not o.startswith(("--seed", "--count"))]
    seed, count = flag("seed", 1), flag("count", 60)
    kernels = [Generator(f"k{i}", random.Random(seed * 100003 + i)).make() for i in range(count)]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.mlir")

        def build(which, extra):
            with open(path, "w") as file:
                file.write("\n".join(k.text for k in which))
            return Image(path, tool, options + extra)

        for extra in (["--vector-length=8"], ["--vector-length=1"]):
            try:
                image = build(kernels, extra)
            except RuntimeError:  # which one is it?
                image = None
            for k in kernels:
                message = None
                try:
                    one = image or build([k], extra)
                except RuntimeError as error:
                    message = str(error).splitlines()[0]
                if not message:
                    pid = os.fork()
                    if pid == 0:
                        message = run(one[k.name], [k.sizes[s] for s in SYMBOLS], [a for _, _, a in k.args], k.results,
                                      ["f32"] * len(k.results), True, (1, 3, 0), exact=True)
                        if message:
                            print(message, flush=True)
                        os._exit(1 if message else 0)
                    status = os.waitpid(pid, 0)[1]
                    message = status and f"status {status}"
                if message:
                    failures += 1
                    print(f"// {extra[0]} {k.name} seed {seed} {k.sizes}: {message}\n{k.text}", flush=True)
    print(f"{2 * count} kernels, {failures} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
