// The schema of a configuration file. A section is one table of the file; each of its keys is
// declared once, bound to the variable that takes its value. The variable's type says what is
// accepted, its value at the time is the default, and the same declaration makes the help text.
//
//     Section file;
//     Section& run = file.table("run", "How long and how exactly.");
//     run.key("seed", seed, "Decides everything that chance decides.");
//     run.key("limit", limit, "Virtual time after which the run ends.").range("1 ms", "24 h");
//     run.choice("mode", mode, {"poll", "adaptive"}, "What an idle worker does.").required();
//     Mistakes mistakes = read(file, text);                  // read.h
//
// Variables outlive the section. A mistake in how keys are declared is a bug and asserted on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/config/key_kind.h"
#include "control/config/quantity.h"
#include "control/config/text/tree.h"
#include "dataplane/base/units.h"

namespace cw::config {

enum class Type : uint8_t { Duration, Rate, Bytes, Ratio, Integer, Real, Text, Choice, Bool };
std::string_view name_of(Type type);
/// Of the types that are written with a unit.
std::optional<Quantity> quantity_of(Type type);

/// A checked value: numbers in base units, a choice as its index.
struct Value {
  double number = 0;
  std::string text = {};
  bool is_none = false;
};

/// One declared key.
class Key {
 public:
  using Store = std::function<void(const Value&)>;

  Key(std::string name, Type type, Store store, std::string initial, std::string sentence);

  Key& required(bool is_so = true) { return is_required_ = is_so, *this; }
  /// What is accepted, both ends included, written as in the file: "0 %", "25 ms", "7".
  Key& range(std::string_view min, std::string_view max);
  /// The same in base units.
  Key& range(double min, double max);
  /// Also accepts "none".
  Key& or_none() { return has_none_ = true, *this; }
  /// What a change of it takes, where that is not what its section says of all.
  Key& kind(KeyKind kind) { return kind_ = kind, *this; }
  /// Takes a list of such values instead of one; each is stored in turn, after `clear`.
  Key& list(std::function<void()> clear);

  const std::string& name() const { return name_; }
  Type type() const { return type_; }
  const std::string& sentence() const { return sentence_; }
  const std::string& initial() const { return initial_; }
  const std::vector<std::string>& choices() const { return choices_; }
  bool is_required() const { return is_required_; }
  /// Nothing: nobody changes the file of what runs.
  std::optional<KeyKind> kind() const { return kind_; }
  bool is_list() const { return clear_ != nullptr; }
  bool has_none() const { return has_none_; }
  bool has_range() const { return min_.has_value(); }
  bool is_in_range(double number) const { return !min_ || (number >= *min_ && number <= *max_); }
  /// "0 ns to 1 h".
  std::string range_text() const;
  void clear() const { clear_(); }
  void store(const Value& value) const { store_(value); }

 private:
  friend class Section;

