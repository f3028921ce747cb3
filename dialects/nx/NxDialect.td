// The nx dialect, its attributes and its type constraints.
#ifndef NX_DIALECT
#define NX_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Nx_Dialect : Dialect {
  let name = "nx";
  let cppNamespace = "::nx";
  let summary = "What a model means: tensor operations with symbolic sizes";
  let description = [{
    A graph of operations on ranked tensors, the same for every frontend. Values are immutable; the
    element types are `f64 f32 f16 bf16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1`. Signless integers
    are signed, as in most of MLIR; unsigned ones are spelled `uiN`. `i1` is a boolean. Floats of 8 and 4 bits and
    integers of 4 and 2 bits are narrow types: they are stored, moved and cast, and take a byte each.

    **Sizes.** A dynamic dimension is never anonymous: the tensor's encoding `#nx.dims` gives each
    dimension as an expression over the program's symbols `s0, s1, ...`. The function's attribute
    `nx.symbols` names them. Two dimensions with the same expression are equal; equality of
    different expressions is either proved by normal form or becomes a run-time check.

    ```mlir
    func.func @forward(%x: tensor<?x?x768xf32, #nx.dims<s0, s1, 768>>)
        -> tensor<?x?x768xf32, #nx.dims<s0, s1, 768>> attributes {nx.symbols = ["batch", "seq"]}
    ```

    **Weights** are never constants: `nx.param` names bytes that the parameter catalogue finds.
    Every operation carries the `NameLoc` of its source node.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::func::FuncDialect"];
}

class Nx_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Nx_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Nx_DimsAttr : Nx_Attr<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Sizes as expressions over the program's symbols";
  let description = [{
    A list of affine-like expressions over symbols `s0, s1, ...` in normal form (see
    `dialects/nx/Dims.h`). As a tensor's encoding it gives every dimension of the tensor, static
    ones included; as an attribute it gives offsets or values that are known only at run time.

    Example: `#nx.dims<s0, s1 * 2 + 1, 768>`
  }];
  let parameters = (ins "::mlir::AffineMap":$map);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The attribute for `exprs`, each brought to normal form.
    static DimsAttr get(::mlir::MLIRContext *context, ::llvm::ArrayRef<::mlir::AffineExpr> exprs);
    ::llvm::ArrayRef<::mlir::AffineExpr> getExprs() const { return getMap().getResults(); }
  }];
  let skipDefaultBuilders = 1;
}

