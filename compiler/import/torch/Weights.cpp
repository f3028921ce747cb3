//===- Weights.cpp - Tensors of an archive --------------------------------===//

#include "compiler/import/torch/Weights.h"
#include "compiler/import/torch/NodeImporter.h"
#include "compiler/params/ParamCatalog.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;
using llvm::createStringError;
using llvm::Expected;

Expected<StoredTensor> nx::torch::readTensor(const Payload &payload, MLIRContext *context, bool rowMajor) {
  const TensorMeta &meta = payload.meta;
  Type element = elementType(meta.dtype, context);
  if (!element)
    return createStringError("has element type " + nameOf(meta.dtype) + ", which nx does not have");
  if (!meta.isStrided)
    return createStringError("is sparse; store it densely");
  size_t rank = meta.sizes.size();
  if (meta.strides.size() != rank || !meta.offset.value)
    return createStringError("has sizes and strides that do not fit");

  // All positions must lie inside the storage.
  StoredTensor tensor;
  SmallVector<int64_t> strides;
  int64_t last = *meta.offset.value, count = 1;
  bool isPossible = last >= 0;
  for (size_t i = 0; i < rank && isPossible; ++i) {
    if (!meta.sizes[i].value || !meta.strides[i].value)
      return createStringError("has a symbolic size");
    int64_t size = *meta.sizes[i].value, stride = *meta.strides[i].value, span = 0;
    isPossible = size >= 0 && stride >= 0 && !llvm::MulOverflow(count, size, count) &&
                 !llvm::MulOverflow(std::max<int64_t>(size - 1, 0), stride, span) && !llvm::AddOverflow(last, span, last);
    tensor.sizes.push_back(size);
    strides.push_back(stride);
  }
  int64_t elementSize = elementBytes(element), stored = payload.bytes.size() / elementSize;
  if (!isPossible || (count > 0 && last >= stored))
    return createStringError("needs more than the " + Twine(payload.bytes.size()) + " bytes that are stored for it");

  // Dimensions in the order in which they lie in memory; repeated ones (stride 0) are kept once.
  SmallVector<int64_t> kept(tensor.sizes), order;
  if (rowMajor) {
    llvm::append_range(order, llvm::seq<int64_t>(0, rank));
  } else {
    for (size_t i = 0; i < rank; ++i)
      if (strides[i] == 0)
        kept[i] = std::min<int64_t>(kept[i], 1);
    // Where dimensions of size 1 are does not matter.
    for (size_t i = 0; i < rank; ++i)
      if (kept[i] == 1)
        order.push_back(i);
    size_t units = order.size();
    for (size_t i = 0; i < rank; ++i)
      if (kept[i] != 1)
        order.push_back(i);
    llvm::sort(order.begin() + units, order.end(), [&](int64_t x, int64_t y) {
      return std::pair(-strides[x], x) < std::pair(-strides[y], y);
    });
  }
  SmallVector<int64_t> shape;
  int64_t elements = 1, expected = 1;
  bool isDense = true;
  for (int64_t i : order) {
    shape.push_back(kept[i]);
    elements *= kept[i];
  }
  for (int64_t i : llvm::reverse(order)) {
    isDense &= kept[i] == 1 || strides[i] == expected;
    expected *= kept[i];
  }
  tensor.type = RankedTensorType::get(shape, element);
  tensor.order = order;
  if (elements == 0)
    return tensor;
  if (isDense) {
    tensor.mapped = {payload.bytes.data() + *meta.offset.value * elementSize, size_t(elements * elementSize)};
  } else {
    // Parts of a storage are copied; overlapping ones could make much out of little.
    if (elements > stored)
      return createStringError("overlaps itself, which nx does not read");
    tensor.copied.reserve(elements * elementSize);
    SmallVector<int64_t> index(rank, 0);
    for (int64_t n = 0; n < elements; ++n) {
      int64_t at = *meta.offset.value;
      for (size_t i = 0; i < rank; ++i)
        at += index[i] * strides[order[i]];
      const char *from = payload.bytes.data() + at * elementSize;
      tensor.copied.insert(tensor.copied.end(), from, from + elementSize);
      for (size_t i = rank; i-- > 0 && ++index[i] == shape[i];)
        index[i] = 0;
    }
  }
  if (element.isInteger(1) && llvm::any_of(tensor.bytes(), [](char c) { return c != 0 && c != 1; }))
    return createStringError("has a boolean that is neither 0 nor 1");
  return tensor;
}

std::string nx::torch::identityOf(const Payload &payload) {
  std::string key = (payload.entry + "#" + Twine(int64_t(payload.meta.dtype))).str();
  auto add = [&](const Size &size) { key += " " + (size.value ? std::to_string(*size.value) : size.expr); };
  add(payload.meta.offset);
  for (const std::vector<Size> *list : {&payload.meta.sizes, &payload.meta.strides}) {
    key += " /";
    for (const Size &size : *list)
      add(size);
  }
  return key;
}
