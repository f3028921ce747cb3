// Copies a strided matrix into panels of 16 columns, [depth][16], where a register tile reads them.
#ifndef NX_CODEGEN_CPU_PANELPACKING_H
#define NX_CODEGEN_CPU_PANELPACKING_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nx {

// B[d, j] at memory[offset + d * depthStride + j * columnStride].
struct PanelSource {
  mlir::Value memory, offset;
  mlir::Value depthStride, columnStride;
  mlir::Value depth;
  mlir::Value columns; // of this panel, at least 1; more than 16 count as 16
};

// Writes the panel, as f32, from memory[offset] on. Columns that do not exist get any value.
void packPanel(KernelBuilder &kb, const PanelSource &source, mlir::Value memory,
               mlir::Value offset);

} // namespace nx

#endif // NX_CODEGEN_CPU_PANELPACKING_H
