"""Cases of operators outside of the standard's own tests, with ONNX Runtime's results."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from cases import Case

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"


class Maker:
    def __init__(self):
        self.rng = np.random.default_rng(7)
        self.cases = []

    def floats(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def bytes(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)

    def add(self, name, op, inputs, outputs=1, domain=MICROSOFT, opset=1, rtol=1e-3, atol=1e-4, **attributes):
        """`inputs` are arrays or None; `outputs` their number, or a list of which are wanted."""
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
        results = [f"y{i}" if keep else "" for i, keep in enumerate(wanted)]
        node = helper.make_node(op, names, results, domain=domain, **attributes)
        given = [(n, x) for n, x in zip(names, inputs) if n]
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given]
        # Types of results are for the runtime to find out.
        graph = helper.make_graph([node], name, infos, [onnx.ValueInfoProto(name=r) for r in results if r])
        imports = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, opset)] if domain else [])
        model = helper.make_model(graph, ir_version=8, opset_imports=imports)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        expected = session.run(None, dict(given))
        for info, value in zip(graph.output, expected):
            info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        model = helper.make_model(graph, ir_version=8, opset_imports=imports)
        self.cases.append(Case(name, model.SerializeToString(), [([x for _, x in given], expected)], rtol, atol))


def normalizations(m):
    x, skip, scale, bias = m.floats(2, 3, 16), m.floats(2, 3, 16), m.floats(16), m.floats(16)
    m.add("skip_layer_norm", "SkipLayerNormalization", [x, skip, scale, bias, m.floats(16)], [True, False, False, True], epsilon=1e-5)
    m.add("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", [x, skip, scale], [True, False, False, True], epsilon=1e-5)
    m.add("simplified_layer_norm", "SimplifiedLayerNormalization", [x, scale], domain="", epsilon=1e-5)
    ids, kinds = m.rng.integers(0, 10, (2, 5)).astype(np.int32), m.rng.integers(0, 2, (2, 5)).astype(np.int32)
    tables = [m.floats(10, 8), m.floats(6, 8), m.floats(2, 8), m.floats(8), m.floats(8)]
    m.add("embed_layer_norm", "EmbedLayerNormalization", [ids, kinds, *tables], [True, False], epsilon=1e-5)


def activations(m):
    x, bias = m.floats(3, 8), m.floats(8)
    m.add("bias_gelu", "BiasGelu", [x, bias])
    m.add("fast_gelu", "FastGelu", [x, bias])
    m.add("gelu_ms", "Gelu", [x])
    m.add("quick_gelu", "QuickGelu", [x], alpha=1.5)
    m.add("fused_matmul", "FusedMatMul", [m.floats(2, 4, 3), m.floats(2, 5, 4)], transA=1, transB=1, alpha=0.5)
    image, weights = m.floats(1, 2, 6, 6), m.floats(3, 2, 3, 3)
    m.add("fused_conv", "FusedConv", [image, weights, m.floats(3)], activation="LeakyRelu", activation_params=[0.2],
          kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], dilations=[1, 1], group=1)


def attentions(m):
    q, k, v = m.floats(2, 4, 16), m.floats(2, 6, 16), m.floats(2, 6, 16)
    m.add("multi_head", "MultiHeadAttention", [q, k, v, m.floats(48)], num_heads=4)
    m.add("multi_head_mask", "MultiHeadAttention", [q, k, v, None, np.array([4, 6], np.int32)], num_heads=4)
    m.add("multi_head_bias", "MultiHeadAttention", [q, k, v, None, None, m.floats(2, 4, 4, 6)], num_heads=4, scale=0.3)
    m.add("multi_head_causal", "MultiHeadAttention", [q, m.floats(2, 4, 16), m.floats(2, 4, 16)], num_heads=2, unidirectional=1)
    x = m.floats(2, 5, 8)
    m.add("attention_ms", "Attention", [x, m.floats(8, 24), m.floats(24)], num_heads=2)
    m.add("attention_ms_mask", "Attention", [x, m.floats(8, 24), m.floats(24), np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32)], num_heads=2)
    m.add("attention_ms_past", "Attention", [x, m.floats(8, 24), m.floats(24), None, m.floats(2, 2, 2, 3, 4)], 2, num_heads=2, unidirectional=1)
    cosine, sine = np.cos(m.floats(16, 4)), np.sin(m.floats(16, 4))
    positions = np.array([[3, 4, 5, 6], [0, 1, 2, 3]], np.int64)
    for interleaved in (0, 1):
        m.add(f"rotary_ms_{interleaved}", "RotaryEmbedding", [m.floats(2, 2, 4, 8), positions, cosine, sine], interleaved=interleaved)
    m.add("rotary_ms_first", "RotaryEmbedding", [m.floats(2, 4, 16), np.array([5], np.int64), cosine, sine])
    # One new token behind five of the past, and a prompt.
    past = [m.floats(2, 2, 5, 16), m.floats(2, 2, 5, 16)]
    wide = [np.cos(m.floats(16, 8)), np.sin(m.floats(16, 8))]
    for name, steps, cache, total in (("step", 1, past, 6), ("prompt", 4, [None, None], 4)):
        inputs = [m.floats(2, steps, 64), m.floats(2, steps, 32), m.floats(2, steps, 32), *cache,
                  np.full(2, total - 1, np.int32), np.array(total, np.int32)]
        m.add(f"group_query_{name}", "GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2)
        m.add(f"group_query_{name}_rotary", "GroupQueryAttention", [*inputs, *wide], 3, num_heads=4, kv_num_heads=2, do_rotary=1)
        m.add(f"group_query_{name}_window", "GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, local_window_size=3)
    m.add("group_query_softcap", "GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, softcap=2.0)


def quantized(m):
    scale, zero = lambda x: np.array(x, np.float32), lambda x: np.array(x, np.uint8)
    for bits in (4, 8):
        packed, scales = m.bytes(6, 2, 16 * bits // 8), np.abs(m.floats(12)) * 0.1
        m.add(f"matmul_{bits}_bits", "MatMulNBits", [m.floats(3, 32), packed, scales], K=32, N=6, bits=bits, block_size=16)
    m.add("matmul_4_bits_zeros", "MatMulNBits", [m.floats(3, 40), m.bytes(6, 3, 8), np.abs(m.floats(18)) * 0.1, m.bytes(12)],
          K=40, N=6, bits=4, block_size=16)
    x, w = m.bytes(4, 8), m.bytes(8, 5)
    m.add("matmul_integer_to_float", "MatMulIntegerToFloat", [x, w, scale(0.1), np.abs(m.floats(5)), zero(3), m.bytes(5), m.floats(5)])
    m.add("dynamic_quantize_matmul", "DynamicQuantizeMatMul", [m.floats(4, 8), w, scale(0.05), zero(128), m.floats(5)], atol=1e-3)
    a, b = [m.bytes(3, 4), scale(0.1), zero(120)], [m.bytes(3, 4), scale(0.2), zero(100)]
    out = [scale(0.3), zero(110)]
    m.add("qlinear_add", "QLinearAdd", a + b + out)
    m.add("qlinear_mul", "QLinearMul", a + b + out)
    m.add("qlinear_concat", "QLinearConcat", out + a + b, axis=1)
    m.add("qlinear_leaky_relu", "QLinearLeakyRelu", a + out, alpha=0.2)
    pooled = [m.bytes(1, 2, 4, 4), scale(0.1), zero(120)]
    m.add("qlinear_global_average_pool", "QLinearGlobalAveragePool", pooled + out)


def learned(m):
    x = m.floats(7, 3)
    m.add("scaler", "Scaler", [x], domain=ML, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0])
    for norm in ("MAX", "L1", "L2"):
        m.add(f"normalizer_{norm}", "Normalizer", [np.abs(x)], domain=ML, norm=norm)
    m.add("linear_regressor", "LinearRegressor", [x], domain=ML, coefficients=m.floats(6).tolist(), intercepts=[0.5, -1.0], targets=2)
    m.add("linear_classifier", "LinearClassifier", [x], 2, domain=ML, coefficients=m.floats(9).tolist(), intercepts=[0.1, 0.2, 0.3],
          classlabels_ints=[5, 7, 9], multi_class=1, post_transform="SOFTMAX")
    m.add("label_encoder", "LabelEncoder", [np.array([1, 2, 9, 5], np.int64)], domain=ML, opset=2, keys_int64s=[1, 5, 9],
          values_floats=[0.5, 1.5, 2.5], default_float=-1.0)
    # Two trees: one of two levels, one of one.
    nodes = dict(nodes_treeids=[0] * 5 + [1] * 3, nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2],
                 nodes_featureids=[0, 1, 0, 0, 0, 2, 0, 0], nodes_values=[0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
                 nodes_truenodeids=[1, 3, 0, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0, 2, 0, 0],
                 nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0, 0, 0])
    leaves = dict(treeids=[0, 0, 0, 1, 1], nodeids=[2, 3, 4, 1, 2], weights=[1.0, -2.0, 3.0, 0.25, -0.5])
    data = np.concatenate([x, [[np.nan, 1, 1]]]).astype(np.float32)
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"):
        modes = [mode, mode, "LEAF", "LEAF", "LEAF", mode, "LEAF", "LEAF"]
        for aggregate in ("SUM", "AVERAGE"):
            m.add(f"tree_regressor_{mode}_{aggregate}", "TreeEnsembleRegressor", [data], domain=ML, **nodes, nodes_modes=modes,
                  n_targets=1, aggregate_function=aggregate, base_values=[0.5], target_ids=[0] * 5,
                  **{f"target_{key}": value for key, value in leaves.items()})
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        m.add(f"tree_classifier_{transform}", "TreeEnsembleClassifier", [data], 2, domain=ML, **nodes, nodes_modes=modes,
              post_transform=transform, classlabels_int64s=[3, 5, 8], class_ids=[0, 1, 2, 1, 2],
              **{f"class_{key}": value for key, value in leaves.items()})
    for transform in ("NONE", "LOGISTIC"):
        for sign in (1, 0):
            for which in (0, 1):
                weights = [abs(w) * 0.2 if sign else w for w in leaves["weights"]]
                m.add(f"tree_two_classes_{transform}_{sign}{which}", "TreeEnsembleClassifier", [data], 2, domain=ML, **nodes,
                      nodes_modes=modes, post_transform=transform, classlabels_int64s=[0, 1], class_ids=[which] * 5,
                      **{f"class_{key}": value for key, value in {**leaves, "weights": weights}.items()})


def collect():
    maker = Maker()
    for kind in (normalizations, activations, attentions, quantized, learned):
        kind(maker)
    return maker.cases
