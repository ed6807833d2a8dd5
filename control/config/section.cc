#include "control/config/section.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::config {
namespace {

// Numbers pass through a double, which is exact up to here: 104 days of nanoseconds, 8 PiB.
constexpr double exact_max = 0x1p53;

}  // namespace

std::string_view name_of(Type type) {
  switch (type) {
    case Type::Duration:
      return "a duration";
    case Type::Rate:
      return "a rate";
    case Type::Bytes:
      return "a size";
    case Type::Ratio:
      return "a share";
    case Type::Integer:
      return "a whole number";
    case Type::Real:
      return "a number";
    case Type::Text:
      return "a text";
    case Type::Choice:
      return "a choice";
    case Type::Bool:
      return "true or false";
  }
  return {};
}

std::optional<Quantity> quantity_of(Type type) {
  switch (type) {
    case Type::Duration:
      return Quantity::Duration;
    case Type::Rate:
      return Quantity::Rate;
    case Type::Bytes:
      return Quantity::Bytes;
    case Type::Ratio:
      return Quantity::Ratio;
    default:
      return std::nullopt;
  }
}

// ---- a key

namespace {

std::string number_text(Type type, double value) {
  const auto quantity = quantity_of(type);
  return quantity ? quantity_text(*quantity, value) : real_text(value);
}

double bound(Type type, std::string_view text) {
  const auto quantity = quantity_of(type);
  if (quantity) {
    if (const auto value = parse_quantity(*quantity, text)) return *value;
    CW_ASSERT(quantity == Quantity::Ratio);
  }
  return std::stod(std::string(text));
}

}  // namespace

Key::Key(std::string name, Type type, Store store, std::string initial, std::string sentence)
    : name_(std::move(name)),
      type_(type),
      store_(std::move(store)),
      initial_(std::move(initial)),
      sentence_(std::move(sentence)) {
  CW_ASSERT(!name_.empty() && sentence_.ends_with('.'));
}

Key& Key::range(std::string_view min, std::string_view max) {
  return range(bound(type_, min), bound(type_, max));
}

Key& Key::range(double min, double max) {
  CW_ASSERT(min <= max);
  min_ = min;
  max_ = max;
  return *this;
}

Key& Key::list(std::function<void()> clear) {
  clear_ = std::move(clear);
  return *this;
}

std::string Key::range_text() const {
  return number_text(type_, *min_) + " to " + number_text(type_, *max_);
}

// ---- the keys of a section

std::string Section::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Key& Section::add(Key key) {
  for (const Key& other : keys_) CW_ASSERT(other.name() != key.name());
  keys_.push_back(std::move(key));
  if (kind_) keys_.back().kind(*kind_);
  return keys_.back();
}

Key& Section::number(std::string name, Type type, Key::Store store, double initial,
                     std::string sentence) {
  return add(Key(std::move(name), type, std::move(store), number_text(type, initial),
                 std::move(sentence)));
}

Key& Section::key(std::string name, Duration& target, std::string sentence) {
  Key key(
      std::move(name), Type::Duration,
      [&target](const Value& value) {
        target =
            value.is_none ? Duration::max() : Duration::from_ns(static_cast<int64_t>(value.number));
      },
      target == Duration::max()
          ? "none"
          : quantity_text(Quantity::Duration, static_cast<double>(target.ns())),
      std::move(sentence));
  return add(std::move(key)).range("0 ns", "2400 h");
}

Key& Section::key(std::string name, Instant& target, std::string sentence) {
  Key key(
      std::move(name), Type::Duration,
      [&target](const Value& value) {
        target =
            value.is_none ? Instant::never() : Instant::from_ns(static_cast<int64_t>(value.number));
      },
      target == Instant::never()
          ? "none"
          : quantity_text(Quantity::Duration, static_cast<double>(target.ns())),
      std::move(sentence));
  return add(std::move(key)).range("0 ns", "2400 h");
}

Key& Section::key(std::string name, Rate& target, std::string sentence) {
  Key key(
      std::move(name), Type::Rate,
      [&target](const Value& value) {
        target = value.is_none ? Rate() : Rate::from_bps(static_cast<uint64_t>(value.number));
      },
      target == Rate() ? "none" : quantity_text(Quantity::Rate, static_cast<double>(target.bps())),
      std::move(sentence));
  return add(std::move(key)).range("1 kbit/s", "9 Tbit/s");
}

