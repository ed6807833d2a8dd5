#include "bench/e2e/group_members.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "control/units/text.h"

namespace cw::bench {

Json run_members(const lab::Arguments& common, uint32_t members, const StartMember& start) {
  std::vector<std::unique_ptr<lab::Program>> programs;
  for (uint32_t rank = 0; rank < members; ++rank) {
    lab::Arguments own = common;
    own.insert(own.end(), {"--json", "--rank", std::to_string(rank)});
    programs.push_back(start(rank, own));
  }
  std::string out;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    const lab::Outcome outcome = programs[rank]->finish();
    if (outcome.status != 0) throw std::runtime_error(outcome.err);
    if (rank == 0) out = outcome.out;
  }
  return Json::parse(out);
}

std::string message_cells(const Json& report) {
  const Json &steps = report.at("step_us"), &messages = report.at("fct_us");
  const auto ms = [](const Json& times, const char* key) {
    return text_of("%.1f", times.at(key).get<double>() / 1000);
  };
  const double again =
      report.at("slots_sent_again").get<double>() / report.at("slots_sent").get<double>();
  return ms(steps, "mean") + " | " + ms(steps, "max") + " | " + ms(messages, "mean") + " | " +
         ms(messages, "p99") + " | " + text_of("%.2f %%", 100 * again);
}

}  // namespace cw::bench
