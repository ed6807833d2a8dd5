#include <algorithm>

#include "dataplane/sdr/sdk/context.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;

namespace {

/// A year: what is added to a time of ours must stay one.
constexpr uint64_t deadline_ns_max = uint64_t{365} * 86'400 * 1'000'000'000;

Sending* find(const cw_send_handle* handle) {
  Sending* sending = Sendings::find(handle);
  if (sending == nullptr) {
    misuse("the send handle is null or gone: a poll has said that its message is over");
  }
  return sending;
}

int check_sender(const cw_qp* qp, const void* request, const void* handle) {
  if (qp == nullptr) return misuse("the QP is null");
  if (request == nullptr) return misuse("the work request is null");
  if (handle == nullptr) return misuse("the place for the handle is null");
  if (!qp->source) return misuse("QP %u was created without send_enable", qp->config.qp);
  return CW_SUCCESS;
}

int check_hint(const cw_send_hint& hint) {
  if (hint.kind > CW_HINT_STEP) {
    return misuse("hint.kind is %u and must be CW_HINT_NONE, CW_HINT_BULK or CW_HINT_STEP",
                  hint.kind);
  }
  if (hint.is_last > 1) return misuse("hint.is_last is %u and must be 0 or 1", hint.is_last);
  if (hint.deadline_ns <= deadline_ns_max) return CW_SUCCESS;
  return misuse("hint.deadline_ns is %llu and must be at most %llu: leave it 0 for none",
                static_cast<unsigned long long>(hint.deadline_ns),
                static_cast<unsigned long long>(deadline_ns_max));
}

/// What a request opens its message with; either of the two kinds.
template <class Request>
int check_opening(const Request& wr) {
  if ((wr.opcode & ~uint32_t{CW_WR_HINT}) > CW_WR_WRITE_WITH_IMM) {
    return misuse("opcode is %u and must be CW_WR_WRITE or CW_WR_WRITE_WITH_IMM", wr.opcode);
  }
  return (wr.opcode & CW_WR_HINT) != 0 ? check_hint(wr.hint) : CW_SUCCESS;
}

void take_hint(const cw_send_hint& given, Instant now, sdr::MessageHint& hint) {
  hint.kind = static_cast<cw_hint_kind>(given.kind);
  hint.expected_bytes = given.bytes;
  hint.step = given.step;
  hint.is_last = given.is_last != 0;
  if (given.deadline_ns == 0) return;
  hint.deadline = now + Duration::from_ns(static_cast<int64_t>(given.deadline_ns));
}

/// Begins the next message. CW_RETRY when the link is down or all places are taken.
template <class Request>
int open(cw_qp& qp, const Request& wr, cw_send_handle** handle) {
  if (!qp.context->is_up()) return CW_RETRY;
  sdr::MessageHint hint;
  if ((wr.opcode & CW_WR_WRITE_WITH_IMM) != 0) hint.immediate = wr.imm;
  if ((wr.opcode & CW_WR_HINT) != 0) take_hint(wr.hint, qp.context->now, hint);
  const auto message = qp.source.try_open(hint);
  if (!message) return CW_RETRY;
  *handle = qp.sendings.lend(message->place);
  qp.sendings.at(message->place) = {.qp = &qp, .message = *message};
  return CW_SUCCESS;
}

/// The region counts the messages that use it, each once. False when the message has no room for
/// another region.
bool try_use(Sending& sending, Region* region) {
  const std::span<Region*> regions = sending.qp->regions_of(sending);
  const auto used = regions.first(sending.region_count);
  if (std::ranges::find(used, region) != used.end()) return true;
  if (sending.region_count == regions.size()) return false;
  regions[sending.region_count++] = region;
  ++region->uses;
  return true;
}

void close(cw_send_handle* handle, Sending& sending) {
  for (Region* region : sending.qp->regions_of(sending).first(sending.region_count)) {
    --region->uses;
  }
  sending.qp->source.forget(sending.message);
  Sendings::end(handle);
}

}  // namespace

