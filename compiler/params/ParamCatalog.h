//===- ParamCatalog.h - Where the bytes of parameters come from -----------===//
//
// `nx.param` names a parameter and says by a recipe what becomes of it; the catalogue knows its
// bytes. They stay in the mapped model file until `materialize` streams them out in final form.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_PARAMS_PARAMCATALOG_H
#define NX_COMPILER_PARAMS_PARAMCATALOG_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <deque>

namespace nx {

/// A parameter as it is stored: row-major, little endian, booleans one byte (0 or 1) each.
struct Param {
  mlir::RankedTensorType type;  ///< sizes are static
  llvm::ArrayRef<char> bytes;   ///< exactly the bytes of `type`; the catalogue keeps them alive
};

/// Bytes of one element in memory and in files.
unsigned elementBytes(mlir::Type element);

/// Columns of one packed panel (the last recipe step, `#nx.pack`).
inline constexpr int64_t kPanelColumns = 16;

class ParamCatalog {
public:
  /// The contents of `path`, mapped read-only for the catalogue's lifetime. A file is mapped once.
  llvm::Expected<llvm::StringRef> mapFile(llvm::StringRef path);

  /// Adds a parameter whose bytes lie in a mapped file, or are moved into the catalogue. Errors: a
  /// name that is taken, a size other than the type's.
  llvm::Error add(llvm::StringRef name, mlir::RankedTensorType type, llvm::ArrayRef<char> mapped);
  llvm::Error addOwned(llvm::StringRef name, mlir::RankedTensorType type, std::vector<char> bytes);

  /// The parameter, or null. Valid as long as the catalogue.
  const Param *lookup(llvm::StringRef name) const;

  /// Receives the final bytes in order, in pieces of at most a few MiB that are valid during the
  /// call. An error it returns ends the streaming.
  using Sink = llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)>;

  /// Streams what `recipe` makes of the parameter for `rank`. Memory stays bounded by a few MiB,
  /// except for a reshape that cuts across transposed dimensions: then by the parameter's own size.
  llvm::Error materialize(llvm::StringRef name, mlir::ArrayAttr recipe, int64_t rank, Sink sink) const;

  /// True when every rank gets the same bytes.
  static bool sameForAllRanks(mlir::ArrayAttr recipe);

  /// Size of what `materialize` streams for a value of logical type `type` (the type of the
  /// `nx.param` result), packing included.
  static uint64_t packedBytes(mlir::RankedTensorType type, mlir::ArrayAttr recipe);

  /// XXH3 over all mapped files, in the order of mapping, as 16 hexadecimal digits.
  std::string contentHash() const;

private:
  std::vector<std::pair<std::string, std::unique_ptr<llvm::MemoryBuffer>>> files;
  std::deque<std::vector<char>> owned;
  llvm::StringMap<Param> params;
};

} // namespace nx
#endif // NX_COMPILER_PARAMS_PARAMCATALOG_H
