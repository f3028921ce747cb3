//===- Weights.h - Tensors of an archive ----------------------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_WEIGHTS_H
#define NX_COMPILER_IMPORT_TORCH_WEIGHTS_H

#include "compiler/import/torch/ExportedProgram.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nx::torch {

/// A tensor of an archive as a dense one with other dimensions. What can be used where it lies is not
/// copied: transposed tensors, and those that show one element many times.
struct StoredTensor {
  mlir::RankedTensorType type;       ///< of `bytes`, row-major
  llvm::SmallVector<int64_t> order;  ///< which dimension of the tensor each dimension of `type` is
  llvm::SmallVector<int64_t> sizes;  ///< of the tensor; `type` has 1 where all elements are the same
  std::vector<char> copied;          ///< the bytes, when they had to be gathered
  llvm::ArrayRef<char> mapped;       ///< else where they lie
  llvm::ArrayRef<char> bytes() const { return copied.empty() ? mapped : llvm::ArrayRef<char>(copied); }
};

/// Reads sizes, strides and offset of a tensor, none of which is trusted. With `rowMajor` the type is the
/// tensor's own.
llvm::Expected<StoredTensor> readTensor(const Payload &payload, mlir::MLIRContext *context, bool rowMajor = false);

/// A text that two payloads share when they are the same tensor.
std::string identityOf(const Payload &payload);

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_WEIGHTS_H
