//===- ParamView.cpp - A recipe as a strided view of stored bytes ---------===//

#include "compiler/params/ParamView.h"

using namespace llvm;
using namespace nx;

ParamView::ParamView(ArrayRef<int64_t> shape) : dims(shape.size()) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    dims[i].push_back({shape[i], stride});
}

int64_t ParamView::size(size_t dim) const {
  int64_t size = 1;
  for (const Loop &loop : dims[dim])
    size *= loop.size;
  return size;
}

SmallVector<int64_t> ParamView::shape() const {
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank(); ++i)
    shape.push_back(size(i));
  return shape;
}

void ParamView::transpose(ArrayRef<int64_t> perm) {
  SmallVector<Nest, 4> permuted;
  for (int64_t p : perm)
    permuted.push_back(dims[p]);
  dims = std::move(permuted);
}

bool ParamView::splitInner(Nest &outer, Nest &inner, int64_t count) {
  // `inner` is filled from the innermost loop outwards.
  while (count > 1) {
    if (outer.empty())
      return false;
    Loop &last = outer.back();
    if (count % last.size == 0) {
      count /= last.size;
      inner.insert(inner.begin(), last);
      outer.pop_back();
    } else if (last.size % count == 0 && !last.table) {
      inner.insert(inner.begin(), {count, last.stride});
      last = {last.size / count, last.stride * count};
      count = 1;
    } else {
      return false;
    }
  }
  return true;
}

bool ParamView::reshape(ArrayRef<int64_t> shape) {
  if (is_contained(this->shape(), 0)) {
    // Nothing is stored: any loops of the right sizes do.
    *this = ParamView(shape);
    return true;
  }
  Nest all;
  for (const Loop &loop : loops(0, rank()))
    all.push_back(loop);
  SmallVector<Nest, 4> reshaped(shape.size());
  for (size_t i = shape.size(); i-- > 0;)
    if (!splitInner(all, reshaped[i], shape[i]))
      return false;
  dims = std::move(reshaped);
  return true;
}

void ParamView::shard(int64_t dim, int64_t parts, ArrayRef<int64_t> blocks, int64_t rank) {
  int64_t whole = size(dim);
  if (blocks.empty())
    blocks = whole;
  int64_t part = blocks.front() / parts;
  // Equal blocks are [blocks][parts][part]: fix the loop in the middle.
  Nest rest = dims[dim], kept, cut;
  if (all_equal(blocks) && part > 0 && splitInner(rest, kept, part) && splitInner(rest, cut, parts)) {
    int64_t index = rank;
    for (const Loop &loop : reverse(cut)) {
      start += loop.offset(index % loop.size);
      index /= loop.size;
    }
    rest.append(kept);
    dims[dim] = std::move(rest);
    return;
  }
  std::vector<int64_t> all = offsets(dim), table;
  int64_t begin = 0;
  for (int64_t block : blocks) {
    auto first = all.begin() + begin + block / parts * rank;
    table.insert(table.end(), first, first + block / parts);
    begin += block;
  }
  auto count = int64_t(table.size());
  dims[dim] = {Loop{count, 0, std::make_shared<const std::vector<int64_t>>(std::move(table))}};
}

SmallVector<Loop> ParamView::loops(size_t first, size_t last) const {
  SmallVector<Loop> merged;
  for (size_t i = first; i < last; ++i)
    for (const Loop &loop : dims[i]) {
      if (loop.size == 1)
        continue;
      if (!merged.empty() && !merged.back().table && !loop.table &&
          merged.back().stride == loop.size * loop.stride)
        merged.back() = {merged.back().size * loop.size, loop.stride};
      else
        merged.push_back(loop);
    }
  return merged;
}

std::vector<int64_t> ParamView::offsets(size_t dim) const {
  std::vector<int64_t> table{0};
  for (const Loop &loop : dims[dim]) {
    std::vector<int64_t> finer;
    finer.reserve(table.size() * loop.size);
    for (int64_t base : table)
      for (int64_t i = 0; i < loop.size; ++i)
        finer.push_back(base + loop.offset(i));
    table = std::move(finer);
  }
  return table;
}
