// What stands behind the opaque types of sdr.h. A context is an endpoint with one peer, the worker
// that turns it, the regions that its program registered, and the QPs with their handles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/prng.h"
#include "dataplane/sdr/sdk/handles.h"
#include "dataplane/sdr/sdk/platform.h"
#include "dataplane/sdr/sdr.h"
#include "dataplane/sdr/shard.h"

namespace cw::sdk {

/// A registered stretch of memory. Its lkey is life << 16 | index, and never zero.
struct Region {
  cw_context* context = nullptr;
  uint8_t* address = nullptr;
  size_t bytes = 0;
  uint32_t access = CW_ACCESS_LOCAL;
  uint32_t lkey = 0;
  uint16_t life = 0;
  uint32_t uses = 0;  ///< by messages that are not over
};

/// A message on its way out.
struct Sending {
  cw_qp* qp = nullptr;
  sdr::SendHandle message;
  bool is_ended = false;
  uint32_t region_count = 0;  ///< different ones that its pieces lie in
};

/// A posted receive.
struct Receiving {
  cw_qp* qp = nullptr;
  sdr::RecvHandle message;
  Region* region = nullptr;  ///< null: takes no payload
  uint64_t bytes_max = 0;
};

using Sendings = Handles<cw_send_handle, Sending>;
using Receivings = Handles<cw_recv_handle, Receiving>;
using Regions = Handles<cw_mr, Region>;

}  // namespace cw::sdk

namespace cw::sdk {

/// Who does the bitmap work, for a device whose port has these facts; null: the device copies, and
/// the turn has the bits. Errors: what a program may not ask for, threads or a DPA that cannot be
/// had.
Result<std::unique_ptr<BitStage>> make_stage(const cw_device_attr& attr, const PortFacts& port);
/// As cw_context_offload_why() says. `stage` may be null.
std::string why_left(const BitStage* stage);

}  // namespace cw::sdk

struct cw_qp {
  cw_context* context;
  cw::sdr::StreamConfig config;
  uint32_t pieces_max;
  std::vector<double> params;
  cw::sdr::Source source;  // false: not enabled
  cw::sdr::Sink sink;
  // An entry per place of a message: a place is free again only after its handle is gone.
  cw::sdk::Sendings sendings{config.messages};
  cw::sdk::Receivings receivings{config.messages};
  std::unique_ptr<cw::sdk::Region*[]> regions;  // pieces_max of each sending

  std::span<cw::sdk::Region*> regions_of(const cw::sdk::Sending& sending) {
    return {&regions[size_t{sending.message.place} * pieces_max], pieces_max};
  }
};

struct cw_context {
  /// Takes what the attributes say of memory and secrets; the link is made next, by open().
  cw_context(std::unique_ptr<cw::sdk::Device> opened, const cw_device_attr& attr);
  ~cw_context();
  cw_context(const cw_context&) = delete;
  cw_context& operator=(const cw_context&) = delete;

  /// Makes the one link. Errors: as Endpoint::add_link().
  cw::Result<void> open(const cw_device_attr& attr);
  bool is_up() const { return link->is_up(); }
  /// The region with this key when all of [address, address + bytes) lies in it; null, and the
  /// sentence is kept, when not.
  cw::sdk::Region* find_region(uint32_t lkey, const void* address, uint64_t bytes);

  std::unique_ptr<cw::sdk::Device> device;
  cw::Prng prng;
  bool is_seeded;
  cw::Instant now;  // of the latest turn
  bool has_turned = false;
  std::string why, offload_why;

  size_t qps_max;
  std::vector<std::unique_ptr<cw_qp>> qps;
  std::vector<double> fallback_params;
  cw::sdk::Regions regions;
  cw::Ring<uint32_t> free_regions;  // the longest free first, so that a stale key stays stale long

  cw::sdr::Link* link = nullptr;
  cw::sdr::Shard sdr;
};