  std::string name_;
  Type type_;
  Store store_;
  std::string initial_;
  std::string sentence_;
  std::vector<std::string> choices_;
  std::optional<double> min_, max_;
  bool is_required_ = false, has_none_ = false;
  std::optional<KeyKind> kind_;
  std::function<void()> clear_;
};

class Section {
 public:
  Section() = default;
  Section(std::string path, std::string name, std::string sentence)
      : path_(std::move(path)), name_(std::move(name)), sentence_(std::move(sentence)) {}
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // ---- keys; the reference is good until the section ends
  /// A duration; none is Duration::max().
  Key& key(std::string name, Duration& target, std::string sentence);
  /// A duration since the start; none is Instant::never().
  Key& key(std::string name, Instant& target, std::string sentence);
  /// Bits per second; none is zero.
  Key& key(std::string name, Rate& target, std::string sentence);
  /// Bytes; none is the largest number of them.
  Key& key(std::string name, Bytes& target, std::string sentence);
  /// Whole numbers; at most what the type holds is accepted, or 2^53.
  Key& key(std::string name, uint8_t& target, std::string sentence);
  Key& key(std::string name, uint16_t& target, std::string sentence);
  Key& key(std::string name, uint32_t& target, std::string sentence);
  Key& key(std::string name, uint64_t& target, std::string sentence);
  Key& key(std::string name, double& target, std::string sentence);
  Key& key(std::string name, bool& target, std::string sentence);
  Key& key(std::string name, std::string& target, std::string sentence);
  Key& key(std::string name, std::vector<Bytes>& target, std::string sentence);
  Key& key(std::string name, std::vector<std::string>& target, std::string sentence);
  /// A share from 0 to 1, also written in per cent.
  Key& ratio(std::string name, double& target, std::string sentence);
  /// One of some names; `store` is given its index.
  Key& choice(std::string name, size_t initial, std::vector<std::string> choices,
              std::string sentence, std::function<void(size_t)> store);
  /// The same for an enumeration, whose enumerators are counted from zero.
  template <class Enum>
  Key& choice(std::string name, Enum& target, std::vector<std::string> choices,
              std::string sentence) {
    return choice(std::move(name), static_cast<size_t>(target), std::move(choices),
                  std::move(sentence), [&target](size_t i) { target = static_cast<Enum>(i); });
  }
  /// Any number of some names, none when left out; `store` is given the index of each in turn.
  Key& choices(std::string name, std::vector<std::string> choices, std::string sentence,
               std::function<void()> clear, std::function<void(size_t)> store);
  /// Of the keys declared from here on, in this table and those within, save what they say.
  void all_are(KeyKind kind) { kind_ = kind; }
  /// For whatever the others do not cover.
  Key& add(Key key);

  // ---- tables within
  Section& table(std::string name, std::string sentence);
  /// [[name]]: any number of tables; `declare` is called for each with its index. For the help text
  /// it is called once more, with SIZE_MAX: there must be a variable for that, too.
  void rows(std::string name, std::string sentence, std::function<void(Section&, size_t)> declare);

  /// Calls `declare` once everything declared so far has been read: for what depends on it, and for
  /// conditions between keys.
  void then(std::function<void(Section&)> declare) { later_.push_back(std::move(declare)); }
  /// For `then`: a complaint about a key, in the place where it stands, or, for "", about the
  /// table.
  void complain(std::string key, std::string sentence) {
    complaints_.push_back({std::move(key), std::move(sentence)});
  }
  /// For `then`: whether the file has this table at all.
  bool is_written() const { return is_written_; }
  void note_written() { is_written_ = true; }
  /// For `then`: whether the file gives this key a value that was refused.
  bool is_wrong(std::string_view key) const;
  void note_wrong(std::string key) { wrong_.push_back(std::move(key)); }
  /// What else may stand here hangs on a value that was refused: it is not looked at, and nothing
  /// is said about it.
  void leave_rest() { is_rest_left_ = true; }
  bool is_rest_left() const { return is_rest_left_; }
  /// The keys are those of another table; the help text then does not repeat them.
  void like(std::string path) { like_ = std::move(path); }

  /// The full name of a key: "network.path.loss".
  std::string path_of(std::string_view key) const;
  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const std::string& sentence() const { return sentence_; }
  const std::string& like() const { return like_; }
  std::optional<KeyKind> kind() const { return kind_; }

  // ---- for readers of the schema
  struct Rows {
    std::string name, sentence;
    std::function<void(Section&, size_t)> declare;
  };
  struct Complaint {
    std::string key, sentence;
  };
  const std::deque<Key>& keys() const { return keys_; }
  std::deque<Section>& tables() { return tables_; }
  const std::deque<Rows>& all_rows() const { return rows_; }
  const std::vector<Complaint>& complaints() const { return complaints_; }
  /// Declares what was left for later, one step; false when nothing was.
  bool declare_more();

 private:
  Key& number(std::string name, Type type, Key::Store store, double initial, std::string sentence);
  template <class T>
  Key& integer(std::string name, T& target, std::string sentence);

  std::string path_, name_, sentence_, like_;
  std::optional<KeyKind> kind_;
  std::deque<Key> keys_;
  std::deque<Section> tables_;
  std::deque<Rows> rows_;
  std::deque<std::function<void(Section&)>> later_;
  std::vector<Complaint> complaints_;
  std::vector<std::string> wrong_;
  bool is_written_ = false, is_rest_left_ = false;
};

}  // namespace cw::config
