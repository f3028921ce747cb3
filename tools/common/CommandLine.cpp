#include "tools/common/CommandLine.h"
#include "tools/common/Refusal.h"

#include <cstdio>
#include <iostream>
#include <new>

namespace nxtool {

int runTool(CLI::App &app, int argc, char **argv, const std::function<int()> &work) {
  std::string tool = app.get_name();
  auto complain = [&](const char *sentence) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", tool.c_str(), sentence);
  };
  try {
    app.parse(argc, argv);
    int status = work();
    // A full disk or a closed pipe shows only now.
    if (std::fflush(stdout) != 0 || !std::cout.flush()) {
      complain("cannot write to standard output");
      return ExitRefused;
    }
    return status;
  } catch (const CLI::Success &success) {
    return app.exit(success); // --help and --version
  } catch (const CLI::ParseError &error) {
    complain(error.what());
    std::fprintf(stderr, "Try '%s --help'.\n", tool.c_str());
    return ExitUsage;
  } catch (const Refusal &refusal) {
    complain(refusal.what());
    return refusal.status();
  } catch (const std::bad_alloc &) {
    complain("out of memory");
    return ExitRefused;
  } catch (const std::exception &error) {
    complain(error.what());
    return ExitRefused;
  }
}

} // namespace nxtool
