#include "tools/nx-run/Report.h"
#include "tools/common/Runtime.h"
#include "tools/common/TextTable.h"

#include <algorithm>
#include <map>

namespace nxtool {

Latency summarize(std::vector<double> milliseconds) {
  if (milliseconds.empty())
    return {};
  std::sort(milliseconds.begin(), milliseconds.end());
  size_t count = milliseconds.size();
  // Nearest rank: the least value that 99 % of all are not above.
  return {milliseconds.front(), milliseconds[(count - 1) / 2], milliseconds[(count * 99 + 99) / 100 - 1],
          count};
}

void addLatency(const Latency &latency, nlohmann::ordered_json &json) {
  json["executions"] = latency.count;
  json["min_ms"] = latency.min;
  json["median_ms"] = latency.median;
  json["p99_ms"] = latency.p99;
}

nlohmann::ordered_json readProfile(const nxrt_model *model) {
  nlohmann::ordered_json profile = nlohmann::ordered_json::array();
  uint32_t count = 0;
  check(nxrt_profile_get_count(model, &count));
  for (uint32_t i = 0; i < count; ++i) {
    NXRT_STRUCT(nxrt_profile_entry, entry);
    check(nxrt_profile_get(model, i, &entry));
    if (entry.calls == 0)
      continue;
    profile.push_back({{"entry", entry.entry},
                       {"command", entry.command},
                       {"rank", entry.rank},
                       {"kind", entry.kind},
                       {"kernel", entry.kernel},
                       {"sources", entry.sources},
                       {"tiles", entry.tiles},
                       {"calls", entry.calls},
                       {"total_ns", entry.total_ns},
                       {"min_ns", entry.min_ns},
                       {"max_ns", entry.max_ns},
                       {"wait_ns", entry.wait_ns}});
  }
  return profile;
}

std::string profileTable(const nlohmann::ordered_json &profile) {
  struct Line {
    nlohmann::ordered_json first;
    double total = 0, wait = 0;
    uint64_t calls = 0, ranks = 0, minimum = UINT64_MAX;
  };
  std::map<std::pair<std::string, uint32_t>, Line> lines;
  double all = 0;
  for (const auto &entry : profile) {
    Line &line = lines[{entry["entry"], entry["command"]}];
    if (line.ranks++ == 0)
      line.first = entry;
    line.total += entry["total_ns"].get<double>();
    line.wait += entry["wait_ns"].get<double>();
    line.calls += entry["calls"].get<uint64_t>();
    line.minimum = std::min(line.minimum, entry["min_ns"].get<uint64_t>());
    all += entry["total_ns"].get<double>();
  }
  using Align = TextTable::Align;
  TextTable table({{"#", Align::Right},
                   {"kind"},
                   {"kernel"},
                   {"calls", Align::Right},
                   {"mean_us", Align::Right},
                   {"min_us", Align::Right},
                   {"share", Align::Right},
                   {"wait", Align::Right},
                   {"tiles", Align::Right},
                   {"sources"}});
  constexpr size_t kSourcesWidth = 72;
  for (const auto &[key, line] : lines) {
    std::string sources = line.first["sources"];
    if (sources.size() > kSourcesWidth)
      sources = sources.substr(0, kSourcesWidth) + "...";
    table.row({std::to_string(key.second), line.first["kind"], line.first["kernel"],
               std::to_string(line.calls / line.ranks),
               format("%.1f", line.total / static_cast<double>(line.calls) / 1e3),
               format("%.1f", static_cast<double>(line.minimum) / 1e3),
               format("%.1f%%", all > 0 ? 100 * line.total / all : 0),
               line.wait > 0 ? format("%.0f%%", 100 * line.wait / std::max(line.total, 1.0)) : "",
               std::to_string(line.first["tiles"].get<int64_t>()), sources});
  }
  return table.text();
}

} // namespace nxtool
