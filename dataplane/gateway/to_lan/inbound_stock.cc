#include "dataplane/gateway/to_lan/inbound_stock.h"

#include <string>
#include <utility>

#include "dataplane/base/memory/stock.h"

namespace cw::gateway {
namespace {

constexpr uint64_t memory_bytes_max = uint64_t{1} << 40;  // more than a machine has

size_t messages_of(const InboundStockOptions& options) {
  return Stock::count_for(options.messages, options.streams);
}

size_t frames_of(const InboundStockOptions& options) {
  return Stock::count_for(options.frames, options.streams);
}

size_t buckets_of(const InboundStockOptions& options) {
  return Stock::count_for(options.buckets, options.streams);
}

}  // namespace

uint64_t InboundStockOptions::memory_bytes() const {
  // Per slot: its payload, what the reader keeps of it, and its row in the order.
  const uint64_t slot_bytes = payload_bytes_max + sizeof(SlotRead) + sizeof(FrameRow);
  const uint64_t frame_bytes = sizeof(Frame) + 48;  // and its places in rows
  return messages_of(*this) * data_slots_max * slot_bytes + frames_of(*this) * frame_bytes +
         buckets_of(*this) * BucketStock::bytes_each;
}

Result<std::unique_ptr<InboundStock>> InboundStock::make(const InboundStockOptions& options,
                                                         Drops& drops) {
  const uint64_t bytes = messages_of(options) * options.message_bytes();
  LargeMemory memory;
  if (bytes <= memory_bytes_max) memory = make_large_memory(bytes);
  if (!memory) {
    return failure("no memory for " + std::to_string(messages_of(options)) + " messages of " +
                   std::to_string(options.message_bytes()) +
                   " bytes to arrive in; lower `messages` or `message`, or add memory");
  }
  return std::unique_ptr<InboundStock>(new InboundStock(options, std::move(memory), drops));
}

InboundStock::InboundStock(const InboundStockOptions& options, LargeMemory memory, Drops& drops)
    : memory_(std::move(memory)),
      buffers_({memory_.get(), messages_of(options) * options.message_bytes()},
               options.message_bytes()),
      rows_(messages_of(options), options.data_slots_max),
      frames_(frames_of(options)),
      buckets_(buckets_of(options)),
      drops_(drops) {}

}  // namespace cw::gateway
