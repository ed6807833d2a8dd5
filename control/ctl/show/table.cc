#include "control/ctl/show/table.h"

#include <algorithm>
#include <cmath>

#include "control/units/text.h"

namespace cw::ctl {
namespace {

const Json* member_of(const Json& row, const std::string& member) {
  const size_t dot = member.find('.');
  const auto found = row.find(member.substr(0, dot));
  if (found == row.end()) return nullptr;
  return dot == std::string::npos ? &*found : member_of(*found, member.substr(dot + 1));
}

std::string plain_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (!value.is_array()) return value.dump();
  std::string all;
  for (const Json& each : value) all += (all.empty() ? "" : ", ") + plain_text(each);
  return all.empty() ? "-" : all;
}

/// As many as are seen of UTF-8.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string number_text(const Json& value, int digits) {
  if (!value.is_number()) return plain_text(value);
  std::string text = text_of("%.*f", digits, value.get<double>());
  const size_t end = std::min(text.find('.'), text.size());
  const size_t begin = text.starts_with('-') ? 1 : 0;
  for (size_t i = end; i > begin + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

Column text_column(const std::string& title, const std::string& member) {
  return {title, [member](const Json& row) {
            const Json* const value = member_of(row, member);
            return value == nullptr ? "-" : plain_text(*value);
          }};
}

Column number_column(const std::string& title, const std::string& member, int digits) {
  return {title,
          [member, digits](const Json& row) {
            const Json* const value = member_of(row, member);
            return value == nullptr ? "-" : number_text(*value, digits);
          },
          true};
}

Column percent_column(const std::string& title, const std::string& member) {
  return {title,
          [member](const Json& row) -> std::string {
            const Json* const value = member_of(row, member);
            if (value == nullptr || !value->is_number()) return "-";
            return text_of("%.3g %%", value->get<double>() * 100);
          },
          true};
}

std::string table(const Json& rows, const std::vector<Column>& columns) {
  if (rows.empty()) return "none\n";
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) lines.front().push_back(column.title);
  for (const Json& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Column& column : columns) line.push_back(column.text(row));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string all;
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - width_of(line[i]), ' ');
      text += columns[i].is_number ? space + line[i] : line[i] + space;
      text += i + 1 < line.size() ? "  " : "";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    all += text + "\n";
  }
  return all;
}

}  // namespace cw::ctl
