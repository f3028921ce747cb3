// An executable as JSON: the one description that nx-inspect prints as text or as it is.
#ifndef NX_TOOLS_NX_INSPECT_DESCRIBE_H
#define NX_TOOLS_NX_INSPECT_DESCRIBE_H

#include "runtime/loader/executable_file.h"

#include <nlohmann/json.hpp>

namespace nxtool {

/// Everything that the file's tables hold. The keys are listed in docs/tools.md.
nlohmann::ordered_json describe(const nxrt::ExecutableFile &file);

} // namespace nxtool

#endif // NX_TOOLS_NX_INSPECT_DESCRIBE_H
