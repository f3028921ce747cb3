// The nxe dialect: what an executable holds, one operation per table of runtime/schema.
#ifndef NXE_OPS
#define NXE_OPS

include "dialects/nx/NxDialect.td"
include "dialects/nxe/NxeEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nxe_Dialect : Dialect {
  let name = "nxe";
  let cppNamespace = "::nxe";
  let summary = "What an executable holds";
  let description = [{
    One operation per table of the executable's schema, so that emission is a walk and an executable can
    be read, written and tested as text. A program is a list of commands over buffers; sizes are
    `#nx.dims` over the program's symbols.

    ```mlir
    nxe.executable tp 1 {
      nxe.kernel @matmul_768x3072 family "contract" slots 1 operands 3
      nxe.param @p0 "fc.weight" source tensor<768x3072xf32> recipe [#nx.pack] : tensor<768x3072xf32>
      nxe.program @forward symbols [#nxe.symbol<"seq", input_dim, 0, 0>] {
        %x = nxe.input 0 "x" : tensor<?x768xf32, #nx.dims<s0, 768>>
        %w = nxe.load @p0
        %y = nxe.output 0 "y" : tensor<?x3072xf32, #nx.dims<s0, 3072>>
        nxe.dispatch @matmul_768x3072(%x, %w, %y) dims #nx.dims<s0>
      }
    }
    ```
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::nx::NxDialect"];
}

def Nxe_BufferType : TypeDef<Nxe_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Storage of one rank";
}

def Nxe_SymbolAttr : AttrDef<Nxe_Dialect, "Symbol"> {
  let mnemonic = "symbol";
  let summary = "A run-time size: its name and the input dimension that gives it";
  let description = "The dimension is `factor` times the symbol plus `offset`.";
  let parameters = (ins StringRefParameter<>:$name, EnumParameter<Nxe_SymbolSource>:$source,
      "uint32_t":$input, "uint32_t":$dim, DefaultValuedParameter<"int64_t", "1">:$factor,
      DefaultValuedParameter<"int64_t", "0">:$offset);
  let assemblyFormat = [{
    `<` $name `,` $source `,` $input `,` $dim (`,` `factor` $factor^)? (`,` `offset` $offset^)? `>`
  }];
}

class Nxe_Op<string mnemonic, list<Trait> traits = []> : Op<Nxe_Dialect, mnemonic, traits>;

def Nxe_ExecutableOp : Nxe_Op<"executable", [NoTerminator, SingleBlock, IsolatedFromAbove, SymbolTable]> {
  let summary = "The whole file";
  let arguments = (ins I64Attr:$tp_degree);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`tp` $tp_degree attr-dict-with-keyword $body";
}

def Nxe_KernelOp : Nxe_Op<"kernel", [Symbol, HasParent<"ExecutableOp">]> {
  let summary = "An entry of the kernel table";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, I64Attr:$slots, I64Attr:$operands);
  let assemblyFormat = "$sym_name `family` $family `slots` $slots `operands` $operands attr-dict";
}

def Nxe_ParamOp : Nxe_Op<"param", [Symbol, HasParent<"ExecutableOp">]> {
  let summary = "An entry of the parameter table: a weight in the form that the program reads";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source, TypeAttrOf<Nx_Tensor>:$source_type,
      DefaultValuedAttr<ArrayAttr, "{}">:$recipe, TypeAttrOf<Nx_Tensor>:$type);
  let assemblyFormat = "$sym_name $source `source` $source_type (`recipe` $recipe^)? `:` $type attr-dict";
}

