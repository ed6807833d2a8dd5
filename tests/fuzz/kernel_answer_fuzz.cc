// Answers of the kernel about routes and neighbours, which a port over DPDK asks it for: any bytes,
// as a datagram and as the message inside one.
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/kernel/kernel_answer.h"

namespace {
using namespace cw;

constexpr uint32_t sequence = 1;

void run_message(std::span<const uint8_t> bytes) {
  const std::vector<uint8_t> message(bytes.begin(), bytes.end());  // the sanitizer sees its ends
  for (const IpVersion version : {IpVersion::V4, IpVersion::V6}) {
    const auto route = parse_kernel_route(message, version);
    if (route && route->router) CW_ASSERT(route->router->version == version);
    CW_ASSERT(!route || !(route->is_local && route->is_to_host));
  }
  const auto neighbour = parse_kernel_neighbour(message);
  CW_ASSERT(!neighbour || !message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const auto message = kernel_answer(bytes, sequence);
  CW_ASSERT(!message || message->size() <= size);
  if (message) run_message(*message);
  run_message(bytes);
  return 0;
}
