// A table of text with aligned columns.
#ifndef NX_TOOLS_COMMON_TEXTTABLE_H
#define NX_TOOLS_COMMON_TEXTTABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace nxtool {

class TextTable {
public:
  enum class Align { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Left;
  };
  explicit TextTable(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// One cell per column.
  void row(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

  /// The lines, each with `indent` spaces in front and a newline behind; no trailing blanks. Columns
  /// whose cells are all empty are left out.
  std::string text(size_t indent = 0) const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
/// "1.5 MiB", "512 B".
std::string sizeText(uint64_t bytes);

} // namespace nxtool

#endif // NX_TOOLS_COMMON_TEXTTABLE_H
