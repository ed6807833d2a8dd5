// Codecs as files: loaded, refused and found by name as policies are.
#include <gtest/gtest.h>

#include <cstring>

#include "offload/codec/codecs.h"
#include "offload/coder.h"
#include "plugins/loader.h"
#include "plugins/registry.h"
#include "plugins/table_check.h"
#include "tests/unit/plugins/files.h"

namespace cw::plugins {
namespace {
using plugins_test::content_of;
using plugins_test::Folder;
using plugins_test::plugin;

std::string shipped(const std::string& name) {
  return std::string(CW_PLUGIN_DIR) + "/" + name + ".so";
}

TEST(CodecLoader, loads_every_codec_that_ships_as_a_copy_of_its_own) {
  for (const cw_codec_ops* linked : code::all()) {
    const auto loaded = LoadedCodec::load(shipped(linked->name));
    ASSERT_TRUE(loaded) << loaded.error().sentence;
    EXPECT_STREQ(loaded->table().name, linked->name);
    EXPECT_EQ(loaded->table().wire_version, linked->wire_version);
    EXPECT_NE(loaded->table().encode, linked->encode);
    EXPECT_EQ(LoadedCodec::resident_count(), 1u);
  }
  EXPECT_EQ(LoadedCodec::resident_count(), 0u);
}

TEST(CodecLoader, loads_codes_that_make_the_same_bytes_as_the_linked_ones) {
  constexpr uint32_t k = 5, m = 3, bytes = 128;
  for (const cw_codec_ops* linked : code::all()) {
    const auto loaded = LoadedCodec::load(shipped(linked->name));
    ASSERT_TRUE(loaded);
    const Buffers shards(k + 2 * m, bytes), scratch(1, 1 << 16);
    cw_shard data[k], repair[2][m];
    for (uint32_t i = 0; i < k; ++i) {
      data[i] = {i, 0, k, 0, shards.at(i)};
      for (uint32_t b = 0; b < bytes; ++b) data[i].bytes[b] = static_cast<uint8_t>(b * 7 + i * 31);
    }
    const cw_codec_ops* const both[] = {linked, &loaded->table()};
    for (uint32_t which = 0; which < 2; ++which) {
      const auto coder = Coder::make(*both[which], {k, m, bytes});
      ASSERT_TRUE(coder);
      for (uint32_t j = 0; j < m; ++j) {
        repair[which][j] = {CW_REPAIR_ID | j, 0, k, 0, shards.at(k + which * m + j)};
      }
      ASSERT_EQ(coder->encode(data, repair[which], scratch.at(0)).coded, Coded::Done);
    }
    for (uint32_t j = 0; j < m; ++j) {
      EXPECT_EQ(std::memcmp(repair[0][j].bytes, repair[1][j].bytes, bytes), 0) << linked->name;
    }
  }
}

TEST(CodecLoader, says_in_one_sentence_why_a_codec_is_refused) {
  const std::pair<std::string, const char*> cases[] = {
      {plugin("no_such_file"), "cannot be opened: No such file or directory"},
      {plugin("version_1"), "exports no function cw_codec_table"},
      {plugin("codec_wrong_major"),
       "speaks ABI 2.3 and this program 1.0: build it against this version's codec.h"},
      {plugin("codec_stump"), "has a table of 79 bytes, and even the oldest has 80"},
      {plugin("codec_no_steps"), "works in steps, but has not all of start, take and give"},
  };
  for (const auto& [path, complaint] : cases) {
    const auto loaded = LoadedCodec::load(path);
    ASSERT_FALSE(loaded) << path;
    EXPECT_EQ(loaded.error().sentence, "plugin " + path + " " + complaint);
  }
  const auto policy = LoadedPolicy::load(shipped("rs"));
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().sentence,
            "plugin " + shipped("rs") + " exports no function cw_policy_table");
  EXPECT_EQ(LoadedCodec::resident_count(), 0u);
}

TEST(CodecLoader, gives_zeros_for_what_an_older_table_does_not_have) {
  const auto loaded = LoadedCodec::load(plugin("codec_shorter_table"));
  ASSERT_TRUE(loaded) << loaded.error().sentence;
  EXPECT_NE(loaded->table().decode, nullptr);
  EXPECT_EQ(loaded->table().start, nullptr);
  // A codec that refuses without a word still leaves a sentence behind.
  const auto coder = Coder::make(loaded->table(), {2, 1, 64});
  ASSERT_FALSE(coder);
  EXPECT_EQ(coder.error().sentence, "codec tried refused its shape without a reason");
}

TEST(CodecRegistry, finds_the_newest_of_a_name_and_counts_users) {
  CodecRegistry registry;
  for (const cw_codec_ops* linked : code::all()) ASSERT_TRUE(registry.add(*linked));
  EXPECT_EQ(registry.add(*cw_codec_rs()).error().sentence, "codec rs is there already");
  EXPECT_EQ(&registry.find("rs")->table(), cw_codec_rs());
  EXPECT_EQ(registry.unload("rs").error().sentence, "codec rs is built in and cannot be unloaded");
  {
    const Folder folder;
    const auto use = registry.load(folder.write("mine.so", content_of(shipped("rs"))));
    ASSERT_TRUE(use) << use.error().sentence;
    EXPECT_NE(&registry.find("rs")->table(), cw_codec_rs());
    const auto refused = registry.unload("rs");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sentence,
              "codec rs from " + folder.path("mine.so") + " has 1 user and cannot be unloaded");
  }
  EXPECT_TRUE(registry.unload("rs"));
  EXPECT_EQ(&registry.find("rs")->table(), cw_codec_rs());
  const auto unknown = registry.find("sx");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().sentence.starts_with("no codec is named \"sx\": "));
}

TEST(CodecCheck, wants_the_functions_that_the_traits_promise) {
  const auto complaint = [](auto change) {
    cw_codec_ops table = *cw_codec_rs();
    change(table);
    const auto checked = check_table(table);
    return checked ? "(fine)" : checked.error().sentence;
  };
  using Ops = cw_codec_ops;
  EXPECT_EQ(complaint([](Ops&) {}), "(fine)");
  EXPECT_EQ(complaint([](Ops& t) { t.name = "Rs"; }),
            "has a name that is not snake_case of at most 32 letters");
  EXPECT_EQ(complaint([](Ops& t) { t.summary = ""; }), "has no summary");
  EXPECT_EQ(complaint([](Ops& t) { t.m_max = 0; }),
            "codes no shards: k_max and m_max are at least 1");
  EXPECT_EQ(complaint([](Ops& t) { t.sizes = nullptr; }), "has no sizes function");
  EXPECT_EQ(complaint([](Ops& t) { t.generate = nullptr; }), "has no generate function");
  EXPECT_EQ(complaint([](Ops& t) { t.encode = nullptr; }), "has no encode function");
  EXPECT_EQ(complaint([](Ops& t) { t.decode = nullptr; }), "has no decode function");
  EXPECT_EQ(complaint([](Ops& t) { t.take = nullptr; }),
            "works in steps, but has not all of start, take and give");
  EXPECT_EQ(complaint([](Ops& t) { t.traits = CW_CODEC_SLIDING; }),
            "slides, but does not work in steps");
  EXPECT_EQ(complaint([](Ops& t) { t.traits |= CW_CODEC_SLIDING; }),
            "slides, but has no forget function");
}

}  // namespace
}  // namespace cw::plugins
