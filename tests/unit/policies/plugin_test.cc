// The loaded form of every policy: the same table as the static one, and one exported symbol.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "policies/policies.h"

namespace cw::policy_test {
namespace {

std::string path_of(const cw_policy_ops& ops) {
  return std::string(CW_PLUGIN_DIR) + "/" + ops.name + ".so";
}

/// Names of the defined global symbols in the dynamic symbol table of an ELF file.
std::set<std::string> exported_symbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  Elf64_Ehdr head;
  std::memcpy(&head, image.data(), sizeof head);
  const auto section = [&](size_t index) {
    Elf64_Shdr s;
    std::memcpy(&s, image.data() + head.e_shoff + index * sizeof s, sizeof s);
    return s;
  };
  std::set<std::string> names;
  for (size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr strings = section(table.sh_link);
    for (size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + table.sh_offset + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) continue;
      names.insert(image.data() + strings.sh_offset + symbol.st_name);
    }
  }
  return names;
}

TEST(Plugin, exports_cw_policy_and_nothing_else) {
  for (const cw_policy_ops* ops : policy::all()) {
    EXPECT_EQ(exported_symbols(path_of(*ops)), std::set<std::string>{"cw_policy_table"})
        << ops->name;
  }
}

TEST(Plugin, is_the_same_policy_as_the_static_library) {
  for (const cw_policy_ops* ops : policy::all()) {
    void* file = dlopen(path_of(*ops).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(file, nullptr) << dlerror();
    const auto entry = reinterpret_cast<const cw_policy_ops* (*)()>(dlsym(file, "cw_policy_table"));
    ASSERT_NE(entry, nullptr);
    const cw_policy_ops* loaded = entry();
    EXPECT_NE(loaded, ops);
    EXPECT_STREQ(loaded->name, ops->name);
    EXPECT_EQ(loaded->abi, CW_POLICY_ABI);
    EXPECT_EQ(loaded->size, sizeof(cw_policy_ops));
    EXPECT_EQ(loaded->param_count, ops->param_count);
    EXPECT_EQ(loaded->message_state_bytes, ops->message_state_bytes);
    EXPECT_EQ(loaded->arrived == nullptr, ops->arrived == nullptr);
    dlclose(file);
  }
}

TEST(Plugin, leaves_out_the_facts_that_neither_end_knows) {
  EXPECT_EQ(cw_policy_selective_repeat()->coded, nullptr);
  EXPECT_EQ(cw_policy_selective_repeat()->block_closed, nullptr);
  EXPECT_EQ(cw_policy_passthrough()->note, nullptr);
  EXPECT_NE(cw_policy_selective_repeat()->note, nullptr);
}

}  // namespace
}  // namespace cw::policy_test
