// Operations of the nx dialect. Implementations: NxOps.cpp (verifiers, result types, folders),
// NxElementwise.cpp (scalar meaning), sharding rules and lowerings in their own files.
#ifndef NX_OPS
#define NX_OPS

include "dialects/nx/NxDialect.td"
include "dialects/nx/NxInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// All operations print alike: operands, attributes, function type.
class Nx_Op<string mnemonic, list<Trait> traits = []> : Op<Nx_Dialect, mnemonic, traits> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
class Nx_PureOp<string mnemonic, list<Trait> traits = []> : Nx_Op<mnemonic, [Pure] # traits>;

// An operation with a sharding rule of its own, in NxSharding.cpp; the second one also has attributes
// that depend on the sizes of a part.
def Nx_HasRule : DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>;
def Nx_HasRuleAndParts
    : DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule", "adaptToPart"]>;

// An operation whose result type follows from its operands and attributes.
class Nx_InferredOp<string mnemonic, list<Trait> traits = []>
    : Nx_PureOp<mnemonic, [InferTypeOpAdaptor] # traits>;

//===----------------------------------------------------------------------===//
// Parameters and constants
//===----------------------------------------------------------------------===//

def Nx_ParamOp : Nx_PureOp<"param"> {
  let summary = "A weight by name";
  let description = [{
    The value of the model's parameter `name` after its `recipe`. The bytes stay in the model's file
    until the executable is written; `source_type` is the type they have there.

    ```mlir
    %w = nx.param "encoder.fc.weight" source tensor<768x3072xf32> : tensor<768x3072xf32>
    %t = nx.param "encoder.fc.weight" source tensor<768x3072xf32> recipe [#nx.transpose<1, 0>] : tensor<3072x768xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttrOf<Nx_Tensor>:$source_type,
      DefaultValuedAttr<ArrayAttr, "{}">:$recipe);
  let results = (outs Nx_Tensor:$result);
  let assemblyFormat = "$name `source` $source_type (`recipe` $recipe^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Nx_ConstantOp : Nx_PureOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A small constant";
  let description = [{
    At most 1 KiB of data, or a splat of any size; larger values are parameters.

    ```mlir
    %half = nx.constant dense<0.5> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Nx_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Nx_ShapeValueOp : Nx_PureOp<"shape_value"> {
  let summary = "Sizes as data";
  let description = [{
    A tensor of rank 0 (one expression) or 1 whose elements are the values of `dims`.

    ```mlir
    %0 = nx.shape_value <s0, s1, 12, 64> : tensor<4xi64>
    ```
  }];
  let arguments = (ins Nx_DimsAttr:$dims);
  let results = (outs Nx_Tensor:$result);
  let assemblyFormat = "$dims attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Nx_IotaOp : Nx_PureOp<"iota", [Nx_HasRule]> {
  let summary = "start + step * index along one axis";
  let description = [{
    ```mlir
    %pos = nx.iota {axis = 0, start = #nx.dims<0>, step = #nx.dims<1>} : tensor<?xi64, #nx.dims<s1>>
    ```
  }];
  let arguments = (ins I64Attr:$axis, Nx_DimsAttr:$start, Nx_DimsAttr:$step);
  let results = (outs Nx_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Nx_CheckOp : Nx_Op<"check"> {
  let summary = "A condition on sizes that is checked before each execution";
  let description = [{
    ```mlir
    nx.check <s0> equals <s1> "node 'Add_3': sizes of dimension 0 differ"
    ```
  }];
  let arguments = (ins Nx_DimsAttr:$lhs, Nx_DimsAttr:$rhs, StrAttr:$message);
  let assemblyFormat = "$lhs `equals` $rhs $message attr-dict";
  let hasVerifier = 1;
}

def Nx_UnsupportedOp : Nx_Op<"unsupported"> {
  let summary = "A source operation that nx cannot compile";
  let description = [{
    Lets the importer go on, so that `nx-check-supported` can report all of them at once. No later
    phase sees one.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$node, StrAttr:$op_type, StrAttr:$domain,
      I64Attr:$opset, StrAttr:$reason);
  let results = (outs Variadic<AnyType>:$results);
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

class Nx_ElementwiseOp<string mnemonic, dag ins, list<Trait> traits = []>
    : Nx_PureOp<mnemonic, [DeclareOpInterfaceMethods<ElementwiseOpInterface>,
                           ShardingRuleOpInterface, InferTypeOpInterface] # traits> {
  let arguments = ins;
  let results = (outs Nx_Tensor:$result);
  // The element type of the result, given the operands'.
  code resultElement = "::mlir::cast<::mlir::RankedTensorType>(operands[0].getType()).getElementType()";
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties,
        ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::nx::inferElementwise(location, operands, }] # resultElement # [{, types);
    }
  }];
}

class Nx_UnaryOp<string mnemonic, string meaning, Type type = Nx_FloatTensor>
    : Nx_ElementwiseOp<mnemonic, (ins type:$x), [SameOperandsAndResultShape]> {
  let summary = meaning # ", element by element";
  let description = "Example: `%y = nx." # mnemonic # " %x : (tensor<4xf32>) -> tensor<4xf32>`";
}
class Nx_BinaryOp<string mnemonic, string meaning, Type type = Nx_NumberTensor, list<Trait> traits = []>
    : Nx_ElementwiseOp<mnemonic, (ins type:$lhs, type:$rhs), [SameOperandsElementType] # traits> {
  let summary = meaning # ", element by element with broadcasting";
  let description = "Example: `%z = nx." # mnemonic # " %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>`";
}

def Nx_AbsOp : Nx_UnaryOp<"abs", "absolute value", Nx_NumberTensor>;
def Nx_NegOp : Nx_UnaryOp<"neg", "negation", Nx_NumberTensor>;
def Nx_SignOp : Nx_UnaryOp<"sign", "-1, 0 or 1; NaN stays", Nx_NumberTensor>;
def Nx_ExpOp : Nx_UnaryOp<"exp", "e to the x">;
def Nx_Expm1Op : Nx_UnaryOp<"expm1", "e to the x, minus 1">;
def Nx_LogOp : Nx_UnaryOp<"log", "natural logarithm">;
def Nx_Log1pOp : Nx_UnaryOp<"log1p", "natural logarithm of 1 + x">;
def Nx_SqrtOp : Nx_UnaryOp<"sqrt", "square root">;
def Nx_RsqrtOp : Nx_UnaryOp<"rsqrt", "1 over the square root">;
def Nx_ReciprocalOp : Nx_UnaryOp<"reciprocal", "1 / x">;
def Nx_SinOp : Nx_UnaryOp<"sin", "sine">;
def Nx_CosOp : Nx_UnaryOp<"cos", "cosine">;
def Nx_TanOp : Nx_UnaryOp<"tan", "tangent">;
def Nx_AsinOp : Nx_UnaryOp<"asin", "arc sine">;
def Nx_AcosOp : Nx_UnaryOp<"acos", "arc cosine">;
def Nx_AtanOp : Nx_UnaryOp<"atan", "arc tangent">;
def Nx_SinhOp : Nx_UnaryOp<"sinh", "hyperbolic sine">;
def Nx_CoshOp : Nx_UnaryOp<"cosh", "hyperbolic cosine">;
def Nx_TanhOp : Nx_UnaryOp<"tanh", "hyperbolic tangent">;
def Nx_AsinhOp : Nx_UnaryOp<"asinh", "inverse hyperbolic sine">;
def Nx_AcoshOp : Nx_UnaryOp<"acosh", "inverse hyperbolic cosine">;
def Nx_AtanhOp : Nx_UnaryOp<"atanh", "inverse hyperbolic tangent">;
def Nx_ErfOp : Nx_UnaryOp<"erf", "error function">;
def Nx_CeilOp : Nx_UnaryOp<"ceil", "least integer not below">;
def Nx_FloorOp : Nx_UnaryOp<"floor", "greatest integer not above">;
def Nx_RoundOp : Nx_UnaryOp<"round", "nearest integer, ties to even">;
def Nx_TruncOp : Nx_UnaryOp<"trunc", "integer part">;
def Nx_ReluOp : Nx_UnaryOp<"relu", "max(x, 0); NaN stays", Nx_NumberTensor>;
def Nx_SigmoidOp : Nx_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Nx_SiluOp : Nx_UnaryOp<"silu", "x * sigmoid(x)">;
def Nx_SoftplusOp : Nx_UnaryOp<"softplus", "log(1 + exp(x))">;
def Nx_NotOp : Nx_UnaryOp<"not", "logical not of booleans, bitwise not of integers", Nx_NumberTensor>;

def Nx_GeluOp : Nx_ElementwiseOp<"gelu", (ins Nx_FloatTensor:$x, UnitAttr:$tanh)> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `x * (1 + erf(x / sqrt(2))) / 2`, or with `tanh` the approximation
    `x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2` (Hendrycks and Gimpel, arXiv:1606.08415).

    Example: `%y = nx.gelu %x {tanh} : (tensor<4xf32>) -> tensor<4xf32>`
  }];
}
def Nx_EluOp : Nx_ElementwiseOp<"elu", (ins Nx_FloatTensor:$x, F64Attr:$alpha)> {
  let summary = "x where x > 0, else alpha * (exp(x) - 1)";
}
def Nx_LeakyReluOp : Nx_ElementwiseOp<"leaky_relu", (ins Nx_FloatTensor:$x, F64Attr:$alpha)> {
  let summary = "x where x >= 0, else alpha * x";
}
def Nx_HardSigmoidOp : Nx_ElementwiseOp<"hard_sigmoid",
    (ins Nx_FloatTensor:$x, F64Attr:$alpha, F64Attr:$beta)> {
  let summary = "min(1, max(0, alpha * x + beta))";
}
def Nx_IsNanOp : Nx_ElementwiseOp<"is_nan", (ins Nx_FloatTensor:$x)> {
  let summary = "true where x is NaN";
  let resultElement = "::mlir::IntegerType::get(context, 1)";
}
def Nx_IsInfOp : Nx_ElementwiseOp<"is_inf",
    (ins Nx_FloatTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$positive,
         DefaultValuedAttr<BoolAttr, "true">:$negative)> {
  let summary = "true where x is infinite, of the wanted signs";
  let resultElement = "::mlir::IntegerType::get(context, 1)";
}

