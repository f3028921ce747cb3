//===- Passes.h - From the nx graph to kernels and programs ---------------===//
#ifndef NX_COMPILER_LOWERING_PASSES_H
#define NX_COMPILER_LOWERING_PASSES_H

#include "dialects/nx/Nx.h"
#include "dialects/nxe/Nxe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace nx {
#define GEN_PASS_DECL
#include "compiler/lowering/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/lowering/Passes.h.inc"

/// Attribute of kernel functions: the family that emits them.
inline constexpr llvm::StringLiteral kFamilyAttr = "nx.family";
/// Attribute of a kernel's argument whose bytes are packed: "panel16".
inline constexpr llvm::StringLiteral kLayoutAttr = "nx.layout";
/// Attribute of a program's arguments and results: the model's name.
inline constexpr llvm::StringLiteral kNameAttr = "nx.name";
// On an argument and a result of the program: the state whose value they are. `nx.initial` names the
// parameter with its first value; without it that is zero.
inline constexpr llvm::StringLiteral kStateAttr = "nx.state";
inline constexpr llvm::StringLiteral kInitialAttr = "nx.initial";
/// The symbol that is the executing rank.
inline constexpr llvm::StringLiteral kRankSymbol = "@rank";

inline constexpr llvm::StringLiteral kContractFamily = "contract";
inline constexpr llvm::StringLiteral kMatmulFamily = "matmul";
inline constexpr llvm::StringLiteral kAttentionFamily = "attention";
inline constexpr llvm::StringLiteral kLoopsFamily = "loops";
inline constexpr llvm::StringLiteral kScalarFamily = "scalar";
} // namespace nx
#endif // NX_COMPILER_LOWERING_PASSES_H
