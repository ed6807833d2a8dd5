#include "tests/conformance/candidate.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "dataplane/sdr/seat/policy_needs.h"
#include "plugins/loader.h"

namespace cw::conformance {
namespace {

constexpr double rto = 0, nack = 1;

const Traits table[] = {
    {.policy = "passthrough", .seats = Seats::Both, .repairs = false},
    // Every packet that overtakes another looks like a loss to it, and costs a window of resends.
    {.policy = "go_back_n", .seats = Seats::Both, .spurious_share_max = 12},
    {.policy = "selective_repeat", .variant = "_rto", .params = {{"detect", rto}}},
    {.policy = "selective_repeat", .variant = "_nack", .params = {{"detect", nack}}},
    {.policy = "erasure", .codes = true},
    {.policy = "erasure",
     .variant = "_xor",
     .params = {{"codec", 1}, {"k", 16}, {"m", 4}},
     .codes = true},
    {.policy = "hybrid", .codes = true},
    {.policy = "hybrid",
     .variant = "_small",
     .params = {{"k", 8}, {"m", 1}, {"m_max", 2}, {"rows", 1}},
     .codes = true},
    {.policy = "layered_interleave", .codes = true},
    {.policy = "csa_ud", .seats = Seats::Endpoints},
    {.policy = "irn", .seats = Seats::Endpoints},
    {.policy = "nack_fixed", .seats = Seats::Endpoints},
    {.policy = "rto_only", .seats = Seats::Endpoints},
};

struct Ends {
  const char* name;
  bool source_has_rnic, sink_has_rnic;
};
constexpr Ends pairs_of_ends[] = {{"", false, false},
                                  {"_from_rnic", true, false},
                                  {"_to_rnic", false, true},
                                  {"_between_rnics", true, true}};

[[noreturn]] void give_up(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::abort();
}

/// The file of a policy; that the static library is the same is shown beside it
/// (tests/unit/policies/plugin_test).
const cw_policy_ops* load(const char* policy) {
  const std::string path = std::string(CW_PLUGIN_DIR) + "/" + policy + ".so";
  // Never closed: the table is used until the program ends.
  void* file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) give_up(dlerror());
  const auto entry = reinterpret_cast<const cw_policy_ops* (*)()>(dlsym(file, "cw_policy_table"));
  if (entry == nullptr) give_up(path + " does not export cw_policy_table");
  return entry();
}

/// Whether its limits ask for blocks, with the defaults of its parameters.
bool asks_for_blocks(const cw_policy_ops& ops) {
  const std::vector<double> params = Candidate{.name = "", .ops = &ops, .traits = {}}.params();
  sdr::StreamConfig stream;
  stream.messages = 1;
  stream.data_slots_max = 1;
  return sdr::needs_of({&ops, params}, stream, {}).rows > 0;
}

/// A policy from outside the tree, through the loader that the programs use. It promises
/// everything.
Candidate stranger(const char* path) {
  static auto loaded = plugins::LoadedPolicy::load(path);
  if (!loaded) {
    std::fprintf(stderr, "CAUSEWAY_PLUGIN: %s\n", loaded.error().sentence.c_str());
    std::exit(2);
  }
  const cw_policy_ops& ops = loaded->table();
  return {ops.name, &ops, Traits{.policy = ops.name, .codes = asks_for_blocks(ops)}};
}

}  // namespace

std::vector<double> Candidate::params() const {
  std::vector<double> values;
  for (uint32_t i = 0; i < ops->param_count; ++i) {
    const auto wanted = traits.params.find(ops->params[i].name);
    values.push_back(wanted == traits.params.end() ? ops->params[i].initial : wanted->second);
  }
  return values;
}

std::vector<Candidate> candidates() {
  if (const char* path = std::getenv("CAUSEWAY_PLUGIN")) return {stranger(path)};
  std::vector<Candidate> all;
  for (const auto& [ends, source_has_rnic, sink_has_rnic] : pairs_of_ends) {
    for (const Traits& traits : table) {
      if (traits.seats == Seats::Endpoints) continue;
      all.push_back({std::string(traits.policy) + traits.variant + ends, load(traits.policy),
                     traits, source_has_rnic, sink_has_rnic});
    }
  }
  return all;
}

std::vector<Candidate> rows() {
  std::vector<Candidate> all;
  for (const Traits& traits : table)
    all.push_back({std::string(traits.policy) + traits.variant, load(traits.policy), traits});
  return all;
}

}  // namespace cw::conformance
