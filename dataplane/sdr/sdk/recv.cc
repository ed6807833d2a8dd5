#include "dataplane/sdr/sdk/context.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;

namespace {

Receiving* find(const cw_recv_handle* handle) {
  Receiving* receiving = Receivings::find(handle);
  if (receiving == nullptr) misuse("the receive handle is null or was completed before");
  return receiving;
}

int check_receiver(const cw_qp* qp, const cw_recv_wr* wr, const void* handle) {
  if (qp == nullptr) return misuse("the QP is null");
  if (wr == nullptr) return misuse("the work request is null");
  if (handle == nullptr) return misuse("the place for the handle is null");
  if (!qp->sink) return misuse("QP %u was created without recv_enable", qp->config.qp);
  if (wr->max_length > qp->config.message_bytes_max()) {
    return misuse("max_length is %llu, and messages of this QP have %llu bytes at most",
                  static_cast<unsigned long long>(wr->max_length),
                  static_cast<unsigned long long>(qp->config.message_bytes_max()));
  }
  return CW_SUCCESS;
}

}  // namespace

int cw_recv_post(cw_qp* qp, const cw_recv_wr* wr, cw_recv_handle** handle) {
  if (check_receiver(qp, wr, handle) != CW_SUCCESS) return CW_ERROR;
  Region* region = nullptr;
  if (wr->max_length > 0) {
    region = qp->context->find_region(wr->lkey, wr->address, wr->max_length);
    if (region == nullptr) return CW_ERROR;
    if (region->access != CW_ACCESS_REMOTE_WRITE) {
      return misuse("the region of lkey 0x%x was registered without CW_ACCESS_REMOTE_WRITE",
                    wr->lkey);
    }
  }
  const auto message = qp->sink.try_post({static_cast<uint8_t*>(wr->address), wr->max_length});
  if (!message) return CW_RETRY;
  if (region != nullptr) ++region->uses;
  *handle = qp->receivings.lend(message->place);
  qp->receivings.at(message->place) = {
      .qp = qp, .message = *message, .region = region, .bytes_max = wr->max_length};
  return CW_SUCCESS;
}

int cw_recv_bitmap_get(cw_recv_handle* handle, const uint8_t** bitmap, size_t* bytes) {
  const Receiving* receiving = find(handle);
  if (receiving == nullptr) return CW_ERROR;
  if (bitmap == nullptr || bytes == nullptr) return misuse("the place for the bitmap is null");
  const auto bits = receiving->qp->sink.chunk_bitmap(receiving->message);
  *bitmap = bits.data();
  *bytes = bits.size();
  return CW_SUCCESS;
}

int cw_recv_bitmap_chunk_expand(cw_recv_handle* handle, uint64_t chunk, uint64_t* slots,
                                size_t words) {
  const Receiving* receiving = find(handle);
  if (receiving == nullptr) return CW_ERROR;
  const sdr::StreamConfig& config = receiving->qp->config;
  const size_t words_needed = (config.chunk_slots + 63) / 64;
  if (slots == nullptr || words < words_needed) {
    return misuse("a chunk has %u slots: %zu words are needed, %zu were given", config.chunk_slots,
                  words_needed, slots == nullptr ? size_t{0} : words);
  }
  const uint64_t chunk_bytes = uint64_t{config.chunk_slots} * config.payload_bytes;
  const uint64_t chunks = (receiving->bytes_max + chunk_bytes - 1) / chunk_bytes;
  if (chunk >= chunks) {
    return misuse("chunk %llu is out of range: the receive has %llu",
                  static_cast<unsigned long long>(chunk), static_cast<unsigned long long>(chunks));
  }
  receiving->qp->sink.slots_of_chunk(receiving->message, chunk, {slots, words});
  return CW_SUCCESS;
}

int cw_recv_imm_get(cw_recv_handle* handle, uint32_t* imm) {
  const Receiving* receiving = find(handle);
  if (receiving == nullptr) return CW_ERROR;
  if (imm == nullptr) return misuse("the place for the immediate is null");
  const sdr::Sink stream = receiving->qp->sink;
  if (const auto immediate = stream.immediate(receiving->message)) {
    *imm = *immediate;
    return CW_SUCCESS;
  }
  const auto has_immediate = stream.info(receiving->message).has_immediate;
  return has_immediate == false ? misuse("the message was sent without an immediate") : CW_RETRY;
}

int cw_recv_poll(cw_recv_handle* handle, cw_recv_info* info) {
  const Receiving* receiving = find(handle);
  if (receiving == nullptr) return CW_ERROR;
  if (info == nullptr) return misuse("the place for the info is null");
  const sdr::RecvInfo known = receiving->qp->sink.info(receiving->message);
  info->status = static_cast<int32_t>(known.status);
  info->slots_in_place = known.slots_in_place;
  info->bytes = known.bytes.value_or(UINT64_MAX);
  return CW_SUCCESS;
}

int cw_recv_complete(cw_recv_handle* handle) {
  Receiving* receiving = find(handle);
  if (receiving == nullptr) return CW_ERROR;
  if (receiving->region != nullptr) --receiving->region->uses;
  CW_ASSERT(receiving->qp->sink.complete(receiving->message, receiving->qp->context->now));
  Receivings::end(handle);
  return CW_SUCCESS;
}
