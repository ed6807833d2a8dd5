// Whose a host's packet is, as flows are counted, over whatever hosts send: nothing is read behind
// what was given (libFuzzer's block is of exactly its size), and addresses are addresses.
#include <arpa/inet.h>

#include "control/daemon/capture/flows.h"
#include "dataplane/base/assert.h"

namespace {

using cw::daemon::FlowKey;

bool is_address(const std::string& text) {
  in6_addr any{};
  return inet_pton(AF_INET, text.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FlowKey key;
  if (!cw::daemon::try_read_flow({bytes, size}, static_cast<uint32_t>(size), key)) return 0;
  CW_ASSERT(is_address(key.from) && is_address(key.to));
  return 0;
}
