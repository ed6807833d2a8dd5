#include "bench/e2e/group_members.h"

#include <stdexcept>
#include <string>
#include <vector>

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

}  // namespace cw::bench
