#include "control/config/text/write.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "control/config/quantity.h"

namespace cw::config {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned char>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string key_text(const std::string& name) {
  const bool is_bare = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return is_bare ? name : quoted(name);
}

std::string value_text(const Node& node) {
  std::string row;
  const auto add = [&row](const std::string& text) { row += (row.empty() ? "" : ", ") + text; };
  switch (node.kind) {
    case Node::Kind::List:
      for (const Node& item : node.items) add(value_text(item));
      return "[" + row + "]";
    case Node::Kind::Table:
      for (const Entry& each : node.entries) {
        add(key_text(each.name) + " = " + value_text(each.value));
      }
      return row.empty() ? "{}" : "{ " + row + " }";
    case Node::Kind::Text:
      return quoted(node.text);
    case Node::Kind::Real: {
      const std::string text = config::real_text(node.real);
      const bool is_whole = text.find_first_not_of("-0123456789") == text.npos;
      return is_whole ? text + ".0" : text;
    }
    default:
      return node.shown();
  }
}

bool is_row_of_tables(const Node& node) {
  return node.kind == Node::Kind::List && !node.items.empty() &&
         std::ranges::all_of(node.items,
                             [](const Node& item) { return item.kind == Node::Kind::Table; });
}

class Writer {
 public:
  explicit Writer(const Remarks& remarks) : remarks_(remarks) {}

  void write(const Node& root) {
    write_values(root, "", /*has_tables=*/true);
    for (const Entry& each : root.entries) {
      if (is_row_of_tables(each.value)) {
        for (const Node& item : each.value.items) {
          text_ += "\n[[" + key_text(each.name) + "]]\n";
          write_values(item, each.name, /*has_tables=*/false);
        }
      } else if (each.value.kind == Node::Kind::Table) {
        write_table(each.value, key_text(each.name));
      }
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void write_table(const Node& table, const std::string& path) {
    text_ += "\n[" + path + "]\n";
    write_values(table, path, /*has_tables=*/true);
    for (const Entry& each : table.entries) {
      if (each.value.kind == Node::Kind::Table) {
        write_table(each.value, path + "." + key_text(each.name));
      }
    }
  }
  /// Tables of a row of tables stand within braces.
  void write_values(const Node& table, const std::string& path, bool has_tables) {
    for (const Entry& each : table.entries) {
      const bool is_own =
          each.value.kind == Node::Kind::Table || (path.empty() && is_row_of_tables(each.value));
      if (has_tables && is_own) continue;
      text_ += key_text(each.name) + " = " + value_text(each.value);
      const auto remark = remarks_.find(path + "." + each.name);
      text_ += remark == remarks_.end() ? "\n" : "  # " + remark->second + "\n";
    }
  }

  const Remarks& remarks_;
  std::string text_;
};

}  // namespace

std::string toml_of(const Node& root, const Remarks& remarks) {
  Writer writer(remarks);
  writer.write(root);
  std::string text = writer.take();
  return text.starts_with('\n') ? text.substr(1) : text;
}

}  // namespace cw::config
