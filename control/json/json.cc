#include "control/json/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace cw {

using Library = nlohmann::ordered_json;

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> values) {
  const auto is_member = [](const Json& it) {
    return it.is_array() && it.size() == 2 && it.items_[0].is_string();
  };
  if (!std::ranges::all_of(values, is_member)) {
    *this = array(values);
    return;
  }
  kind_ = Kind::Object;
  for (const Json& each : values) (*this)[each.items_[0].text_] = each.items_[1];
}

Json Json::array(std::initializer_list<Json> values) {
  Json json;
  json.kind_ = Kind::Array;
  json.items_.assign(values.begin(), values.end());
  return json;
}

Json Json::object() {
  Json json;
  json.kind_ = Kind::Object;
  return json;
}

// ---- as text ----

/// Ours to the library's, and back.
struct JsonBridge {
  static Library out(const Json& json) {
    switch (json.kind_) {
      case Json::Kind::Null:
        return nullptr;
      case Json::Kind::Bool:
        return json.number_.whole != 0;
      case Json::Kind::Signed:
        return json.number_.with_sign;
      case Json::Kind::Unsigned:
        return json.number_.whole;
      case Json::Kind::Double:
        return json.number_.real;
      case Json::Kind::String:
        return json.text_;
      case Json::Kind::Array: {
        Library array = Library::array();
        for (const Json& each : json.items_) array.push_back(out(each));
        return array;
      }
      case Json::Kind::Object: {
        Library object = Library::object();
        for (size_t i = 0; i < json.items_.size(); ++i) {
          object[json.names_[i]] = out(json.items_[i]);
        }
        return object;
      }
    }
    return nullptr;
  }

  static Json in(const Library& value) {
    switch (value.type()) {
      case Library::value_t::boolean:
        return value.get<bool>();
      case Library::value_t::number_integer:
        return value.get<int64_t>();
      case Library::value_t::number_unsigned:
        return value.get<uint64_t>();
      case Library::value_t::number_float:
        return value.get<double>();
      case Library::value_t::string:
        return value.get_ref<const std::string&>();
      case Library::value_t::array: {
        Json array = Json::array();
        for (const Library& each : value) array.items_.push_back(in(each));
        return array;
      }
      case Library::value_t::object: {
        Json object = Json::object();
        for (const auto& [name, each] : value.items()) object[name] = in(each);
        return object;
      }
      default:
        return {};
    }
  }
};