def Nxe_ProgramOp : Nxe_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove, HasParent<"ExecutableOp">]> {
  let summary = "An entry point: what every rank runs";
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Nxe_SymbolAttr, "symbols">:$symbols,
      OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `symbols` $symbols (`arena` $arena_bytes^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

class Nxe_BufferOp<string mnemonic> : Nxe_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let results = (outs Nxe_BufferType:$buffer);
}

def Nxe_InputOp : Nxe_BufferOp<"input"> {
  let summary = "The storage of an input, and its place in the signature";
  let arguments = (ins I64Attr:$index, StrAttr:$name, TypeAttrOf<Nx_Tensor>:$type);
  let assemblyFormat = "$index $name `:` $type attr-dict";
}
def Nxe_OutputOp : Nxe_BufferOp<"output"> {
  let summary = "The storage of an output, and its place in the signature";
  let arguments = (ins I64Attr:$index, StrAttr:$name, TypeAttrOf<Nx_Tensor>:$type);
  let assemblyFormat = "$index $name `:` $type attr-dict";
}
def Nxe_LoadOp : Nxe_BufferOp<"load"> {
  let summary = "The storage of a parameter";
  let arguments = (ins FlatSymbolRefAttr:$param);
  let assemblyFormat = "$param attr-dict";
}
def Nxe_TempOp : Nxe_BufferOp<"temp"> {
  let summary = "Storage in the arena";
  let description = [{
    `first` and `last` are the positions of the first and the last command that touch it, `offset` is
    its place in the arena when all sizes are static. `nxe-plan-memory` sets them.
  }];
  let arguments = (ins Nx_DimsAttr:$bytes, OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$last,
      OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "`bytes` $bytes (`first` $first^ `last` $last)? (`offset` $offset^)? attr-dict";
}
def Nxe_ViewOp : Nxe_BufferOp<"view"> {
  let summary = "A part of another buffer";
  let arguments = (ins Nxe_BufferType:$base, Nx_DimsAttr:$offset, Nx_DimsAttr:$bytes);
  let assemblyFormat = "$base `offset` $offset `bytes` $bytes attr-dict";
}

def Nxe_StateOp : Nxe_Op<"state", [HasParent<"ProgramOp">]> {
  let summary = "Storage that outlives an execution";
  let description = [{
    Input number `input` holds what the last successful execution left; output number `output` becomes
    the new value, or the program only reads it. `initial` is a row-major parameter with the first value,
    else it is zero. Inputs and outputs of states follow those that callers see. Programs that name the
    same state share it.

    ```mlir
    nxe.state "cache" input 1 output 1 initial @p3
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$input, OptionalAttr<I64Attr>:$output,
      OptionalAttr<FlatSymbolRefAttr>:$initial);
  let assemblyFormat = "$name `input` $input (`output` $output^)? (`initial` $initial^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

class Nxe_Command<string mnemonic> : Nxe_Op<mnemonic, [HasParent<"ProgramOp">]>;

def Nxe_DispatchOp : Nxe_Command<"dispatch"> {
  let summary = "Run a kernel over all its tiles";
  let description = "Operands are the kernel's inputs, then its outputs; `dims` are its slots.";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Nxe_BufferType>:$operands, Nx_DimsAttr:$dims);
  let assemblyFormat = "$kernel `(` $operands `)` `dims` $dims attr-dict";
}

def Nxe_CollectiveOp : Nxe_Command<"collective"> {
  let summary = "Combine or exchange data between ranks";
  let description = [{
    `layout` is [outer, count, inner] of the source in elements of `element`; `result_layout` the same of
    the part in the destination, for all_to_all only. See program.fbs for each kind's meaning.
  }];
  let arguments = (ins EnumAttr<Nxe_Dialect, Nxe_CollectiveKind, "collective_kind">:$kind,
      Nx_ReduceKindAttr:$reduce, TypeAttr:$element, Nxe_BufferType:$source, Nxe_BufferType:$target,
      Nx_DimsAttr:$layout, OptionalAttr<Nx_DimsAttr>:$result_layout);
  let assemblyFormat = [{
    $kind $reduce $element $source `to` $target `layout` $layout (`result_layout` $result_layout^)? attr-dict
  }];
}

def Nxe_CopyOp : Nxe_Command<"copy"> {
  let summary = "Copy bytes from one buffer to another";
  let arguments = (ins Nxe_BufferType:$source, Nxe_BufferType:$target, Nx_DimsAttr:$bytes);
  let assemblyFormat = "$source `to` $target `bytes` $bytes attr-dict";
}

def Nxe_CheckOp : Nxe_Op<"check", [HasParent<"ProgramOp">]> {
  let summary = "A condition on sizes that is checked before each execution";
  let arguments = (ins Nx_DimsAttr:$lhs, Nx_DimsAttr:$rhs, StrAttr:$message);
  let assemblyFormat = "$lhs `equals` $rhs $message attr-dict";
}

#endif
