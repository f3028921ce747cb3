//===- ImportOptions.cpp - What a user may say about a model's inputs -----===//

#include "compiler/import/common/ImportOptions.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace nx;
using llvm::createStringError;
using llvm::Error;

Error ImportOptions::addShape(StringRef text) {
  auto [name, list] = text.rsplit('=');
  if (name.empty() || name.size() == text.size())
    return createStringError("'" + text + "' is not NAME=DIMS, such as ids=1x128");
  SmallVector<StringRef> parts;
  SmallVector<int64_t> dims;
  if (!list.empty())
    list.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size = ShapedType::kDynamic;
    if (part != "?" && (part.getAsInteger(10, size) || size < 0))
      return createStringError("'" + part + "' in '" + text + "' is neither a size nor ?");
    dims.push_back(size);
  }
  if (!shapes.try_emplace(name, dims).second)
    return createStringError("the shape of '" + name + "' is given twice");
  return Error::success();
}
