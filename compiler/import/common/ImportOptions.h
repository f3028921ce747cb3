//===- ImportOptions.h - What a user may say about a model's inputs -------===//
#ifndef NX_COMPILER_IMPORT_COMMON_IMPORTOPTIONS_H
#define NX_COMPILER_IMPORT_COMMON_IMPORTOPTIONS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace nx {

struct ImportOptions {
  /// Sizes that replace those of an input; ShapedType::kDynamic keeps the model's. A size given for
  /// a symbol holds wherever the model uses the symbol.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;

  /// Adds "NAME=DIMS", DIMS like "1x128" or "?x128" ("" is a scalar). An error says what is wrong.
  llvm::Error addShape(llvm::StringRef text);
};

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_IMPORTOPTIONS_H
