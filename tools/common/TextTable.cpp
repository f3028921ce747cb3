#include "tools/common/TextTable.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace nxtool {
namespace {

/// Columns on a terminal: UTF-8 continuation bytes take none.
size_t width(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

} // namespace

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths(columns.size(), 0);
  for (const auto &cells : rows)
    for (size_t c = 0; c < cells.size(); ++c)
      widths[c] = std::max(widths[c], width(cells[c]));
  std::string result;
  auto line = [&](auto cell) {
    std::string text(indent, ' ');
    for (size_t c = 0; c < columns.size(); ++c) {
      if (widths[c] == 0)
        continue;
      size_t full = std::max(widths[c], width(columns[c].title));
      std::string pad(full - width(cell(c)), ' ');
      if (text.size() > indent)
        text += "  ";
      text += columns[c].align == Align::Right ? pad + cell(c) : cell(c) + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + "\n";
  };
  line([&](size_t c) -> const std::string & { return columns[c].title; });
  for (const auto &cells : rows)
    line([&](size_t c) -> const std::string & { return cells[c]; });
  return result;
}

std::string format(const char *pattern, ...) {
  std::va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(std::max(size, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string sizeText(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes);
  for (const char *unit : {"KiB", "MiB", "GiB"}) {
    size /= 1024;
    if (size < 1024)
      return format("%.1f %s", size, unit);
  }
  return format("%.1f TiB", size / 1024);
}

} // namespace nxtool
