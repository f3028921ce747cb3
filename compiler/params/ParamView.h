//===- ParamView.h - A recipe as a strided view of stored bytes -----------===//
//
// Transposes, reshapes and shards move no element: they change which stored element comes next. A
// view keeps that as loops over the stored elements; casts are applied to what comes out.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_PARAMS_PARAMVIEW_H
#define NX_COMPILER_PARAMS_PARAMVIEW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace nx {

/// `size` elements that lie `stride` elements apart or, if there is a table, at its offsets.
struct Loop {
  int64_t size;
  int64_t stride;
  std::shared_ptr<const std::vector<int64_t>> table = nullptr;

  int64_t offset(int64_t i) const { return table ? (*table)[i] : i * stride; }
  bool isContiguous() const { return stride == 1 && !table; }
};

/// A tensor whose dimensions are each a nest of loops over a row-major source. A dimension has more
/// than one loop after a reshape merged dimensions that aren't contiguous.
class ParamView {
public:
  explicit ParamView(llvm::ArrayRef<int64_t> shape);

  void transpose(llvm::ArrayRef<int64_t> perm);
  /// False, and the view is unchanged, when a new dimension's edge falls inside a loop that its size
  /// does not divide.
  [[nodiscard]] bool reshape(llvm::ArrayRef<int64_t> shape);
  /// Cuts dimension `dim` into blocks (one when the list is empty) and keeps part `rank` of `parts`
  /// of each.
  void shard(int64_t dim, int64_t parts, llvm::ArrayRef<int64_t> blocks, int64_t rank);

  size_t rank() const { return dims.size(); }
  int64_t size(size_t dim) const;
  llvm::SmallVector<int64_t> shape() const;
  int64_t offset() const { return start; }

  /// All loops of the dimensions [first, last), outermost first, merged where contiguous.
  llvm::SmallVector<Loop> loops(size_t first, size_t last) const;
  /// Source offset of each index of one dimension.
  std::vector<int64_t> offsets(size_t dim) const;

private:
  using Nest = llvm::SmallVector<Loop, 2>;
  /// Moves the inner loops of `outer` that have `count` elements to `inner`; false if a loop would
  /// be cut unevenly.
  static bool splitInner(Nest &outer, Nest &inner, int64_t count);

  int64_t start = 0;
  llvm::SmallVector<Nest, 4> dims;
};

} // namespace nx
#endif // NX_COMPILER_PARAMS_PARAMVIEW_H