int cw_send_post(cw_qp* qp, const cw_send_wr* wr, cw_send_handle** handle) {
  if (check_sender(qp, wr, handle) != CW_SUCCESS) return CW_ERROR;
  if (check_opening(*wr) != CW_SUCCESS) return CW_ERROR;
  if (wr->length > qp->config.message_bytes_max()) {
    return misuse("the message has %llu bytes and may have %llu",
                  static_cast<unsigned long long>(wr->length),
                  static_cast<unsigned long long>(qp->config.message_bytes_max()));
  }
  Region* region = nullptr;
  if (wr->length > 0) {
    region = qp->context->find_region(wr->lkey, wr->address, wr->length);
    if (region == nullptr) return CW_ERROR;
  }
  if (const int opened = open(*qp, *wr, handle); opened != CW_SUCCESS) {
    return opened;
  }
  Sending& sending = *Sendings::find(*handle);
  if (region != nullptr) CW_ASSERT(try_use(sending, region));
  CW_ASSERT(qp->source.append(sending.message, 0,
                              {static_cast<const uint8_t*>(wr->address), wr->length}));
  CW_ASSERT(qp->source.close(sending.message));
  sending.is_ended = true;
  return CW_SUCCESS;
}

int cw_send_stream_start(cw_qp* qp, const cw_send_start_wr* wr, cw_send_handle** handle) {
  if (check_sender(qp, wr, handle) != CW_SUCCESS) return CW_ERROR;
  if (check_opening(*wr) != CW_SUCCESS) return CW_ERROR;
  return open(*qp, *wr, handle);
}

int cw_send_stream_continue(cw_send_handle* handle, const cw_send_continue_wr* wr) {
  Sending* sending = find(handle);
  if (sending == nullptr) return CW_ERROR;
  if (wr == nullptr) return misuse("the work request is null");
  if (sending->is_ended) return misuse("the message has been ended: nothing can be added to it");
  const sdr::StreamConfig& config = sending->qp->config;
  const uint64_t first = uint64_t{wr->remote_offset} * config.chunk_slots;
  if (first >= config.data_slots_max) {
    return misuse("remote_offset is chunk %u, and the largest message has %u chunks",
                  wr->remote_offset, (config.data_slots_max - 1) / config.chunk_slots + 1);
  }
  if (wr->length == 0) return CW_SUCCESS;
  Region* region = sending->qp->context->find_region(wr->lkey, wr->address, wr->length);
  if (region == nullptr) return CW_ERROR;
  const sdr::Source stream = sending->qp->source;
  if (!stream.is_growing(sending->message)) return CW_SUCCESS;  // it is over
  if (!try_use(*sending, region)) {
    return misuse("a message may use %u regions: raise pieces_max", sending->qp->pieces_max);
  }
  const auto appended = stream.append(sending->message, static_cast<uint32_t>(first),
                                      {static_cast<const uint8_t*>(wr->address), wr->length});
  return appended ? CW_SUCCESS : misuse(appended.error());
}

int cw_send_stream_end(cw_send_handle* handle) {
  Sending* sending = find(handle);
  if (sending == nullptr) return CW_ERROR;
  if (sending->is_ended) return misuse("the message has been ended before");
  const sdr::Source stream = sending->qp->source;
  if (stream.is_growing(sending->message)) {
    if (const auto closed = stream.close(sending->message); !closed) return misuse(closed.error());
  }
  sending->is_ended = true;
  return CW_SUCCESS;
}

int cw_send_cancel(cw_send_handle* handle) {
  Sending* sending = find(handle);
  if (sending == nullptr) return CW_ERROR;
  sending->qp->source.cancel(sending->message, sending->qp->context->now);
  sending->is_ended = true;
  return CW_SUCCESS;
}

int cw_send_poll(cw_send_handle* handle, int* status) {
  Sending* sending = find(handle);
  if (sending == nullptr) return CW_ERROR;
  if (status == nullptr) return misuse("the place for the status is null");
  // A program hears of its message when it may have the memory back.
  const sdr::Source stream = sending->qp->source;
  const bool is_over = stream.is_released(sending->message);
  *status = is_over ? static_cast<int>(stream.status(sending->message)) : CW_STATUS_OPEN;
  if (is_over) close(handle, *sending);
  return CW_SUCCESS;
}

static_assert(int(sdr::MessageStatus::Open) == CW_STATUS_OPEN);
static_assert(int(sdr::MessageStatus::Done) == CW_STATUS_DONE);
static_assert(int(sdr::MessageStatus::GivenUp) == CW_STATUS_GIVEN_UP);
static_assert(int(sdr::MessageStatus::PeerLost) == CW_STATUS_PEER_LOST);
