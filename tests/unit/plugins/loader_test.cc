// Files that are loaded as policies or codes, or refused.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/sdr/seat/policy_instance.h"
#include "offload/codec/codecs.h"
#include "offload/coding/coder.h"
#include "plugins/check/table_check.h"
#include "plugins/loader.h"
#include "plugins/registry.h"
#include "policies/policies.h"
#include "tests/unit/plugins/files.h"

namespace cw::plugins {
namespace {
using plugins_test::content_of;
using plugins_test::Folder;
using plugins_test::plugin;

// ---- Loading files: what is taken, what is refused and in which words ----

std::string refusal(const std::string& path) {
  const auto loaded = LoadedPolicy::load(path);
  return loaded ? "(loaded)" : loaded.error().sentence;
}

TEST(Loader, loads_every_policy_that_ships) {
  for (const cw_policy_ops* linked : policy::all()) {
    const auto loaded = LoadedPolicy::load(std::string(CW_PLUGIN_DIR) + "/" + linked->name + ".so");
    ASSERT_TRUE(loaded) << loaded.error().sentence;
    EXPECT_STREQ(loaded->table().name, linked->name);
    EXPECT_NE(loaded->table().create, linked->create);
    EXPECT_EQ(LoadedPolicy::resident_count(), 1u);
  }
  EXPECT_EQ(LoadedPolicy::resident_count(), 0u);
}

TEST(Loader, says_in_one_sentence_why_a_plugin_is_refused) {
  const std::pair<const char*, const char*> cases[] = {
      {"no_such_file", "cannot be opened: No such file or directory"},
      {"no_symbol", "exports no function cw_policy_table"},
      {"variable", "exports no function cw_policy_table"},
      {"no_table", "gives no table from cw_policy_table"},
      {"wrong_major",
       "speaks ABI 3.2 and this program 2.2: build it against this version's policy.h"},
      {"abi_1", "speaks ABI 1.1 and this program 2.2: build it against this version's policy.h"},
      {"stump", "has a table of 40 bytes, and even the oldest has 80"},
      {"undefined_symbol", "does not load: undefined symbol: from_nowhere"},
      {"bad_parameter", "has a parameter \"alpha\" that has a default outside its range, 0.5 to 8"},
  };
  for (const auto& [name, complaint] : cases) {
    const std::string path = plugin(name);
    EXPECT_EQ(refusal(path), "plugin " + path + " " + complaint);
    EXPECT_EQ(LoadedPolicy::resident_count(), 0u) << name;
  }
}

TEST(Loader, refuses_what_is_no_shared_object) {
  const Folder folder;
  const auto expect = [](const std::string& path, const std::string& complaint) {
    EXPECT_EQ(refusal(path), "plugin " + path + " " + complaint);
  };
  expect(folder.write("empty.so", ""), "is not a shared object");
  expect(folder.write("text.so", "#!/bin/sh\n" + std::string(200, '#')), "is not a shared object");
  expect(folder.path("."), "is not a regular file");
  ASSERT_EQ(::mkfifo(folder.path("pipe.so").c_str(), 0600), 0);
  expect(folder.path("pipe.so"), "is not a regular file");

  std::string file = content_of(plugin("version_1"));
  file[18] ^= 1;  // e_machine
  expect(folder.write("foreign.so", file), "is made for another machine");
  file = content_of(plugin("version_1"));
  file[16] = 1;  // e_type: ET_REL
  expect(folder.write("object.so", file), "is not a shared object");
}

// A copy under way looks like this, and mapping it would be answered by SIGBUS.
TEST(Loader, refuses_a_file_that_was_cut_short_anywhere) {
  const Folder folder;
  const std::string file = content_of(plugin("version_1"));
  for (size_t bytes = 64; bytes < 4096; bytes += 61) {
    const std::string path = folder.write("short.so", file.substr(0, bytes));
    EXPECT_EQ(refusal(path), "plugin " + path + " is cut short at " + std::to_string(bytes) +
                                 " bytes: copy it again");
  }
}

TEST(Loader, ignores_what_a_newer_table_has_at_its_end) {
  const auto loaded = LoadedPolicy::load(plugin("newer_minor"));
  ASSERT_TRUE(loaded) << loaded.error().sentence;
  EXPECT_EQ(loaded->table().abi, CW_POLICY_ABI + 1);
  EXPECT_EQ(loaded->table().size, sizeof(cw_policy_ops));
  EXPECT_EQ(loaded->table().ended, nullptr);
}

TEST(Loader, leaves_it_to_the_core_to_fill_what_an_older_table_does_not_have) {
  const auto loaded = LoadedPolicy::load(plugin("shorter_table"));
  ASSERT_TRUE(loaded) << loaded.error().sentence;
  EXPECT_NE(loaded->table().destroy, nullptr);
  EXPECT_EQ(loaded->table().opened, nullptr);
  EXPECT_EQ(loaded->table().ended, nullptr);
  const auto filled = sdr::complete_policy_table(loaded->table());
  ASSERT_TRUE(filled) << filled.error().sentence;
  EXPECT_EQ(filled->destroy, loaded->table().destroy);
  EXPECT_NE(filled->opened, nullptr);
  EXPECT_NE(filled->ended, nullptr);
}

TEST(Loader, runs_constructors_anew_with_every_load) {
  for (int i = 0; i < 2; ++i) {
    const auto loaded = LoadedPolicy::load(plugin("constructor"));
    ASSERT_TRUE(loaded) << loaded.error().sentence;
    EXPECT_STREQ(loaded->table().version, "constructed once");
  }
}

TEST(Loader, keeps_symbols_to_the_file_itself) {
  const auto loaded = LoadedPolicy::load(plugin("version_1"));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "cw_policy_table"), nullptr);
}