def Nx_AddOp : Nx_BinaryOp<"add", "sum", Nx_NumberTensor, [Commutative]>;
def Nx_SubOp : Nx_BinaryOp<"sub", "difference">;
def Nx_MulOp : Nx_BinaryOp<"mul", "product", Nx_NumberTensor, [Commutative]>;
def Nx_DivOp : Nx_BinaryOp<"div", "quotient; of integers rounded to zero, x / 0 gives 0 and the least value / -1 wraps">;
def Nx_FloorDivOp : Nx_BinaryOp<"floor_div", "quotient rounded down; integers as in div otherwise">;
def Nx_RemOp : Nx_BinaryOp<"rem", "remainder with the dividend's sign (C's fmod and %); of integers by 0 gives 0">;
def Nx_ModOp : Nx_BinaryOp<"mod", "remainder with the divisor's sign (Python's %); of integers by 0 gives 0">;
def Nx_PowOp : Nx_ElementwiseOp<"pow", (ins Nx_NumberTensor:$lhs, Nx_NumberTensor:$rhs)> {
  let summary = "lhs to the power of rhs, with broadcasting; the result has the type of lhs";
  let description = [{
    Integer powers of integers are exact modulo 2^bits; a negative exponent gives 0, except for bases 1 and -1.

    Example: `%z = nx.pow %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>`
  }];
}
def Nx_MaxOp : Nx_BinaryOp<"max", "the greater; NaN wins", Nx_NumberTensor, [Commutative]>;
def Nx_MinOp : Nx_BinaryOp<"min", "the lesser; NaN wins", Nx_NumberTensor, [Commutative]>;
def Nx_AndOp : Nx_BinaryOp<"and", "logical and of booleans, bitwise and of integers", Nx_NumberTensor, [Commutative]>;
def Nx_OrOp : Nx_BinaryOp<"or", "logical or of booleans, bitwise or of integers", Nx_NumberTensor, [Commutative]>;
def Nx_XorOp : Nx_BinaryOp<"xor", "exclusive or", Nx_NumberTensor, [Commutative]>;
def Nx_ShlOp : Nx_BinaryOp<"shl", "left shift of integers; by the width or more gives 0">;
def Nx_ShrOp : Nx_BinaryOp<"shr", "right shift of integers, arithmetic for signed ones; by the width or more gives 0 or -1">;

