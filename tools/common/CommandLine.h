// What every tool's main does around its work.
#ifndef NX_TOOLS_COMMON_COMMANDLINE_H
#define NX_TOOLS_COMMON_COMMANDLINE_H

#include <CLI/CLI.hpp>

#include <functional>

namespace nxtool {

/// Parses the command line, does the work and turns whatever went wrong into one sentence on standard
/// error and an exit status (Refusal.h). Never lets an exception out.
int runTool(CLI::App &app, int argc, char **argv, const std::function<int()> &work);

} // namespace nxtool

#endif // NX_TOOLS_COMMON_COMMANDLINE_H
