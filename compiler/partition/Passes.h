//===- Passes.h - Passes of the partitioner -------------------------------===//
#ifndef NX_COMPILER_PARTITION_PASSES_H
#define NX_COMPILER_PARTITION_PASSES_H

#include "dialects/nx/Nx.h"
#include "mlir/Pass/Pass.h"

namespace nx {
#define GEN_PASS_DECL
#include "compiler/partition/Passes.h.inc"

/// Makes nx-plan, nx-partition, nx-simplify-collectives and nx-print-sharding-rules known by name.
void registerPartitionPasses();
} // namespace nx
#endif // NX_COMPILER_PARTITION_PASSES_H