TEST(Loader, loads_the_same_path_anew_when_its_content_changed) {
  const Folder folder;
  const std::string path = folder.write("mine.so", content_of(plugin("version_1")));
  const auto first = LoadedPolicy::load(path);
  ASSERT_TRUE(first);
  folder.write("mine.so", content_of(plugin("version_2")));
  const auto second = LoadedPolicy::load(path);
  ASSERT_TRUE(second);
  EXPECT_STREQ(first->table().version, "1");
  EXPECT_STREQ(second->table().version, "2");
  EXPECT_NE(first->table().create, second->table().create);
}

TEST(Loader, loads_the_same_file_twice_as_two) {
  const auto first = LoadedPolicy::load(plugin("version_1"));
  const auto second = LoadedPolicy::load(plugin("version_1"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->table().create, second->table().create);
}

TEST(Loader, keeps_working_when_the_file_is_gone) {
  const Folder folder;
  const std::string path = folder.write("mine.so", content_of(plugin("version_1")));
  const auto loaded = LoadedPolicy::load(path);
  ASSERT_TRUE(loaded);
  std::filesystem::remove(path);
  cw_policy* policy = nullptr;
  EXPECT_EQ(loaded->table().create(nullptr, &policy, nullptr, 0), 0);
  EXPECT_NE(policy, nullptr);
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(Loader, loads_and_unloads_a_thousand_times_and_leaves_nothing) {
  const std::array files = {plugin("version_1"), plugin("constructor"), plugin("undefined_symbol")};
  const size_t descriptors = open_descriptors();
  for (int i = 0; i < 1000; ++i) {
    const auto loaded = LoadedPolicy::load(files[static_cast<size_t>(i) % files.size()]);
    EXPECT_EQ(loaded.has_value(), i % 3 != 2);
    ASSERT_EQ(LoadedPolicy::resident_count(), loaded ? 1u : 0u);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(Loader, loads_only_so_many_at_once) {
  std::vector<LoadedPolicy> loaded;
  while (loaded.size() < LoadedPolicy::files_max) {
    auto next = LoadedPolicy::load(plugin("constructor"));
    ASSERT_TRUE(next) << next.error().sentence;
    loaded.push_back(std::move(*next));
  }
  EXPECT_EQ(refusal(plugin("version_1")),
            "plugin " + plugin("version_1") +
                " is one too many: 64 plugins are loaded; unload one that is not in use");
  loaded.pop_back();
  EXPECT_TRUE(LoadedPolicy::load(plugin("version_1")));
}

// In a process of its own: the file never goes.
TEST(LoaderDeathTest, never_mistakes_a_new_file_for_one_that_would_not_go) {
  const auto load_after_stuck = [] {
    if (!LoadedPolicy::load(plugin("stuck"))) std::_Exit(1);
    if (LoadedPolicy::resident_count() != 1) std::_Exit(2);
    const auto next = LoadedPolicy::load(plugin("version_2"));
    if (!next || std::strcmp(next->table().version, "2") != 0) std::_Exit(3);
    std::_Exit(0);
  };
  EXPECT_EXIT(load_after_stuck(), testing::ExitedWithCode(0), "");
}

// ---- Codecs as files: loaded, refused and found by name as policies are ----

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