def Nx_CompareOp : Nx_ElementwiseOp<"compare",
    (ins Nx_NumberTensor:$lhs, Nx_NumberTensor:$rhs, Nx_ComparePredicateAttr:$predicate), [SameOperandsElementType]> {
  let summary = "Comparison with broadcasting; comparisons with NaN are false, except ne";
  let description = [{
    Example: `%z = nx.compare %x, %y {predicate = #nx<compare_predicate lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>`
  }];
  let resultElement = "::mlir::IntegerType::get(context, 1)";
}
def Nx_SelectOp : Nx_ElementwiseOp<"select", (ins Nx_BoolTensor:$condition, Nx_Tensor:$x, Nx_Tensor:$y)> {
  let summary = "x where the condition holds, else y; with broadcasting";
  let resultElement = "::mlir::cast<::mlir::RankedTensorType>(operands[1].getType()).getElementType()";
  let hasVerifier = 1;
}
def Nx_CastOp : Nx_PureOp<"cast", [DeclareOpInterfaceMethods<ElementwiseOpInterface>,
    ShardingRuleOpInterface, SameOperandsAndResultShape]> {
  let summary = "Conversion of the element type";
  let description = [{
    Float to integer rounds to zero and saturates, NaN gives 0; to boolean is `x != 0`; integers wrap;
    floats round to nearest even. What is too large for an 8-bit float becomes its greatest number, or, with
    `overflow`, infinity where it has one and else NaN. `f8E8M0FNU` holds powers of two; `round` says which one a number
    between two becomes: `up`, `down` or `nearest`.

    Example: `%y = nx.cast %x : (tensor<4xi64>) -> tensor<4xf32>`
  }];
  let arguments = (ins Nx_Tensor:$x, UnitAttr:$overflow, DefaultValuedAttr<StrAttr, "\"up\"">:$round);
  let results = (outs Nx_Tensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Nx_BitcastOp : Nx_PureOp<"bitcast", [DeclareOpInterfaceMethods<ElementwiseOpInterface>,
    ShardingRuleOpInterface, SameOperandsAndResultShape]> {
  let summary = "The same bits read as another element type of the same width";
  let description = "Example: `%y = nx.bitcast %x : (tensor<4xf32>) -> tensor<4xi32>`";
  let arguments = (ins Nx_Tensor:$x);
  let results = (outs Nx_Tensor:$result);
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contraction, convolution, attention
//===----------------------------------------------------------------------===//

def Nx_MatmulOp : Nx_InferredOp<"matmul", [SameOperandsElementType, Nx_HasRule]> {
  let summary = "Matrix product over the last two dimensions, with broadcast batch dimensions";
  let description = [{
    `lhs [.., M, K]` times `rhs [.., K, N]`; with `transpose_lhs` lhs is `[.., K, M]`, with
    `transpose_rhs` rhs is `[.., N, K]`. Both have rank 2 or more.

    Example: `%c = nx.matmul %a, %b : (tensor<4x128x64xf32>, tensor<64x32xf32>) -> tensor<4x128x32xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$lhs, Nx_NumberTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ConvOp : Nx_InferredOp<"conv", [SameOperandsElementType, Nx_HasRuleAndParts]> {
  let summary = "Convolution (cross-correlation), any number of spatial dimensions";
  let description = [{
    `input [N, C, spatial..]`, `weight [O, C / groups, kernel..]`, optional `bias [O]`. The padding is
    zeros, `pads_lo` before and `pads_hi` after each spatial dimension.

    Example: `%y = nx.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>,
    pads_hi = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x224x224xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x112x112xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$input, Nx_NumberTensor:$weight, Optional<Nx_NumberTensor>:$bias,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi, I64Attr:$groups);
  let results = (outs Nx_Tensor:$result);
}

def Nx_PoolOp : Nx_InferredOp<"pool", [Nx_HasRule]> {
  let summary = "Max, average or sum over windows of the spatial dimensions";
  let description = [{
    `input [N, C, spatial..]`. A maximum ignores padding; an average divides by the window's size
    (`count_include_pad`) or by the number of elements inside the input. `ceil_mode` rounds the output
    size up; a window then never starts in the right-hand padding.
  }];
  let arguments = (ins Nx_NumberTensor:$input, Nx_PoolKindAttr:$kind, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi,
      UnitAttr:$ceil_mode, UnitAttr:$count_include_pad);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ArgPoolOp : Nx_InferredOp<"arg_pool", [Nx_HasRule]> {
  let summary = "Where in its image the greatest element of each window lies";
  let description = [{
    The windows are those of nx.pool. The result (i64) counts the elements of the spatial dimensions in row-major
    order; of equal elements the first one wins, and NaN wins over all.

    Example: `%i = nx.arg_pool %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>,
    pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xi64>`
  }];
  let arguments = (ins Nx_NumberTensor:$input, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_lo, DenseI64ArrayAttr:$pads_hi, UnitAttr:$ceil_mode);
  let results = (outs Nx_Tensor:$result);
}

def Nx_AttentionOp : Nx_InferredOp<"attention", [Nx_HasRule]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    `softmax(scale * q k^T + mask) v` for `q [B, Hq, S, D]`, `k [B, Hkv, T, D]`, `v [B, Hkv, T, Dv]`, with
    Hq a multiple of Hkv (query head h uses key head `h / (Hq / Hkv)`). `mask` broadcasts to `[B, Hq, S, T]`;
    a float mask is added, a boolean one keeps where true. `causal` holds one offset: query `s` may use
    key `t` only when `t <= s + offset`. With 0 the triangle starts at the first key; keys of `P` earlier
    positions make it `P`; `T - S` ends it at the last key. The result is `[B, Hq, S, Dv]`.

    A query that may use no key (boolean mask, -inf, or causal) gives NaN, as a softmax of nothing but
    -inf does; with `zero_without_keys` it gives zero. Large finite masks are ordinary numbers, and
    without any keys (`T = 0`) the result is zero, the product over nothing.

    Example: `%y = nx.attention %q, %k, %v {scale = 0.125 : f64, causal = #nx.dims<s0>, zero_without_keys}
    : (tensor<1x8x4x64xf32>, tensor<1x2x?x64xf32, #nx.dims<1, 2, s0 + 4, 64>>, tensor<1x2x?x64xf32,
    #nx.dims<1, 2, s0 + 4, 64>>) -> tensor<1x8x4x64xf32>`
  }];
  let arguments = (ins Nx_FloatTensor:$query, Nx_FloatTensor:$key, Nx_FloatTensor:$value,
      Optional<Nx_Tensor>:$mask, F64Attr:$scale, OptionalAttr<Nx_DimsAttr>:$causal,
      UnitAttr:$zero_without_keys);
  let results = (outs Nx_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------===//

def Nx_ReduceOp : Nx_InferredOp<"reduce", [Nx_HasRule]> {
  let summary = "Combines all elements along some axes";
  let description = [{
    `axes` are ascending and unique. Without `keep_dims` the axes disappear. Max and min of booleans are "any" and "all".

    Example: `%m = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$x, Nx_ReduceKindAttr:$kind, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ArgReduceOp : Nx_InferredOp<"arg_reduce", [Nx_HasRule]> {
  let summary = "Index of the greatest or least element along an axis";
  let description = [{
    `kind` is max or min. Of equal elements the first one wins, with `select_last` the last; NaN wins over all. The result is i64.
  }];
  let arguments = (ins Nx_NumberTensor:$x, Nx_ReduceKindAttr:$kind, I64Attr:$axis, UnitAttr:$keep_dims, UnitAttr:$select_last);
  let results = (outs Nx_Tensor:$result);
}

def Nx_CumulativeOp : Nx_InferredOp<"cumulative", [Nx_HasRule]> {
  let summary = "Running sum, product, maximum or minimum along an axis";
  let description = [{
    `exclusive` leaves the element itself out; `reverse` runs from the end. `kind` is any but mean.

    Example: `%y = nx.cumulative %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$x, I64Attr:$axis, DefaultValuedAttr<Nx_ReduceKindAttr, "::nx::ReduceKind::sum">:$kind,
      UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Nx_Tensor:$result);
}

def Nx_SoftmaxOp : Nx_InferredOp<"softmax", [Nx_HasRule]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along an axis; with `log` its logarithm";
  let arguments = (ins Nx_FloatTensor:$x, I64Attr:$axis, UnitAttr:$log);
  let results = (outs Nx_FloatTensor:$result);
}

def Nx_LayerNormOp : Nx_InferredOp<"layer_norm", [AttrSizedOperandSegments, Nx_HasRule]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the dimensions from `axis` on";
  let description = "`scale` and `bias` broadcast to the shape of x. Statistics are computed in f32 or wider.";
  let arguments = (ins Nx_FloatTensor:$x, Optional<Nx_FloatTensor>:$scale, Optional<Nx_FloatTensor>:$bias,
      I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Nx_FloatTensor:$result);
}

def Nx_RmsNormOp : Nx_InferredOp<"rms_norm", [Nx_HasRule]> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale over the dimensions from `axis` on";
  let arguments = (ins Nx_FloatTensor:$x, Optional<Nx_FloatTensor>:$scale, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Nx_FloatTensor:$result);
}

def Nx_GroupNormOp : Nx_InferredOp<"group_norm", [Nx_HasRuleAndParts]> {
  let summary = "Normalization of `x [N, C, ..]` over groups of channels, then scale and bias `[C]`";
  let description = "`groups` divides C; `groups = C` is instance normalization.";
  let arguments = (ins Nx_FloatTensor:$x, Nx_FloatTensor:$scale, Nx_FloatTensor:$bias, I64Attr:$groups, F64Attr:$epsilon);
  let results = (outs Nx_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def Nx_TransposeOp : Nx_InferredOp<"transpose", [Nx_HasRule]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension perm[i]";
  let arguments = (ins Nx_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs Nx_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nx_ReshapeOp : Nx_PureOp<"reshape", [SameOperandsAndResultElementType, Nx_HasRule]> {
  let summary = "The same elements in row-major order with other sizes, taken from the result type";
  let description = [{
    Both sizes have the same product, as expressions.

    Example: `%y = nx.reshape %x : (tensor<?x768xf32, #nx.dims<s0, 768>>) -> tensor<?x12x64xf32, #nx.dims<s0, 12, 64>>`
  }];
  let arguments = (ins Nx_Tensor:$x);
  let results = (outs Nx_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nx_BroadcastOp : Nx_PureOp<"broadcast", [SameOperandsAndResultElementType, Nx_HasRule]> {
  let summary = "NumPy broadcasting to the result's sizes";
  let arguments = (ins Nx_Tensor:$x);
  let results = (outs Nx_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nx_SliceOp : Nx_PureOp<"slice", [SameOperandsAndResultElementType, Nx_HasRuleAndParts]> {
  let summary = "Elements start, start + step, .. of each dimension; sizes from the result type";
  let description = [{
    `starts` are in range, steps may be negative.

    Example: `%y = nx.slice %x {starts = #nx.dims<0, 1>, steps = array<i64: 1, 2>} : (tensor<4x9xf32>) -> tensor<4x4xf32>`
  }];
  let arguments = (ins Nx_Tensor:$x, Nx_DimsAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Nx_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nx_ConcatOp : Nx_InferredOp<"concat", [SameOperandsElementType, Nx_HasRule]> {
  let summary = "Joins tensors along an axis";
  let arguments = (ins Variadic<Nx_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Nx_Tensor:$result);
  let hasFolder = 1;
}

def Nx_PadOp : Nx_InferredOp<"pad", [Nx_HasRule]> {
  let summary = "Adds elements before and after each dimension; negative amounts remove";
  let description = "`value` (rank 0) fills in constant mode, zero when it is absent.";
  let arguments = (ins Nx_Tensor:$x, Optional<Nx_Tensor>:$value, Nx_DimsAttr:$lo, Nx_DimsAttr:$hi, Nx_PadModeAttr:$mode);
  let results = (outs Nx_Tensor:$result);
}

def Nx_GatherOp : Nx_InferredOp<"gather", [Nx_HasRule]> {
  let summary = "result[a.., i.., b..] = x[a.., indices[i..], b..] with the index on `axis`";
  let description = "Negative indices count from the end. An index out of range stops the execution with an error.";
  let arguments = (ins Nx_Tensor:$x, Nx_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Nx_Tensor:$result);
}

def Nx_GatherElementsOp : Nx_InferredOp<"gather_elements", [Nx_HasRule]> {
  let summary = "result[.., i, ..] = x[.., indices[.., i, ..], ..] with the index on `axis`";
  let description = "Same rank; indices as in gather.";
  let arguments = (ins Nx_Tensor:$x, Nx_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Nx_Tensor:$result);
}

def Nx_GatherNdOp : Nx_InferredOp<"gather_nd", [Nx_HasRule]> {
  let summary = "result[b.., i.., c..] = x[b.., indices[b.., i.., :], c..]";
  let description = "The last dimension of `indices` holds one index tuple; the first `batch_dims` dimensions are shared.";
  let arguments = (ins Nx_Tensor:$x, Nx_IndexTensor:$indices, I64Attr:$batch_dims);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ScatterElementsOp : Nx_InferredOp<"scatter_elements", [Nx_HasRule]> {
  let summary = "x with updates at x[.., indices[.., i, ..], ..], the index on `axis`";
  let description = [{
    All have one rank; `indices` and `updates` have one shape, which may be smaller than that of x outside of the axis
    too. `reduction` says what becomes of an update and the element that it meets; updates of one element
    are applied in the order of their indices. Negative indices count from the end, others out of range stop the
    execution with an error.

    Example: `%y = nx.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = #nx<scatter_kind add>}
    : (tensor<4x8xf32>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$x, Nx_IndexTensor:$indices, Nx_NumberTensor:$updates, I64Attr:$axis,
      Nx_ScatterKindAttr:$reduction);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ScatterNdOp : Nx_InferredOp<"scatter_nd"> {
  let summary = "x with updates[i.., c..] at x[indices[i.., :], c..]";
  let description = [{
    The last dimension of `indices` holds one index tuple; the rest is as in scatter_elements.

    Example: `%y = nx.scatter_nd %x, %i, %u {reduction = #nx<scatter_kind set>}
    : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>`
  }];
  let arguments = (ins Nx_NumberTensor:$x, Nx_IndexTensor:$indices, Nx_NumberTensor:$updates, Nx_ScatterKindAttr:$reduction);
  let results = (outs Nx_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Nx_TopKOp : Nx_InferredOp<"top_k", [Nx_HasRule]> {
  let summary = "The k greatest or, with `smallest`, least elements along an axis, in order";
  let description = [{
    The second result holds their indices (i64). Equal elements stay in the order of their indices; NaN counts as greater
    than all numbers. With k the size of the axis this is a stable sort.

    Example: `%v, %i = nx.top_k %x {axis = 1 : i64, k = #nx.dims<3>} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)`
  }];
  let arguments = (ins Nx_NumberTensor:$x, I64Attr:$axis, Nx_DimsAttr:$k, UnitAttr:$smallest);
  let results = (outs Nx_Tensor:$values, Nx_Tensor:$indices);
}

//===----------------------------------------------------------------------===//
// Recurrence, linear algebra, regions
//===----------------------------------------------------------------------===//

def Nx_RecurrentOp : Nx_InferredOp<"recurrent", [AttrSizedOperandSegments]> {
  let summary = "A recurrent layer over time, without the products of its input";
  let description = [{
    `input [T, B, G * H]` holds what each gate gets of the input at each step (weights and biases applied);
    `recurrence [G * H, H]` are the weights of the state, `state [B, H]` is the one before the first step. `kind` gives the
    gates and their number G:

    - `rnn`: h' = f(x + R h)
    - `gru`, gates z, r, h: h' = (1 - z) * g(x_h + R_h (r * h) + b) + z * h with z and r by f; with `reset_after`
      g(x_h + r * (R_h h + b)), where b is `recurrent_bias [H]`
    - `lstm`, gates i, o, f, c: c' = f * c + i * g(x_c + R_c h), h' = o * h(c'); `cell [B, H]` is the first c,
      `peephole [3 * H]` weighs c in i, o (c' there) and f

    `activations` names the functions f, g, h (f alone for rnn; f and g for gru), `parameters` has two numbers for each.
    Element b of the batch takes the first `lengths[b]` steps, then its outputs are 0 and its state stays. `reverse`
    runs from the last of those steps to the first. `clip` bounds what enters the functions (0: no bound); `coupled` makes
    f = 1 - i. Results: the outputs [T, B, H], the last state, and the last cell (of lstm; else the state).

    Example: `%y, %h, %c = nx.recurrent %x, %r, %s {kind = #nx<recurrent_kind rnn>, activations = ["Tanh"], parameters = array<f64: 0.0, 0.0>,
    clip = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)`
  }];
  let arguments = (ins Nx_FloatTensor:$input, Nx_FloatTensor:$recurrence, Nx_FloatTensor:$state,
      Optional<Nx_FloatTensor>:$cell, Optional<Nx_FloatTensor>:$recurrent_bias, Optional<Nx_FloatTensor>:$peephole,
      Optional<Nx_IndexTensor>:$lengths, Nx_RecurrentKindAttr:$kind, StrArrayAttr:$activations,
      DenseF64ArrayAttr:$parameters, F64Attr:$clip, UnitAttr:$reverse, UnitAttr:$reset_after, UnitAttr:$coupled);
  let results = (outs Nx_FloatTensor:$outputs, Nx_FloatTensor:$last_state, Nx_FloatTensor:$last_cell);
}

def Nx_DetOp : Nx_InferredOp<"det"> {
  let summary = "Determinants of the matrices in the last two dimensions";
  let description = "Example: `%d = nx.det %x : (tensor<2x3x3xf32>) -> tensor<2xf32>`";
  let arguments = (ins Nx_FloatTensor:$x);
  let results = (outs Nx_FloatTensor:$result);
}

def Nx_RoiAlignOp : Nx_InferredOp<"roi_align"> {
  let summary = "Average or maximum of bilinear samples in the cells of a grid over regions of images";
  let description = [{
    `x [N, C, H, W]`, `rois [R, 4]` as x1, y1, x2, y2, `images [R]` says which image each region belongs to. The regions are
    scaled by `scale` and, with `half_pixel`, moved by half an element. A cell has `sampling` times
    `sampling` samples; with 0 as many as make them at most one element apart. In a maximum each sample counts as the greatest of its four
    weighted neighbours.

    Example: `%y = nx.roi_align %x, %r, %n {height = 2 : i64, width = 2 : i64, sampling = 0 : i64, scale = 1.0 : f64, half_pixel}
    : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>`
  }];
  let arguments = (ins Nx_FloatTensor:$x, Nx_FloatTensor:$rois, Nx_IndexTensor:$images, I64Attr:$height, I64Attr:$width,
      I64Attr:$sampling, F64Attr:$scale, UnitAttr:$half_pixel, UnitAttr:$maximum);
  let results = (outs Nx_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Nx_DispatchOp : Nx_PureOp<"dispatch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls an outlined kernel";
  let description = [{
    The kernel is a private function with the attribute `nx.family`; its types are over its own symbols
    s0, s1, ..., and `slots` gives the value of each in the caller's symbols.

    ```mlir
    %y = nx.dispatch @matmul_768x3072(%x, %w) slots <s1>
        : (tensor<?x768xf32, #nx.dims<s1, 768>>, tensor<768x3072xf32>) -> tensor<?x3072xf32, #nx.dims<s1, 3072>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Nx_Tensor>:$inputs, Nx_DimsAttr:$slots);
  let results = (outs Variadic<Nx_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` `slots` $slots attr-dict `:` functional-type($inputs, $results)";
}

//===----------------------------------------------------------------------===//
// Between ranks
//===----------------------------------------------------------------------===//

def Nx_ShardOp : Nx_InferredOp<"shard"> {
  let summary = "This rank's part of a value that all ranks have";
  let description = [{
    Of dimension `dim`, cut into `parts` equal parts, rank r keeps part r. With `blocks` the dimension is first cut
    into blocks of these sizes, and each rank keeps its part of every block, side by side: what the recipe step
    `#nx.shard` does to a parameter.

    Example: `%p = nx.shard %x {dim = 1 : i64, parts = 2 : i64, blocks = array<i64: 512, 128, 128>}
    : (tensor<4x768xf32>) -> tensor<4x384xf32>`
  }];
  let arguments = (ins Nx_Tensor:$x, I64Attr:$dim, I64Attr:$parts, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$blocks);
  let results = (outs Nx_Tensor:$result);
  let extraClassDeclaration = [{
    /// True when the part is one run of the dimension.
    bool isContiguous() { return getBlocks().size() <= 1; }
  }];
}

def Nx_AllReduceOp : Nx_InferredOp<"all_reduce"> {
  let summary = "Combines the ranks' values; every rank gets the result";
  let arguments = (ins Nx_Tensor:$x, Nx_ReduceKindAttr:$kind, I64Attr:$parts);
  let results = (outs Nx_Tensor:$result);
}

def Nx_AllGatherOp : Nx_InferredOp<"all_gather"> {
  let summary = "Joins the ranks' values along `dim`, in rank order";
  let arguments = (ins Nx_Tensor:$x, I64Attr:$dim, I64Attr:$parts);
  let results = (outs Nx_Tensor:$result);
}

def Nx_ReduceScatterOp : Nx_InferredOp<"reduce_scatter"> {
  let summary = "Combines the ranks' values; rank r gets part r of `dim`";
  let arguments = (ins Nx_Tensor:$x, Nx_ReduceKindAttr:$kind, I64Attr:$dim, I64Attr:$parts);
  let results = (outs Nx_Tensor:$result);
}

def Nx_AllToAllOp : Nx_InferredOp<"all_to_all"> {
  let summary = "Splits along `split_dim`, sends part r to rank r, joins what arrives along `concat_dim`";
  let arguments = (ins Nx_Tensor:$x, I64Attr:$split_dim, I64Attr:$concat_dim, I64Attr:$parts);
  let results = (outs Nx_Tensor:$result);
}

#endif
