//===- TensorData.h - Contents of ONNX tensors ----------------------------===//
#ifndef NX_COMPILER_IMPORT_ONNX_TENSORDATA_H
#define NX_COMPILER_IMPORT_ONNX_TENSORDATA_H

#include "compiler/import/onnx/OnnxModel.h"
#include "compiler/params/ParamCatalog.h"

namespace nx::onnx {

/// The nx element type; null when nx has none.
mlir::Type elementType(DataType type, mlir::MLIRContext *context);

/// A tensor's elements, row-major: a view into a mapped file, or decoded.
struct TensorBytes {
  llvm::ArrayRef<char> view;
  std::vector<char> decoded; ///< used when `isDecoded`
  bool isDecoded = false;

  llvm::ArrayRef<char> bytes() const { return isDecoded ? llvm::ArrayRef(decoded) : view; }
};

/// Reads the contents of `tensor`, whose type in nx is `type`. External data is mapped by `params`
/// and must lie in `folder`, symbolic links resolved.
llvm::Expected<TensorBytes> readTensor(const Tensor &tensor, mlir::RankedTensorType type, llvm::StringRef folder,
                                       ParamCatalog &params);

/// The tensor's type; an error when nx has no such element type or the sizes are impossible.
llvm::Expected<mlir::RankedTensorType> tensorType(const Tensor &tensor, mlir::MLIRContext *context);

} // namespace nx::onnx
#endif // NX_COMPILER_IMPORT_ONNX_TENSORDATA_H
