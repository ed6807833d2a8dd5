// Descriptors of ports that outlive the process: somebody outside, a service manager, keeps what a
// port has made, and hands it to the port's next life. A TUN device so keeps its addresses, routes
// and what hosts send meanwhile; a socket what peers send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cw {

/// Thread: one at a time. Cost: slow; at start.
class DescriptorStore {
 public:
  virtual ~DescriptorStore() = default;

  /// What an earlier life has left under names that begin so, and nobody has taken; sorted.
  virtual std::vector<std::string> names(std::string_view prefix) const = 0;
  /// It stays the store's; -1: there is none.
  virtual int look_at(const std::string& name) const = 0;
  /// It is the caller's from now on, to close; outside it stays.
  virtual int take(const std::string& name) = 0;
  /// Keeps a duplicate outside, for the next life. That it cannot be is no error.
  virtual void keep(const std::string& name, int fd) = 0;
  /// Closes all under names that begin so, here and outside, before it returns, and tells people.
  virtual void let_go(std::string_view prefix, const std::string& why) = 0;
};

/// Of one queue of several.
inline std::string queue_name(std::string_view port, size_t queue, size_t queues) {
  return std::string(port) + "-" + std::to_string(queue) + "-of-" + std::to_string(queues);
}

/// Leaves either all queues of a port there or none: the kernel numbers them, and anew when one is
/// missing. `misfit` says of a descriptor why the port cannot have it, or nothing.
template <class Misfit>
void admit_queues(DescriptorStore& store, std::string_view port, size_t queues,
                  const Misfit& misfit) {
  const std::string prefix = std::string(port) + "-";
  const std::vector<std::string> found = store.names(prefix);
  if (found.empty()) return;
  std::vector<std::string> wanted;
  wanted.reserve(queues);
  for (size_t i = 0; i < queues; ++i) wanted.push_back(queue_name(port, i, queues));
  std::ranges::sort(wanted);
  if (found != wanted) return store.let_go(prefix, "they are not the queues of this file");
  for (const std::string& name : wanted) {
    const std::string why = misfit(store.look_at(name));
    if (!why.empty()) return store.let_go(prefix, why);
  }
}

}  // namespace cw
