#include "control/json/json.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>

namespace cw {
namespace {

TEST(Json, is_written_as_it_was_read) {
  for (const char* text : {"null", "true", "[]", "{}", "[1,-2,0.5,\"\"]", "18446744073709551615",
                           "-9223372036854775808", "1e+300", R"({"b":1,"a":[{"c":"\"\n"}]})"}) {
    EXPECT_EQ(Json::parse(text).dump(), text);
  }
  EXPECT_EQ(Json::parse("[1]").dump(2), "[\n  1\n]");
}

TEST(Json, is_an_object_where_all_have_names_and_an_array_otherwise) {
  EXPECT_EQ((Json{{"a", 1}, {"b", {1, 2}}}).dump(), R"({"a":1,"b":[1,2]})");
  EXPECT_EQ((Json{{"a", 1}, {2, 3}}).dump(), R"([["a",1],[2,3]])");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json(std::vector<std::pair<std::string, int>>{{"a", 1}}).dump(), R"([["a",1]])");
  EXPECT_EQ(Json(std::map<std::string, int>{{"a", 1}}).dump(), R"({"a":1})");
  EXPECT_EQ(Json(std::array<double, 2>{0.5, 1}).dump(), "[0.5,1.0]");
}

TEST(Json, grows_by_what_is_written_to_it) {
  Json json;
  json["a"]["b"] = 1;
  json["c"].push_back("d");
  json.update({{"a", 2}, {"e", false}});
  EXPECT_EQ(json.dump(), R"({"a":2,"c":["d"],"e":false})");
  json.erase("c");
  json.erase("nothing");
  std::string names;
  for (const auto& [name, value] : json.items()) names += name + value.dump();
  EXPECT_EQ(names, "a2efalse");
}

TEST(Json, gives_values_of_the_type_that_is_asked_for_or_throws) {
  const Json json = Json::parse(R"({"n": -1, "x": 2.5, "s": "t", "row": [["a", "b"]]})");
  EXPECT_EQ(json["n"].get<int>(), -1);
  EXPECT_EQ(json["x"].get<double>(), 2.5);
  EXPECT_EQ(json["n"].get<double>(), -1.0);
  EXPECT_EQ((json["row"].get<std::vector<std::pair<std::string, std::string>>>()[0].second), "b");
  EXPECT_EQ(json.value("s", ""), "t");
  EXPECT_EQ(json.value("nothing", 7u), 7u);
  EXPECT_THROW(json["s"].get<int>(), Json::Error);
  EXPECT_THROW(json["n"].get<std::string>(), Json::Error);
  EXPECT_THROW(json["n"].get<bool>(), Json::Error);
  EXPECT_THROW(json.at("nothing"), Json::Error);
  EXPECT_THROW(json.at("row").at(1), Json::Error);
  EXPECT_THROW(json.at(0), Json::Error);
  EXPECT_THROW(Json(1).push_back(1), Json::Error);
  EXPECT_THROW(Json(1).begin(), Json::Error);
}

TEST(Json, compares_numbers_by_what_they_count_and_members_in_any_order) {
  EXPECT_EQ(Json(1), 1u);
  EXPECT_EQ(Json(1), 1.0);
  EXPECT_NE(Json(-1), std::numeric_limits<uint64_t>::max());
  EXPECT_LT(Json(-1), 0u);
  EXPECT_GT(Json(2.5), 2);
  EXPECT_LT(Json("a"), "b");
  EXPECT_NE(Json("1"), 1);
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"b":2,"a":1})"));
  EXPECT_NE(Json::parse(R"({"a":1})"), Json::parse(R"({"a":1,"b":2})"));
  EXPECT_NE(Json(true), Json(false));
}

TEST(Json, takes_no_text_that_is_none_and_none_that_is_nested_without_end) {
  for (const std::string& text : {std::string("{"), std::string("[1,]"), std::string(),
                                  std::string(60'000, '['), std::string(101, '[')}) {
    EXPECT_THROW(Json::parse(text), Json::Error);
    EXPECT_TRUE(Json::parse_or_null(text).is_null());
  }
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(Json::parse(deep).dump(), deep);
  EXPECT_TRUE(Json::parse_or_null("[\"" + std::string(200, '[') + "\\\"[\"]").is_array());
}

TEST(Json, replaces_bytes_that_are_no_text) {
  EXPECT_EQ(Json("a\xff"
                 "b")
                .dump(),
            "\"a\xef\xbf\xbd"
            "b\"");
}

}  // namespace
}  // namespace cw