// One step of a parameter's recipe: how stored bytes become the value that the program uses.
def Nx_TransposeStep : Nx_Attr<"TransposeStep", "transpose"> {
  let summary = "Recipe step: permute dimensions";
  let parameters = (ins ArrayRefParameter<"int64_t">:$perm);
  let assemblyFormat = "`<` $perm `>`";
}
def Nx_ReshapeStep : Nx_Attr<"ReshapeStep", "reshape"> {
  let summary = "Recipe step: row-major reshape";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $shape `>`";
}
def Nx_CastStep : Nx_Attr<"CastStep", "cast"> {
  let summary = "Recipe step: convert the element type";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def Nx_ShardStep : Nx_Attr<"ShardStep", "shard"> {
  let summary = "Recipe step: rank r keeps part r of `parts` equal parts of dimension `dim`";
  let description = [{
    With `blocks` the dimension is first cut into blocks of these sizes, and each rank takes its part
    of every block, in order: how a fused query-key-value weight is split by heads.

    Example: `#nx.shard<dim = 1, parts = 2, blocks = [512, 128, 128]>`
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$parts, OptionalArrayRefParameter<"int64_t">:$blocks);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `parts` `=` $parts (`,` `blocks` `=` `[` $blocks^ `]`)? `>`";
}
def Nx_PackStep : Nx_Attr<"PackStep", "pack"> {
  let summary = "Recipe step: packed panels of 16 columns, `[.., ceil(N/16), K, 16]` of `[.., K, N]`";
  let description = [{
    The form that contraction kernels stream. Always the last step; the value's type stays the
    logical `[.., K, N]`.
  }];
  let assemblyFormat = "";
}

class Nx_Enum<string name, string desc, list<I32EnumCase> cases>
    : I32Enum<name, desc, cases> { let cppNamespace = "::nx"; }
class Nx_EnumAttr<EnumInfo info, string name> : EnumAttr<Nx_Dialect, info, name>;

def Nx_ReduceKind : Nx_Enum<"ReduceKind", "how values are combined", [
  I32EnumCase<"sum", 0>, I32EnumCase<"mean", 1>, I32EnumCase<"max", 2>, I32EnumCase<"min", 3>,
  I32EnumCase<"prod", 4>]>;
def Nx_ReduceKindAttr : Nx_EnumAttr<Nx_ReduceKind, "reduce_kind">;
def Nx_ComparePredicate : Nx_Enum<"ComparePredicate", "comparison", [
  I32EnumCase<"eq", 0>, I32EnumCase<"ne", 1>, I32EnumCase<"lt", 2>, I32EnumCase<"le", 3>,
  I32EnumCase<"gt", 4>, I32EnumCase<"ge", 5>]>;
def Nx_ComparePredicateAttr : Nx_EnumAttr<Nx_ComparePredicate, "compare_predicate">;
def Nx_PoolKind : Nx_Enum<"PoolKind", "pooling", [I32EnumCase<"max", 0>, I32EnumCase<"avg", 1>, I32EnumCase<"sum", 2>]>;
def Nx_PoolKindAttr : Nx_EnumAttr<Nx_PoolKind, "pool_kind">;
def Nx_PadMode : Nx_Enum<"PadMode", "what lies outside", [
  I32EnumCase<"constant", 0>, I32EnumCase<"edge", 1>, I32EnumCase<"reflect", 2>, I32EnumCase<"wrap", 3>]>;
def Nx_PadModeAttr : Nx_EnumAttr<Nx_PadMode, "pad_mode">;

def Nx_ScatterKind : Nx_Enum<"ScatterKind", "what becomes of an update and the element it meets", [
  I32EnumCase<"set", 0>, I32EnumCase<"add", 1>, I32EnumCase<"mul", 2>, I32EnumCase<"max", 3>, I32EnumCase<"min", 4>]>;
def Nx_ScatterKindAttr : Nx_EnumAttr<Nx_ScatterKind, "scatter_kind">;
def Nx_RecurrentKind : Nx_Enum<"RecurrentKind", "recurrent layer", [
  I32EnumCase<"rnn", 0>, I32EnumCase<"gru", 1>, I32EnumCase<"lstm", 2>]>;
def Nx_RecurrentKindAttr : Nx_EnumAttr<Nx_RecurrentKind, "recurrent_kind">;

// What operations compute with, and what is only stored, moved and cast.
def Nx_Number : AnyTypeOf<[F64, F32, F16, BF16, I64, I32, I16, I8, I1, UI64, UI32, UI16, UI8], "number type">;
def Nx_Narrow : AnyTypeOf<[F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN, I<4>, UI<4>, I<2>, UI<2>],
    "narrow type">;
def Nx_Element : AnyTypeOf<[Nx_Number, Nx_Narrow], "nx element type">;
// Ranked, with `#nx.dims` when any dimension is dynamic.
def Nx_Tensor : Type<And<[RankedTensorOf<[Nx_Element]>.predicate,
    CPred<"::nx::hasKnownDims(::llvm::cast<::mlir::RankedTensorType>($_self))">]>,
    "ranked tensor whose dynamic dimensions have #nx.dims", "::mlir::RankedTensorType">;
def Nx_NumberTensor : Type<And<[Nx_Tensor.predicate, RankedTensorOf<[Nx_Number]>.predicate]>,
    "tensor of numbers that nx computes with", "::mlir::RankedTensorType">;
def Nx_FloatTensor : Type<And<[Nx_Tensor.predicate,
    RankedTensorOf<[F64, F32, F16, BF16]>.predicate]>, "tensor of floats", "::mlir::RankedTensorType">;
def Nx_IndexTensor : Type<And<[Nx_Tensor.predicate,
    RankedTensorOf<[I64, I32]>.predicate]>, "tensor of i32 or i64 indices", "::mlir::RankedTensorType">;
def Nx_BoolTensor : Type<And<[Nx_Tensor.predicate,
    RankedTensorOf<[I1]>.predicate]>, "tensor of booleans", "::mlir::RankedTensorType">;
#endif
