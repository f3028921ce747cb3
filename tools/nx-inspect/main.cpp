// nx-inspect: what is in an executable. Documented in docs/tools.md.
#include "tools/common/CommandLine.h"
#include "tools/common/Refusal.h"
#include "tools/nx-inspect/Describe.h"
#include "tools/nx-inspect/Print.h"

#include <cstdio>

using namespace nxtool;

int main(int argc, char **argv) {
  std::string path;
  Sections sections;
  bool all = false, json = false, verify = false;
  CLI::App app("Shows what is in an executable made by nxcc; every check of the loader is made, no "
               "code of the file is run.",
               "nx-inspect");
  app.set_version_flag("--version", std::string("nx-inspect ") + NX_VERSION);
  app.footer("Exit status: 0 done, 1 refused (a sentence on standard error says why), 2 wrong command "
             "line.");
  app.add_option("executable", path, "The .nxe file")->required()->type_name("FILE.nxe");
  app.add_flag("--commands", sections.commands, "List the commands of each entry point");
  app.add_flag("--buffers", sections.buffers, "List the buffers with lifetimes and places");
  app.add_flag("--weights", sections.weights, "List the parameters");
  app.add_flag("--kernels", sections.kernels, "List the kernels");
  app.add_flag("--plan", sections.plan, "List the partition plan");
  app.add_flag("--all", all, "List everything");
  app.add_flag("--json", json, "Everything as JSON");
  app.add_flag("--verify", verify, "Check the checksums of the weights too");
  return runTool(app, argc, argv, [&] {
    using nxrt::ExecutableFile;
    std::unique_ptr<ExecutableFile> file;
    nxrt::Status status =
        ExecutableFile::open(path.c_str(), verify ? ExecutableFile::Weights::Verify
                                                  : ExecutableFile::Weights::Trust, file);
    if (!status.ok())
      throw Refusal(status.message());
    if (all)
      sections = {true, true, true, true, true};
    nlohmann::ordered_json description = describe(*file);
    if (verify)
      description["weights_verified"] = true;
    // Names come from the model: invalid UTF-8 in them must not stop the output.
    std::string text =
        json ? description.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"
             : printDescription(description, sections);
    if (verify && !json)
      text += "checksums of all segments: right\n";
    std::fputs(text.c_str(), stdout);
    return ExitDone;
  });
}
