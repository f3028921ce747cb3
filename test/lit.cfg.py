# lit configuration of the whole tree: test/<same path as the source>/*.mlir and *.test.
import os
import resource

import lit.formats
import lit.util

config.name = "nx"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["e2e", "bench", "examples", "CMakeLists.txt", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.nx_binary_dir, "test")

# The tests see these variables and no others, so that a user's NXRT_* settings change nothing.
for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["NXRT_SHARE_CORES"] = "1"  # tests run side by side
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.nx_binary_dir, "bin"), config.llvm_tools_dir, os.environ.get("PATH", "")])

# RUN lines name the project's programs and LLVM's by their plain names (they come first on PATH);
# these are the rest.
config.substitutions += [
    ("%python", f'"{config.python}"'),
    ("%nx_source_dir", config.nx_source_dir),
    ("%nx_binary_dir", config.nx_binary_dir),
    ("%test_dir", config.test_source_root),
]

# Features for REQUIRES and UNSUPPORTED: the machine, its vector instructions, and the build.
config.available_features.add(config.host_arch)
if config.host_arch == "x86_64" and os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo") as info:
        flags = next((line.split(":", 1)[1].split() for line in info if line.startswith("flags")), [])
    config.available_features.update(
        f for f in flags if f in ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni"))
for tool, feature in (("nxcc", "nxcc"), ("nx-opt", "nx-opt"), ("nx-run", "nx-run")):
    if os.path.exists(os.path.join(config.nx_binary_dir, "bin", tool)):
        config.available_features.add(feature)
if lit.util.which("qemu-aarch64"):
    config.available_features.add("qemu-aarch64")
if config.sanitize:
    config.available_features.add("sanitized")
if config.oracles:
    config.available_features.add("onnx")  # %python has numpy, onnx and onnxruntime
if config.torch:
    config.available_features.add("torch")  # %python has torch

# Every process of a test inherits these limits: a runaway compile must fail here, not swap the machine.
# (lit's own time limit needs psutil; ctest stops a test that sleeps.) Sanitizers reserve terabytes of
# address space, so there the memory limit cannot be on that.
resource.setrlimit(resource.RLIMIT_CPU, (300, resource.getrlimit(resource.RLIMIT_CPU)[1]))
if not config.sanitize:
    limit = config.memory_limit_mib << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
