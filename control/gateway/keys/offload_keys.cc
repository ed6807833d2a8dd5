// The keys of [offload].
#include <string>
#include <string_view>

#include "control/gateway/keys/config.h"
#include "offload/stage/stage.h"

namespace cw::site {

using config::KeyKind;
using config::Section;

namespace {

constexpr std::string_view executors[] = {"turn", "cores", "dpa"};

std::string named(OffloadExecutor executor) {
  return "offload.executor is \"" + std::string(executors[static_cast<size_t>(executor)]) + "\"";
}

void check_offload_keys(Section& section, const OffloadConfig& offload) {
  for (const uint32_t core : offload.cores) {
    const std::string why = why_no_core(core);
    if (why.empty()) continue;
    section.complain("cores", "offload.cores names core " + std::to_string(core) + "; " + why);
  }
  if (offload.executor == OffloadExecutor::Cores && offload.cores.empty()) {
    section.complain("executor",
                     named(offload.executor) + " and offload.cores is missing; such as [6, 7]");
  }
  if (offload.cores.size() > BitStage::partitions_max) {
    section.complain("cores", "offload.cores has " + std::to_string(offload.cores.size()) +
                                  " cores; at most " + std::to_string(BitStage::partitions_max) +
                                  " are accepted");
  }
}

}  // namespace

void declare_offload(Section& section, const ConfigPtr& config) {
  OffloadConfig& offload = config->offload;
  section.all_are(KeyKind::Restart);
  section.choice("executor", offload.executor, {"turn", "cores", "dpa"},
                 "The worker itself, threads on cores of their own, or the threads of a DPA (here "
                 "an emulated one).");
  section
      .add({"cores", config::Type::Integer,
            [&offload](const config::Value& value) {
              offload.cores.push_back(static_cast<uint32_t>(value.number));
            },
            "", "Of executor cores: a thread on each, such as [6, 7]."})
      .range(0, 4095)
      .list([&offload] { offload.cores.clear(); });
  section.key("threads", offload.threads, "Of executor dpa, for each of site.cores.")
      .range(1, BitStage::partitions_max);
  section
      .key("stall", offload.stall,
           "Who takes nothing for so long is left, and the worker does his work.")
      .range("1 ms", "10 s");
  section.then([config](Section& here) { check_offload_keys(here, config->offload); });
}

void check_offload(Section& file, const Config& config) {
  const OffloadConfig& offload = config.offload;
  const bool is_whole = offload.executor != OffloadExecutor::Cores || !offload.cores.empty();
  if (offload.executor == OffloadExecutor::Turn || !is_whole) return;
  if (config.wan.port == WanKind::Verbs) {
    if (!config.is_sealed() || !config.pair.seal) return;
    return file.complain("offload", named(offload.executor) +
                                        ", and what crosses is sealed: the worker opens it and "
                                        "has the bits as well; set it to \"turn\"");
  }
  file.complain("offload", named(offload.executor) + ", and wan.port \"" +
                               std::string(name_of(config.wan.port)) +
                               "\" moves bytes: the worker copies them and has the bits as well; "
                               "set it to \"turn\"");
}

}  // namespace cw::site