namespace {

/// Values are read, copied and given back by recursion, and a stranger's may be a row of brackets.
bool is_too_deep(std::string_view text) {
  constexpr int depth_max = 100;
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == '[' || c == '{')) {
      if (++depth > depth_max) return true;
    } else if (!is_quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json Json::parse(std::string_view text) {
  if (is_too_deep(text)) throw Error("values are nested too deeply");
  try {
    return JsonBridge::in(Library::parse(text));
  } catch (const Library::exception& error) {
    throw Error(error.what());
  }
}

Json Json::parse_or_null(std::string_view text) {
  if (is_too_deep(text)) return {};
  return JsonBridge::in(Library::parse(text, nullptr, /*allow_exceptions=*/false));
}

std::string Json::dump(int spaces) const {
  return JsonBridge::out(*this).dump(spaces, ' ', false, Library::error_handler_t::replace);
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

// ---- one value ----

void Json::set(bool value) {
  kind_ = Kind::Bool;
  number_.whole = value ? 1 : 0;
}
void Json::set(int64_t value) {
  kind_ = Kind::Signed;
  number_.with_sign = value;
}
void Json::set(uint64_t value) {
  kind_ = Kind::Unsigned;
  number_.whole = value;
}
void Json::set(double value) {
  kind_ = Kind::Double;
  number_.real = value;
}
void Json::set(std::string_view text) {
  kind_ = Kind::String;
  text_ = text;
}

void Json::refuse(const char* wanted) const { throw Error(dump() + " is no " + wanted); }

bool Json::as_bool() const {
  if (kind_ != Kind::Bool) refuse("boolean");
  return number_.whole != 0;
}

int64_t Json::as_signed() const {
  if (!is_number()) refuse("number");
  return kind_ == Kind::Double ? static_cast<int64_t>(number_.real) : number_.with_sign;
}

uint64_t Json::as_unsigned() const {
  if (!is_number()) refuse("number");
  return kind_ == Kind::Double ? static_cast<uint64_t>(number_.real) : number_.whole;
}

double Json::as_double() const {
  if (!is_number()) refuse("number");
  if (kind_ == Kind::Double) return number_.real;
  return kind_ == Kind::Signed ? static_cast<double>(number_.with_sign)
                               : static_cast<double>(number_.whole);
}

const std::string& Json::as_text() const {
  if (!is_string()) refuse("string");
  return text_;
}

const std::vector<Json>& Json::elements() const {
  if (!is_array()) refuse("array");
  return items_;
}

// ---- arrays and objects ----

std::vector<Json>::const_iterator Json::begin() const {
  if (!is_array() && !is_object() && !is_null()) refuse("array");
  return items_.begin();
}

void Json::push_back(Json value) {
  if (is_null()) kind_ = Kind::Array;
  if (!is_array()) refuse("array");
  items_.push_back(std::move(value));
}

std::vector<Json>::const_iterator Json::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return items_.begin() + (found == names_.end() ? std::ssize(items_) : found - names_.begin());
}

const Json& Json::at(std::string_view name) const {
  if (!is_object()) refuse("object");
  const auto found = find(name);
  if (found == end()) throw Error("\"" + std::string(name) + "\" is missing in " + dump());
  return *found;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) kind_ = Kind::Object;
  if (!is_object()) refuse("object");
  const auto found = find(name);
  if (found != end()) return items_[static_cast<size_t>(found - items_.begin())];
  names_.emplace_back(name);
  return items_.emplace_back();
}

const Json& Json::at(size_t index) const {
  if (index >= elements().size()) throw Error(dump() + " has no " + std::to_string(index));
  return items_[index];
}

void Json::update(const Json& other) {
  if (!other.is_object()) other.refuse("object");
  if (is_null()) kind_ = Kind::Object;
  for (size_t i = 0; i < other.items_.size(); ++i) (*this)[other.names_[i]] = other.items_[i];
}

void Json::erase(std::string_view name) {
  const auto found = find(name);
  if (found == end()) return;
  names_.erase(names_.begin() + (found - items_.begin()));
  items_.erase(found);
}

std::vector<std::pair<const std::string&, const Json&>> Json::items() const {
  std::vector<std::pair<const std::string&, const Json&>> rows;
  rows.reserve(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) rows.emplace_back(names_[i], items_[i]);
  return rows;
}

// ---- comparing ----

bool Json::is_equal(const Json& other) const {
  if (is_number() && other.is_number()) return order(other) == 0;
  if (kind_ != other.kind_) return false;
  if (kind_ == Kind::Bool) return number_.whole == other.number_.whole;
  if (!is_object()) return text_ == other.text_ && items_ == other.items_;
  if (size() != other.size()) return false;
  for (size_t i = 0; i < items_.size(); ++i) {
    const auto found = other.find(names_[i]);
    if (found == other.end() || !(*found == items_[i])) return false;
  }
  return true;
}

std::partial_ordering Json::order(const Json& other) const {
  if (is_string() && other.is_string()) return text_ <=> other.text_;
  if (!is_number() || !other.is_number()) return std::partial_ordering::unordered;
  if (kind_ == Kind::Double || other.kind_ == Kind::Double)
    return as_double() <=> other.as_double();
  const bool is_below = kind_ == Kind::Signed && number_.with_sign < 0;
  const bool is_other_below = other.kind_ == Kind::Signed && other.number_.with_sign < 0;
  if (is_below != is_other_below) {
    return is_below ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  // Of equal signs: as bits they are in the same order.
  return number_.whole <=> other.number_.whole;
}

}  // namespace cw
