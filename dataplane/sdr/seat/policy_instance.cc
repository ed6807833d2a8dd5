#include "dataplane/sdr/seat/policy_instance.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataplane/base/limits.h"

namespace cw::sdr {
namespace {

/// Fills an empty function with one that does nothing, whatever its arguments.
template <class... Arguments>
void fill(void (*&function)(Arguments...)) {
  if (function == nullptr) function = +[](Arguments...) {};
}

}  // namespace

Result<cw_policy_ops> complete_policy_table(const cw_policy_ops& ops) {
  const std::string name = ops.name == nullptr ? "(nameless)" : ops.name;
  if (ops.abi >> 16 != CW_POLICY_ABI_MAJOR) {
    return failure("policy " + name + " speaks ABI " + std::to_string(ops.abi >> 16) +
                   ", this program " + std::to_string(CW_POLICY_ABI_MAJOR) +
                   ": build it against this version's policy.h");
  }
  // Fields that the policy did not know of yet stay zero and get their defaults below.
  cw_policy_ops table{};
  std::memcpy(&table, &ops, std::min<size_t>(ops.size, sizeof(table)));
  if (table.param_count > limits::policy_params_max) {
    return failure("policy " + name + " has more than " +
                   std::to_string(limits::policy_params_max) + " parameters");
  }
  if (table.create == nullptr || table.destroy == nullptr) {
    return failure("policy " + name + " has no create or no destroy function");
  }
  fill(table.limits);
  fill(table.opened);
  fill(table.appended);
  fill(table.block_closed);
  fill(table.closed);
  fill(table.sent);
  fill(table.refused);
  fill(table.arrived);
  fill(table.lost);
  fill(table.note);
  fill(table.coded);
  fill(table.timer);
  fill(table.expired);
  fill(table.link);
  // Not budget: what nobody hears need not be watched.
  fill(table.step);
  fill(table.drain);
  fill(table.resume);
  fill(table.ended);
  fill(table.departed);
  return table;
}

PolicyInstance::PolicyInstance(const cw_policy_ops& ops, const PolicyChoice& choice,
                               const cw_env& env)
    : ops_(ops),
      origin_(choice.ops),
      params_(choice.params.begin(), choice.params.end()),
      env_(env),
      state_stride_((ops.message_state_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t)),
      state_(state_stride_ * env.messages, &memory_) {
  env_.params = params_.data();
  env_.take = [](void* memory, size_t bytes) {
    return static_cast<LazyMemory*>(memory)->take(bytes);
  };
  env_.memory = &own_;
  env_.abi = CW_POLICY_ABI;
}

Result<std::unique_ptr<PolicyInstance>> PolicyInstance::make(const PolicyChoice& choice,
                                                             const cw_env& env) {
  const auto table = complete_policy_table(*choice.ops);
  if (!table) return std::unexpected(table.error());
  std::unique_ptr<PolicyInstance> made(new PolicyInstance(*table, choice, env));
  // What refuses to start has nothing to destroy.
  made->ops_.destroy = [](cw_policy*) {};
  char why[256] = "";
  const int error = table->create(&made->env_, &made->policy_, why, sizeof(why));
  if (error != 0 || made->policy_ == nullptr) {
    return failure(std::string("policy ") + table->name + " refused to start: " + why);
  }
  made->ops_.destroy = table->destroy;
  return made;
}

}  // namespace cw::sdr
