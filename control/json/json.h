// What programs tell programs. A value as JSON has it; it is read and written by nlohmann-json,
// which json.cc alone includes: its header costs a source more than most sources of ours.
//
//     Json json = {{"site", "south"}, {"peers", Json::array()}};
//     json["peers"].push_back({{"name", "north"}, {"rtt_ms", 25.0}});
//     print(json.dump());
//     const uint64_t sent = Json::parse(text).at("sent").get<uint64_t>();
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cw {

class Json;
template <class T>
concept JsonText = std::convertible_to<const T&, std::string_view>;
template <class T>
concept JsonRow = !JsonText<T> && !std::same_as<T, Json> && requires(const T& row) {
  row.begin();
  row.end();
};

/// Members of an object keep the order in which they were written. Thread: as of a vector.
class Json {
 public:
  /// A value is not what it was asked for.
  struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  Json();  ///< null
  template <class T>
  requires std::is_arithmetic_v<T> Json(T value)
      : Json() {  // NOLINT: values are written as they are
    if constexpr (std::is_same_v<T, bool>) {
      set(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      set(static_cast<double>(value));
    } else if constexpr (std::is_signed_v<T>) {
      set(static_cast<int64_t>(value));
    } else {
      set(static_cast<uint64_t>(value));
    }
  }
  template <JsonText T>
  Json(const T& text) : Json() {  // NOLINT: as above
    set(std::string_view(text));
  }
  template <JsonRow T>
  Json(const T& row) : Json(array()) {  // NOLINT: as above
    if constexpr (requires { typename T::mapped_type; }) {
      *this = object();
      for (const auto& [name, value] : row) (*this)[name] = Json(value);
    } else {
      for (const auto& each : row) push_back(Json(each));
    }
  }
  template <class A, class B>
  Json(const std::pair<A, B>& pair) : Json(array()) {  // NOLINT: as above
    push_back(Json(pair.first)), push_back(Json(pair.second));
  }
  /// An object, if each is a name and a value; else an array.
  Json(std::initializer_list<Json> values);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> values = {});
  static Json object();
  /// Throws where the text is none.
  static Json parse(std::string_view text);
  /// Null where the text is none.
  static Json parse_or_null(std::string_view text);
  /// On one line, or with so many spaces per level. What is no UTF-8 in a string is replaced.
  std::string dump(int spaces = -1) const;

  bool is_null() const { return kind_ == Kind::Null; }
  bool is_string() const { return kind_ == Kind::String; }
  bool is_array() const { return kind_ == Kind::Array; }
  bool is_object() const { return kind_ == Kind::Object; }
  bool is_number() const { return is_number_integer() || kind_ == Kind::Double; }
  bool is_number_integer() const { return kind_ == Kind::Signed || kind_ == Kind::Unsigned; }
  bool is_number_unsigned() const { return kind_ == Kind::Unsigned; }

  /// Throws where it is no T.
  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, Json>) {
      return *this;
    } else if constexpr (std::is_same_v<T, bool>) {
      return as_bool();
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(as_double());
    } else if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(as_unsigned());
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(as_signed());
    } else if constexpr (std::is_convertible_v<const std::string&, T>) {
      return as_text();
    } else if constexpr (requires { typename T::first_type; }) {
      return {at(size_t{0}).get<std::remove_cv_t<typename T::first_type>>(),
              at(size_t{1}).get<typename T::second_type>()};
    } else {
      T row;
      for (const Json& each : elements()) row.push_back(each.get<typename T::value_type>());
      return row;
    }
  }
  template <class T>
  void get_to(T& value) const {
    value = get<T>();
  }

  // ---- arrays and objects ----
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  /// Throws where it is neither, nor null.
  std::vector<Json>::const_iterator begin() const;
  auto end() const { return items_.end(); }
  const Json& back() const { return items_.back(); }
  /// Null becomes an array.
  void push_back(Json value);

  bool contains(std::string_view name) const { return find(name) != end(); }
  std::vector<Json>::const_iterator find(std::string_view name) const;
  /// Throws where there is none.
  const Json& at(std::string_view name) const;
  const Json& operator[](std::string_view name) const { return at(name); }
  /// Made where there is none; null becomes an object.
  Json& operator[](std::string_view name);
  /// Throw where there are fewer.
  const Json& at(size_t index) const;
  template <std::integral I>
  const Json& operator[](I index) const {
    return at(static_cast<size_t>(index));
  }
  template <std::integral I>
  Json& operator[](I index) {
    return const_cast<Json&>(std::as_const(*this).at(static_cast<size_t>(index)));
  }
  /// `other` where there is none of this name.
  template <class T>
  T value(std::string_view name, const T& other) const {
    const auto found = find(name);
    return found == end() ? other : found->template get<T>();
  }
  std::string value(std::string_view name, const char* other) const {
    return value(name, std::string(other));
  }
  /// Each member of `other` as well, or instead of one of its name.
  void update(const Json& other);
  void erase(std::string_view name);
  /// For loops over [name, value]; it must outlive them.
  std::vector<std::pair<const std::string&, const Json&>> items() const;

  /// Numbers by what they count, whatever they were made of; members in any order.
  friend bool operator==(const Json& a, const Json& b) { return a.is_equal(b); }
  /// Of two numbers, or two strings.
  friend std::partial_ordering operator<=>(const Json& a, const Json& b) { return a.order(b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  friend struct JsonBridge;
  enum class Kind : uint8_t { Null, Bool, Signed, Unsigned, Double, String, Array, Object };

  void set(bool value);
  void set(int64_t value);
  void set(uint64_t value);
  void set(double value);
  void set(std::string_view text);
  bool as_bool() const;
  int64_t as_signed() const;
  uint64_t as_unsigned() const;
  double as_double() const;
  const std::string& as_text() const;
  const std::vector<Json>& elements() const;
  bool is_equal(const Json& other) const;
  std::partial_ordering order(const Json& other) const;
  [[noreturn]] void refuse(const char* wanted) const;

  Kind kind_ = Kind::Null;
  union Number {
    uint64_t whole = 0;
    int64_t with_sign;
    double real;
  };
  Number number_;
  std::string text_;
  std::vector<std::string> names_;  // of an object's members
  std::vector<Json> items_;
};

}  // namespace cw