Key& Section::key(std::string name, Bytes& target, std::string sentence) {
  Key key(
      std::move(name), Type::Bytes,
      [&target](const Value& value) {
        target = Bytes(value.is_none ? UINT64_MAX : static_cast<uint64_t>(value.number));
      },
      target == Bytes(UINT64_MAX)
          ? "none"
          : quantity_text(Quantity::Bytes, static_cast<double>(target.count())),
      std::move(sentence));
  return add(std::move(key)).range("0 B", "1000000 GiB");
}

template <class T>
Key& Section::integer(std::string name, T& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target = static_cast<T>(value.number); };
  const auto most = std::min(exact_max, static_cast<double>(std::numeric_limits<T>::max()));
  return number(std::move(name), Type::Integer, store, static_cast<double>(target),
                std::move(sentence))
      .range("0", real_text(most));
}

Key& Section::key(std::string name, uint8_t& target, std::string sentence) {
  return integer(std::move(name), target, std::move(sentence));
}
Key& Section::key(std::string name, uint16_t& target, std::string sentence) {
  return integer(std::move(name), target, std::move(sentence));
}
Key& Section::key(std::string name, uint32_t& target, std::string sentence) {
  return integer(std::move(name), target, std::move(sentence));
}
Key& Section::key(std::string name, uint64_t& target, std::string sentence) {
  return integer(std::move(name), target, std::move(sentence));
}

Key& Section::key(std::string name, double& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target = value.number; };
  return number(std::move(name), Type::Real, store, target, std::move(sentence));
}

Key& Section::key(std::string name, bool& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target = value.number != 0; };
  return add(
      Key(std::move(name), Type::Bool, store, target ? "true" : "false", std::move(sentence)));
}

Key& Section::key(std::string name, std::string& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target = value.text; };
  return add(Key(std::move(name), Type::Text, store, target, std::move(sentence)));
}

Key& Section::key(std::string name, std::vector<Bytes>& target, std::string sentence) {
  const auto store = [&target](const Value& value) {
    target.push_back(Bytes(static_cast<uint64_t>(value.number)));
  };
  return add(Key(std::move(name), Type::Bytes, store, "", std::move(sentence)))
      .range("0 B", "1000000 GiB")
      .list([&target] { target.clear(); });
}

Key& Section::key(std::string name, std::vector<std::string>& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target.push_back(value.text); };
  return add(Key(std::move(name), Type::Text, store, "", std::move(sentence))).list([&target] {
    target.clear();
  });
}

Key& Section::ratio(std::string name, double& target, std::string sentence) {
  const auto store = [&target](const Value& value) { target = value.number; };
  return number(std::move(name), Type::Ratio, store, target, std::move(sentence)).range("0", "1");
}

Key& Section::choice(std::string name, size_t initial, std::vector<std::string> choices,
                     std::string sentence, std::function<void(size_t)> store) {
  CW_ASSERT(initial < choices.size());
  const auto store_index = [store = std::move(store)](const Value& value) {
    store(static_cast<size_t>(value.number));
  };
  Key& key =
      add(Key(std::move(name), Type::Choice, store_index, choices[initial], std::move(sentence)));
  key.choices_ = std::move(choices);
  return key;
}

Key& Section::choices(std::string name, std::vector<std::string> choices, std::string sentence,
                      std::function<void()> clear, std::function<void(size_t)> store) {
  Key& key = choice(std::move(name), 0, std::move(choices), std::move(sentence), std::move(store));
  key.initial_.clear();
  return key.list(std::move(clear));
}

// ---- tables within

Section& Section::table(std::string name, std::string sentence) {
  const std::string path = path_of(name);
  Section& inner = tables_.emplace_back(path, std::move(name), std::move(sentence));
  inner.kind_ = kind_;
  return inner;
}

void Section::rows(std::string name, std::string sentence,
                   std::function<void(Section&, size_t)> declare) {
  rows_.push_back({std::move(name), std::move(sentence), std::move(declare)});
}

bool Section::is_wrong(std::string_view key) const {
  return std::ranges::find(wrong_, key) != wrong_.end();
}

bool Section::declare_more() {
  if (later_.empty()) return false;
  const auto declare = std::move(later_.front());
  later_.pop_front();
  declare(*this);
  return true;
}

}  // namespace cw::config
