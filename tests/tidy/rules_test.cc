// The rules, the sources that they see, and this tree under them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tidy/rules.h"
#include "tests/tidy/source.h"

namespace cw::tidy {
namespace {

// ---- source ----

TEST(BlankProse, keeps_length_and_lines) {
  EXPECT_EQ(blank_prose("a // b\nc /* d\n e */ f"), "a     \nc     \n      f");
  EXPECT_EQ(blank_prose("f(\"x\\\"y\", '\\'', 1'000)"), "f(\"    \", '  ', 1'000)");
  EXPECT_EQ(blank_prose("R\"(a\"b)\" c"), "R\"     \" c");
  EXPECT_EQ(blank_prose("R\"x(a)\" )x\" c"), "R\"        \" c");
}

TEST(BlankProse, survives_what_never_ends) {
  EXPECT_EQ(blank_prose("\"abc"), "\"   ");
  EXPECT_EQ(blank_prose("/* abc"), "      ");
  EXPECT_EQ(blank_prose("\"abc\\"), "\"    ");
  EXPECT_EQ(blank_prose("R\"(abc"), "R\"    ");
}

TEST(Lines, are_as_many_as_newlines) {
  EXPECT_EQ(lines_of("a\n\nb\n").size(), 3u);
  EXPECT_EQ(lines_of("a\nb").size(), 2u);
  EXPECT_TRUE(lines_of("").empty());
}

TEST(Includes, are_found_with_their_lines_and_kinds) {
  const auto found = includes_of(make_file("a.cc", "\n#include <span>\n#  include \"b/c.h\"\n"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].line == 2 && found[0].name == "span" && !found[0].is_quoted);
  EXPECT_TRUE(found[1].line == 3 && found[1].name == "b/c.h" && found[1].is_quoted);
}

TEST(Words, know_what_stands_around_them) {
  const auto words = words_of("std::chrono::now(a.free (1), b->c, Pool::d, ::e())");
  const auto word = [&](std::string_view text) {
    return *std::ranges::find(words, text, &Word::text);
  };
  EXPECT_TRUE(word("now").is_std && word("now").is_called && !word("now").is_scoped);
  EXPECT_TRUE(word("free").is_member && word("free").is_called);
  EXPECT_TRUE(word("c").is_member && !word("c").is_called);
  EXPECT_TRUE(word("d").is_scoped && !word("d").is_std);
  EXPECT_FALSE(words_of("Duration time()")[1].is_called) << "a declaration";
  EXPECT_TRUE(words_of("return time()")[1].is_called);
  EXPECT_TRUE(word("e").is_called && !word("e").is_scoped && !word("e").is_std);
}

size_t longest_function(std::string_view code) {
  size_t longest = 0;
  for (const Function& function : functions_of(code)) {
    longest = std::max(longest, function.line_count);
  }
  return longest;
}

TEST(Functions, are_told_from_namespaces_types_and_tables) {
  EXPECT_EQ(longest_function("namespace a {\nstruct B {\n  int c;\n};\n}\n"), 0u);
  EXPECT_EQ(longest_function("const int table[] = {\n1,\n2,\n};\n"), 0u);
  EXPECT_EQ(longest_function("struct B {\n  int c() {\n    return 1;\n  }\n};\n"), 3u);
  EXPECT_EQ(longest_function("B& B::operator=(B b) {\n  return b;\n}\n"), 3u);
  EXPECT_EQ(longest_function("B::B() : a_{1}, b_(2) {\n\n\n}\n"), 4u);
  EXPECT_EQ(longest_function("#define X(a) {\nint f() {\n}\n"), 2u);
  EXPECT_EQ(longest_function("extern  {\nint f() {\n if (1) {\n }\n}\n}\n"), 4u);
}

// ---- The rules, each on strings: what it must catch and what it must let pass ----

std::vector<std::string> texts_of(const Violations& violations) {
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(to_string(violation));
  return texts;
}

/// What the rule says about one file; empty when it is content.
template <class Rule>
std::string verdict(Rule rule, const std::string& path, const std::string& text) {
  std::string all;
  for (const std::string& one : texts_of(rule({make_file(path, text)}))) all += one + "\n";
  return all;
}

std::string include(const std::string& path, const std::string& name) {
  return verdict(check_includes, path, "#include " + name + "\n");
}

TEST(Violation, prints_place_rule_and_advice) {
  EXPECT_EQ(to_string({"a/b.cc", 7, "no-tabs", "use spaces"}), "a/b.cc:7: [no-tabs] use spaces");
}

// ---- the include table --------------------------------------------------------------------------

TEST(IncludeTable, lets_every_room_include_what_lies_below_it) {
  const std::pair<const char*, const char*> allowed[] = {
      {"dataplane/base/memory/ring.h", "\"dataplane/base/assert.h\""},
      {"dataplane/base/memory/ring.h", "<span>"},
      {"dataplane/wire/roce.h", "\"dataplane/base/endian.h\""},
      {"dataplane/port.h", "\"dataplane/base/units.h\""},
      {"dataplane/port/udp/udp.cc", "<sys/socket.h>"},
      {"dataplane/port/udp/udp.cc", "\"dataplane/port.h\""},
      {"dataplane/port/sim/sim.h", "\"dataplane/port/impair/model.h\""},
      {"dataplane/port/dpdk/dpdk.cc", "<rte_mbuf.h>"},
      {"dataplane/port/dpdk/dpdk.cc", "\"dataplane/neighbour/neighbour.h\""},
      {"dataplane/port/dpdk/dpdk.cc", "\"dataplane/kernel/kernel_net.h\""},
      {"dataplane/port/verbs/verbs.cc", "<infiniband/verbs.h>"},
      {"dataplane/core/turn/worker.h", "\"dataplane/port.h\""},
      {"dataplane/sdr/qp.cc", "\"offload/crc32.h\""},
      {"dataplane/sdr/qp.cc", "\"dataplane/policy.h\""},
      {"dataplane/gateway/lane.cc", "\"dataplane/sdr/sdr.h\""},
      {"policies/fec/fec.cc", "\"policies/parts/rtt.h\""},
      {"policies/fec/fec.cc", "\"policies/fec/matrix.h\""},
      {"policies/policies.h", "\"dataplane/policy.h\""},
      {"plugins/loader.cc", "<dlfcn.h>"},
      {"plugins/registry.cc", "\"plugins/loader.h\""},
      {"plugins/example/mine.c", "<causeway/policy.h>"},
      {"plugins/example/mine.c", "<stdlib.h>"},
      {"offload/crc32.c", "<isa-l/crc.h>"},
      {"offload/mac.c", "<openssl/hmac.h>"},
      {"offload/bitmap.h", "<stdint.h>"},
      {"control/main.cc", "\"dataplane/port/sim/sim.h\""},
      {"tests/unit/base/a_test.cc", "\"control/config/parse.h\""},
      {"bench/micro/a_bench.cc", "\"tests/data.h\""},
  };
  for (const auto& [path, name] : allowed) EXPECT_EQ(include(path, name), "") << path;
}

TEST(IncludeTable, stops_every_include_that_points_up_or_aside) {
  const std::pair<const char*, const char*> banned[] = {
      {"dataplane/base/memory/ring.h", "\"dataplane/port.h\""},
      {"dataplane/base/memory/ring.h", "<sys/mman.h>"},
      {"dataplane/wire/roce.h", "\"offload/crc32.h\""},
      {"dataplane/port.h", "\"dataplane/wire/roce.h\""},
      {"dataplane/port/udp/udp.cc", "\"dataplane/port/sim/sim.h\""},
      {"dataplane/port/udp/udp.cc", "\"dataplane/core/turn/worker.h\""},
      {"dataplane/neighbour/neighbour.h", "\"dataplane/port.h\""},
      {"dataplane/neighbour/neighbour.h", "\"dataplane/kernel/kernel_net.h\""},
      {"dataplane/core/turn/worker.h", "\"dataplane/sdr/qp.h\""},
      {"dataplane/core/turn/worker.h", "\"dataplane/port/sim/sim.h\""},
      {"dataplane/sdr/qp.cc", "\"policies/fec/fec.h\""},
      {"dataplane/sdr/qp.cc", "\"offload/bitmap.h\""},
      {"dataplane/gateway/lane.cc", "\"dataplane/collective/ring.h\""},
      {"policies/fec/fec.cc", "\"policies/resend/resend.h\""},
      {"policies/parts/rtt.h", "\"policies/fec/fec.h\""},
      {"policies/fec/fec.cc", "\"policies/policies.h\""},
      {"plugins/loader.cc", "\"policies/fec/fec.h\""},
      {"plugins/loader.cc", "\"dataplane/sdr/seat/policy_host.h\""},
      {"plugins/example/mine.c", "\"dataplane/policy.h\""},
      {"plugins/example/mine.c", "<unistd.h>"},
      {"policies/fec/fec.cc", "<causeway/policy.h>"},
      {"offload/pool.cc", "\"dataplane/core/turn/worker.h\""},
      {"dataplane/core/turn/worker.h", "\"control/plan/plan.h\""},
      {"dataplane/core/turn/worker.h", "\"tests/data.h\""},
      {"control/main.cc", "\"tests/data.h\""},
  };
  for (const auto& [path, name] : banned) EXPECT_NE(include(path, name), "") << path << name;
}

TEST(IncludeTable, keeps_each_vendor_in_its_own_driver) {
  EXPECT_NE(include("dataplane/port/udp/udp.cc", "<rte_mbuf.h>"), "");
  EXPECT_NE(include("dataplane/port/dpdk/dpdk.cc", "<infiniband/verbs.h>"), "");
  EXPECT_NE(include("control/main.cc", "<rte_eal.h>"), "");
  EXPECT_NE(include("offload/crc32.c", "<openssl/sha.h>"), "");
  EXPECT_NE(include("dataplane/wire/roce.cc", "<zlib.h>"), "");
  EXPECT_EQ(include("tests/unit/offload/crc32_test.cc", "<zlib.h>"), "");
}

TEST(IncludeTable, keeps_what_is_slow_to_compile_behind_one_door_for_tests_too) {
  EXPECT_EQ(include("control/command_line/command_line.cc", "<CLI/CLI.hpp>"), "");
  EXPECT_EQ(include("tests/property/property.h", "<rapidcheck/gtest.h>"), "");
  EXPECT_NE(include("control/wan/options.cc", "<CLI/CLI.hpp>"), "");
  EXPECT_NE(include("bench/claims/claims.cc", "<CLI/CLI.hpp>"), "");
  EXPECT_NE(include("tests/unit/base/ring_test.cc", "<rapidcheck.h>"), "");
}

TEST(IncludeTable, keeps_the_doors_plain_c) {
  EXPECT_NE(include("dataplane/policy.h", "<string.h>"), "");
  EXPECT_NE(include("dataplane/codec.h", "<cstdint>"), "");
  EXPECT_NE(include("offload/mac.h", "<openssl/sha.h>"), "");
  EXPECT_NE(include("offload/crc32.h", "\"dataplane/base/units.h\""), "");
}

TEST(IncludeTable, asks_for_paths_from_the_root_and_for_a_room) {
  EXPECT_EQ(
      include("dataplane/base/memory/ring.h", "\"assert.h\""),
      "dataplane/base/memory/ring.h:1: [include-table] write the path of \"assert.h\" from the "
      "repository root\n");
  EXPECT_NE(include("dataplane/misc/a.h", "<span>"), "");
}

TEST(IncludeTable, does_not_read_comments) {
  EXPECT_EQ(verdict(check_includes, "dataplane/base/a.h", "// #include \"control/plan.h\"\n"), "");
}

// ---- banned calls -------------------------------------------------------------------------------

std::string call(const std::string& code) {
  return verdict(check_calls, "dataplane/core/turn/worker.cc", code + "\n");
}

TEST(BannedCalls, are_caught_with_the_place_and_the_replacement) {
  EXPECT_EQ(verdict(check_calls, "policies/fec/fec.cc", "int a;\nvoid* p = malloc(4);\n"),
            "policies/fec/fec.cc:2: [no-allocation] `malloc` is not for this room: memory is taken "
            "at start: a Pool, a Ring or a vector sized from limits in a constructor\n");
  for (const char* const code :
       {"std::free(p);", "::free (p);", "throw 1;", "try { f(); }", "std::mutex m;",
        "std::lock_guard g(m);", "auto t = std::chrono::steady_clock::now();",
        "clock_gettime(CLOCK_MONOTONIC, &t);", "t = time(nullptr);", "x = __rdtsc();",
        "i = rand();", "std::random_device d;", "printf(\"x\");", "std::fprintf(stderr, \"x\");",
        "std::cout << 1;", "usleep(1);", "std::this_thread::sleep_for(d);",
        "std::this_thread::yield();"}) {
    EXPECT_NE(call(code), "") << code;
  }
}

TEST(BannedCalls, are_not_seen_where_there_are_none) {
  for (const char* const code :
       {"// malloc(4) and throw", "/* std::mutex */", "x = \"printf(%d)\";", "pool.free(p);",
        "pool->free(p);", "Pool::free(p);", "int free_count = 0;", "Instant time;", "retry(2);",
        "try_push(1);", "rate.time_for(b);", "std::snprintf(why, n, \"x\");", "strand(1);",
        "const auto text = R\"(throw malloc(1))\";", "char c = '\"'; // rand()",
        "int n = 1'000; // \"", "Duration time() const;", "Latch latch;"}) {
    EXPECT_EQ(call(code), "") << code;
  }
}

TEST(BannedCalls, concern_only_the_pure_rooms) {
  const std::string code = "std::mutex m;\n";
  for (const char* const path :
       {"dataplane/port/sim/a.cc", "dataplane/port/impair/a.cc", "dataplane/sdr/a.h",
        "dataplane/gateway/a.cc", "policies/x/a.cc"}) {
    EXPECT_NE(verdict(check_calls, path, code), "") << path;
  }
  for (const char* const path : {"dataplane/port/udp/a.cc", "offload/a.cc", "control/a.cc",
                                 "tests/unit/a.cc", "dataplane/core.cc"}) {
    EXPECT_EQ(verdict(check_calls, path, code), "") << path;
  }
}

TEST(BannedCalls, let_only_the_core_s_own_waiting_places_wait) {
  const std::string code = "nanosleep(&pause, nullptr);\n";
  EXPECT_EQ(verdict(check_calls, "dataplane/core/turn/idle.cc", code), "");
  EXPECT_NE(verdict(check_calls, "dataplane/core/turn/worker.cc", code), "");
  EXPECT_NE(verdict(check_calls, "dataplane/sdr/idle.cc", code), "");
}

TEST(BannedCalls, let_only_the_clock_read_the_clock) {
  const std::string code = "auto t = std::chrono::steady_clock::now();\n";
  EXPECT_EQ(verdict(check_calls, "dataplane/core/turn/clock.cc", code), "");
  EXPECT_NE(verdict(check_calls, "dataplane/core/clocks.cc", code), "");
}

// ---- shape --------------------------------------------------------------------------------------

std::string shape(const std::string& path, const std::string& text) {
  return verdict(check_shape, path, text);
}

TEST(Shape, bounds_lines_at_a_hundred_columns_not_bytes) {
  EXPECT_EQ(shape("dataplane/base/a.h", std::string(100, 'x') + "\n"), "");
  EXPECT_NE(shape("dataplane/base/a.h", std::string(101, 'x') + "\n"), "");
  EXPECT_EQ(shape("dataplane/base/a.h", std::string(99, 'x') + "\u00b5\n"), "");
  EXPECT_EQ(shape("README.md", std::string(101, 'x') + "\n"), "")
      << "tables are as wide as they are";
}

TEST(Shape, bounds_files_by_their_kind) {
  const auto lines = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "\n";
    return text;
  };
  const std::pair<const char*, size_t> bounds[] = {{"control/a.cc", 500},
                                                   {"dataplane/core/a.h", 250},
                                                   {"dataplane/port.h", 150},
                                                   {"dataplane/policy.h", 520}};
  for (const auto& [path, most] : bounds) {
    EXPECT_EQ(shape(path, lines(most)), "") << path;
    EXPECT_NE(shape(path, lines(most + 1)), "") << path;
  }
}

std::string function_of(size_t line_count) {
  std::string text = "namespace cw {\nint f(int a,\n      int b) {\n";
  for (size_t i = 0; i + 2 < line_count; ++i) text += "  if (a) { b = 1; }\n";
  return text + "}\n}\n";
}

TEST(Shape, bounds_functions_at_seventy_lines) {
  EXPECT_EQ(shape("control/a.cc", function_of(70)), "");
  EXPECT_EQ(shape("control/a.cc", function_of(71)).substr(0, 33),
            "control/a.cc:3: [function-length]");
  EXPECT_EQ(shape("tests/a.cc", function_of(71)), "") << "tests may be long tables";
}

TEST(Shape, bounds_rooms_at_a_dozen_sources) {
  Files files;
  const auto add = [&](const std::string& folder) {
    files.push_back({.path = folder + "/a" + std::to_string(files.size()) + ".cc", .text = "\n"});
  };
  for (int i = 0; i < 12; ++i) add("control/x");
  add("control/x/y");
  add("control/xy");
  EXPECT_TRUE(check_shape(files).empty());
  add("control/x");
  EXPECT_EQ(to_string(check_shape(files).at(0)).substr(0, 24), "control/x:0: [room-size]");
}

TEST(Shape, objects_to_tabs_and_unfinished_work) {
  EXPECT_NE(shape("control/a.cc", "\tint a;\n"), "");
  EXPECT_NE(shape("control/a.cc",
                  "// TO"
                  "DO: more\n"),
            "");
  EXPECT_NE(shape("README.md",
                  "FIX"
                  "ME\n"),
            "");
  EXPECT_EQ(shape("control/a.cc",
                  "int TO"
                  "DOS;\n"),
            "");
}

TEST(Shape, wants_a_last_newline_and_executable_scripts) {
  EXPECT_NE(shape("control/a.cc", "int a;"), "");
  File script = make_file("check", "#!/bin/sh\n");
  EXPECT_EQ(check_shape({script}).size(), 1u);
  script.is_executable = true;
  EXPECT_TRUE(check_shape({script}).empty());
}

// ---- promises -----------------------------------------------------------------------------------

File reasons(const std::string& text) { return make_file("dataplane/core/drop_reasons.def", text); }
File test_naming(const std::string& text) { return make_file("tests/unit/a_test.cc", text); }

TEST(DropReasons, are_content_with_a_sentence_and_a_test_each) {
  EXPECT_TRUE(check_drop_reasons({}).empty()) << "no list, no rule";
  EXPECT_TRUE(check_drop_reasons({reasons("CW_DROP(wire_short, \"frame ends too early\")\n"),
                                  test_naming("EXPECT_EQ(drops[wire_short], 1);\n")})
                  .empty());
}

TEST(DropReasons, are_not_read_from_comments) {
  EXPECT_TRUE(check_drop_reasons({reasons("// CW_DROP(name, sentence) each\n")}).empty());
}

TEST(DropReasons, come_from_the_tables_of_the_wire_too) {
  const Files files = {
      reasons("#define CW_WIRE_ERROR(enumerator, name, sentence) CW_DROP(name, sentence)\n"),
      make_file("dataplane/wire/errors.def",
                "CW_WIRE_ERROR(Short, wire_short,\n \"too short it is\")"),
      make_file("dataplane/wire/control_errors.def",
                "// CW_CONTROL_ERROR(name, enumerator, \"never read this\")\n"
                "CW_CONTROL_ERROR(control_mac, Mac, \"its MAC is wrong\")"),
      make_file("tests/data/packets/golden.txt", "expect wire_short\n")};
  EXPECT_EQ(texts_of(check_drop_reasons(files)),
            (std::vector<std::string>{"dataplane/wire/control_errors.def:2: [drop-reason] "
                                      "control_mac: provoke it in a test that names it"}));
}

TEST(DropReasons, miss_a_sentence_a_test_or_a_difference) {
  const File named = test_naming("wire_short\n");
  EXPECT_EQ(check_drop_reasons({reasons("CW_DROP(wire_short, \"short\")"), named}).size(), 1u);
  EXPECT_EQ(check_drop_reasons({reasons("CW_DROP(wire_short, \"\")"), named}).size(), 1u);
  EXPECT_EQ(check_drop_reasons({reasons("CW_DROP(wire_short, \"ends too early\")"),
                                test_naming("// wire_short\n")})
                .size(),
            1u)
      << "a comment is no test";
  const std::string twice = "CW_DROP(wire_short, \"ends too early\")\n";
  EXPECT_EQ(check_drop_reasons({reasons(twice + twice), named}).size(), 2u);
}

// ---- the fields of the policy door --------------------------------------------------------------

std::vector<std::string> of_fields(const std::string& structs, const std::string& rows) {
  return texts_of(check_policy_fields(
      {make_file("dataplane/policy.h", structs), make_file("policies/fields.md", rows),
       make_file("tests/unit/a_test.cc", "TEST(Suite, sees_it) {}\n")}));
}

TEST(PolicyFieldTable, is_complete_when_each_field_has_a_test) {
  EXPECT_TRUE(check_policy_fields({}).empty()) << "no header, no rule";
  EXPECT_TRUE(of_fields("struct cw_a {\n  uint32_t x; /* y; */\n  const int *z, w;\n"
                        "  uint32_t reserved;\n  void (*f)(struct cw_a*, int,\n   int);\n"
                        "  union {\n    struct cw_b b;\n  } u;\n};\n",
                        "| `cw_a` | x, z, w, f | `Suite.sees_it` |\n")
                  .empty());
}

TEST(PolicyFieldTable, misses_a_field_a_test_and_what_is_gone) {
  const std::string structs = "\nstruct cw_a {\n  int x, y;\n};\n";
  EXPECT_EQ(of_fields(structs, "| `cw_a` | x | `Suite.sees_it` |\n"),
            (std::vector<std::string>{
                "dataplane/policy.h:2: [policy-field] cw_a.y is in no row of policies/fields.md: "
                "write the test that sees it and name it there"}));
  EXPECT_EQ(of_fields(structs, "\n| `cw_a` | x, y | `Suite.sees_nothing` |\n"),
            (std::vector<std::string>{"policies/fields.md:2: [policy-field] Suite.sees_nothing is "
                                      "no test: name one that there is"}));
  EXPECT_EQ(of_fields(structs, "| `cw_a` | x, y, z | `Suite.sees_it` |\n"),
            (std::vector<std::string>{"policies/fields.md:1: [policy-field] cw_a.z is no field: "
                                      "take it off the table"}));
}

// ---- the rules of the specification -------------------------------------------------------------

File spec(const std::string& text) { return make_file("dataplane/wire/SPEC.md", text); }

TEST(Citations, are_complete_when_code_or_a_test_names_every_rule) {
  EXPECT_TRUE(check_citations({}).empty()) << "no specification, no rule";
  EXPECT_TRUE(check_citations({spec("no ids yet\n"), test_naming("// [C-1]\n")}).empty());
  EXPECT_TRUE(check_citations({spec("[C-1] MUST ...\n[D-12] MUST ...\n"),
                               make_file("dataplane/wire/a.cc", "// SPEC [C-1]\n"),
                               test_naming("// [D-12]\n")})
                  .empty());
}

TEST(Citations, miss_a_rule_nobody_keeps_and_an_id_nobody_wrote) {
  const Violations found =
      check_citations({spec("x\n[C-1] MUST ...\n"), test_naming("a[0]\n// [C-2]\n")});
  EXPECT_EQ(
      texts_of(found),
      (std::vector<std::string>{
          "tests/unit/a_test.cc:2: [citation] [C-2] is not in SPEC.md: correct the id or "
          "write the rule",
          "dataplane/wire/SPEC.md:2: [citation] [C-1] is cited nowhere: name it where code or "
          "a test keeps it"}));
}

// ---- The rules, applied to the project itself ----

const Files& tree() {
  static const Files files = read_tree(CW_SOURCE_DIR);
  return files;
}

void expect_none(const Violations& violations) {
  for (const Violation& violation : violations) ADD_FAILURE() << to_string(violation);
}

TEST(Tree, was_found) {
  const auto has = [](std::string_view path) {
    return std::ranges::find(tree(), path, &File::path) != tree().end();
  };
  EXPECT_TRUE(has("dataplane/port.h"));
  EXPECT_TRUE(has("tests/tidy/rules_test.cc"));
  EXPECT_TRUE(has("CMakeLists.txt"));
}

TEST(Tree, includes_only_what_the_table_allows) { expect_none(check_includes(tree())); }
TEST(Tree, makes_no_banned_calls) { expect_none(check_calls(tree())); }
TEST(Tree, keeps_its_shape) { expect_none(check_shape(tree())); }
TEST(Tree, has_a_sentence_and_a_test_per_drop_reason) { expect_none(check_drop_reasons(tree())); }
TEST(Tree, has_a_test_per_field_of_the_policy_door) { expect_none(check_policy_fields(tree())); }
TEST(Tree, cites_every_rule_of_the_specification) { expect_none(check_citations(tree())); }

}  // namespace

}  // namespace cw::tidy
