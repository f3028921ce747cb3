// Enumerations of the nxe dialect, numbered as in runtime/schema.
#ifndef NXE_ENUMS
#define NXE_ENUMS
include "mlir/IR/EnumAttr.td"

def Nxe_SymbolSource : I32Enum<"SymbolSource", "where a symbol's value comes from",
    [I32EnumCase<"input_dim", 0>, I32EnumCase<"rank", 1>]> { let cppNamespace = "::nxe"; }
def Nxe_CollectiveKind : I32Enum<"CollectiveKind", "operation between ranks", [
  I32EnumCase<"all_reduce", 0>, I32EnumCase<"all_gather", 1>, I32EnumCase<"reduce_scatter", 2>,
  I32EnumCase<"all_to_all", 3>, I32EnumCase<"broadcast", 4>, I32EnumCase<"permute", 5>]> {
  let cppNamespace = "::nxe";
}

#endif
