// The description of an executable as text for people.
#ifndef NX_TOOLS_NX_INSPECT_PRINT_H
#define NX_TOOLS_NX_INSPECT_PRINT_H

#include <nlohmann/json.hpp>
#include <string>

namespace nxtool {

/// Which long lists to print beside the summary.
struct Sections {
  bool commands = false, weights = false, kernels = false, plan = false, buffers = false;
};

std::string printDescription(const nlohmann::ordered_json &description, const Sections &sections);

} // namespace nxtool

#endif // NX_TOOLS_NX_INSPECT_PRINT_H
