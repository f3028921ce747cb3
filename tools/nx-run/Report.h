// Figures of nx-run as text and as JSON.
#ifndef NX_TOOLS_NX_RUN_REPORT_H
#define NX_TOOLS_NX_RUN_REPORT_H

#include "nxrt/nxrt.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nxtool {

/// Least, median and 99th-percentile time of executions, in milliseconds.
struct Latency {
  double min = 0, median = 0, p99 = 0;
  size_t count = 0;
};
Latency summarize(std::vector<double> milliseconds);
void addLatency(const Latency &latency, nlohmann::ordered_json &json);

/// What the profile holds, one object per command and rank that ran.
nlohmann::ordered_json readProfile(const nxrt_model *model);
/// The same as a table: one line per command, averaged over ranks, in the program's order.
std::string profileTable(const nlohmann::ordered_json &profile);

} // namespace nxtool

#endif // NX_TOOLS_NX_RUN_REPORT_H
