// What the page is made of, as it is served: nothing from elsewhere, and nothing that the API has
// not.
#include "control/daemon/page/page.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <regex>
#include <set>
#include <string>

#include "control/daemon/admin/openapi.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

const std::string page(page_text);

std::string between(const std::string& start, const std::string& end) {
  const size_t from = page.find(start) + start.size();
  return page.substr(from, page.find(end, from) - from);
}

std::string sha256_base64(const std::string& text) {
  std::array<unsigned char, 32> hash{};
  EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr);
  std::array<unsigned char, 45> base64{};
  EVP_EncodeBlock(base64.data(), hash.data(), hash.size());
  return {reinterpret_cast<const char*>(base64.data()), 44};
}

/// The first group of each place where the pattern matches.
std::set<std::string> all_of(const std::string& text, const std::string& pattern) {
  std::set<std::string> all;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    all.insert((*it)[1]);
  }
  return all;
}

TEST(Page, lets_a_browser_run_nothing_but_itself) {
  const std::string policy(page_policy);
  EXPECT_TRUE(policy.starts_with("default-src 'none';")) << policy;
  const auto allows = [&](const std::string& what) {
    return policy.find(what) != std::string::npos;
  };
  EXPECT_TRUE(allows("script-src 'sha256-" + sha256_base64(between("<script>", "</script>")) + "'"))
      << policy;
  EXPECT_TRUE(allows("style-src 'sha256-" + sha256_base64(between("<style>", "</style>")) + "'"))
      << policy;
  for (const char* const what :
       {"connect-src 'self';", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}) {
    EXPECT_TRUE(allows(what)) << policy;
  }
  EXPECT_FALSE(allows("unsafe") || allows("*") || allows("http")) << policy;
}

TEST(Page, is_answered_with_that_policy) {
  const api::Response answer = page_response();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.type, "text/html; charset=utf-8");
  EXPECT_EQ(answer.body, page);
  ASSERT_FALSE(answer.headers.empty());
  EXPECT_EQ(answer.headers.front().first, "Content-Security-Policy");
  EXPECT_EQ(answer.headers.front().second, page_policy);
}

TEST(Page, has_nothing_from_elsewhere) {
  EXPECT_EQ(all_of(page, R"((https?://[^"' ]*))"),
            std::set<std::string>{"http://www.w3.org/2000/svg"});
  EXPECT_EQ(page.find("//cdn"), std::string::npos);
  EXPECT_EQ(all_of(page, R"(<(script|style)\b[^>]+>)"), std::set<std::string>{});
}

TEST(Page, makes_no_markup_of_what_it_is_told) {
  for (const char* const way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                "DOMParser", "eval(", "new Function", "srcdoc", "javascript:"}) {
    EXPECT_EQ(page.find(way), std::string::npos) << way;
  }
}

TEST(Page, asks_for_nothing_that_the_document_has_not) {
  const Json document = Json::parse(std::string(openapi_text));
  const std::set<std::string> asked = all_of(page, R"re("(/v1/[a-z0-9_/.]*))re");
  EXPECT_GE(asked.size(), 6u);
  for (const std::string& path : asked) EXPECT_TRUE(document["paths"].contains(path)) << path;
  EXPECT_TRUE(document["paths"].contains("/"));
}

TEST(Page, has_each_element_that_its_script_names) {
  const std::set<std::string> has = all_of(page, R"re( id="([a-z-]+)")re");
  const std::set<std::string> wants = all_of(page, R"re(\$\("([a-z-]+)"\))re");
  EXPECT_GE(wants.size(), 20u);
  for (const std::string& id : wants) EXPECT_TRUE(has.contains(id)) << id;
}

}  // namespace
}  // namespace cw::daemon
