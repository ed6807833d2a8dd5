#include <algorithm>
#include <array>
#include <span>

#include "dataplane/message/sdk/door.h"
#include "dataplane/sdr/sdk/attributes.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;
using group::Completion;
using group::Messages;
using group::MessageTicket;
using group::Reason;

static_assert(CW_MESH_CANCELLED == static_cast<int>(Reason::Cancelled) &&
              CW_MESH_LATE == static_cast<int>(Reason::Late) &&
              CW_MESH_UNKNOWN == static_cast<int>(Reason::Unknown) &&
              CW_MESH_UNLIKE_STEP == static_cast<int>(Reason::UnlikeStep) &&
              CW_MESH_UNLIKE_SIZE == static_cast<int>(Reason::UnlikeSize));
static_assert(sizeof(cw_mesh_completion) == 48, "programs have arrays of them");

namespace {

constexpr uint64_t step_bytes_max = uint64_t{1} << 60;  // may be rounded up to whole slots

// A ticket: | 1 a send? | 31 place + 1 | 32 generation |
constexpr uint32_t send_shift = 63, place_shift = 32;

cw_mesh_ticket number_of(const MessageTicket& ticket) {
  return uint64_t{ticket.is_send} << send_shift | (uint64_t{ticket.place} + 1) << place_shift |
         ticket.generation;
}

MessageTicket ticket_of(cw_mesh_ticket number) {
  constexpr uint64_t place_mask = (uint64_t{1} << (send_shift - place_shift)) - 1;
  return {.place = static_cast<uint32_t>((number >> place_shift & place_mask) - 1),
          .generation = static_cast<uint32_t>(number),
          .is_send = number >> send_shift != 0};
}

int over_day(uint64_t deadline_ns) {
  return misuse("deadline_ns is %llu and may be %llu", static_cast<unsigned long long>(deadline_ns),
                static_cast<unsigned long long>(deadline_ns_max));
}

int check(const cw_mesh_send_wr& wr) {
  if (wr.address == nullptr) return misuse("the address is null");
  if ((wr.flags & ~uint32_t{CW_MESH_LAST | CW_MESH_FOR_POOL}) != 0) {
    return misuse("flags are 0x%x and may be CW_MESH_LAST and CW_MESH_FOR_POOL", wr.flags);
  }
  if (wr.step_bytes != 0 && (wr.step_bytes < wr.bytes || wr.step_bytes > step_bytes_max)) {
    return misuse("step_bytes is %llu and must be 0 or from the message's own, %llu, to %llu",
                  static_cast<unsigned long long>(wr.step_bytes),
                  static_cast<unsigned long long>(wr.bytes),
                  static_cast<unsigned long long>(step_bytes_max));
  }
  return wr.deadline_ns > deadline_ns_max ? over_day(wr.deadline_ns) : CW_SUCCESS;
}

int check(const cw_mesh_recv_wr& wr) {
  if (wr.address == nullptr) return misuse("the address is null");
  if (wr.reserved != 0) return misuse("reserved is %u and must be 0", wr.reserved);
  return wr.deadline_ns > deadline_ns_max ? over_day(wr.deadline_ns) : CW_SUCCESS;
}

int check_rank(const char* name, uint32_t rank, const Messages& messages) {
  const uint32_t members = messages.membership().members();
  return rank < members ? CW_SUCCESS
                        : misuse("%s is %u and must be below members, %u", name, rank, members);
}

int finish(const Messages::Posted& posted, cw_mesh_ticket* ticket) {
  if (!posted) {
    return posted.error().is_for_now ? CW_RETRY : misuse("%s", posted.error().why.c_str());
  }
  if (ticket != nullptr) *ticket = number_of(*posted);
  return CW_SUCCESS;
}

cw_mesh_completion shown(const Completion& completion) {
  return {.cookie = completion.cookie,
          .bytes = completion.bytes,
          .peer = completion.peer,
          .step = completion.step.value(),
          .message = group::number_of(completion.message),
          .status = completion.is_whole ? CW_MESH_WHOLE : static_cast<int32_t>(completion.reason),
          .is_send = completion.is_send,
          .is_of_pool = group::is_for_pool(completion.message),
          .is_of_other_end = completion.is_of_other_end,
          .reserved = 0};
}

}  // namespace

int cw_mesh_send(cw_mesh* mesh, const cw_mesh_send_wr* given, cw_mesh_ticket* ticket) {
  if (mesh == nullptr) return misuse("the mesh is null");
  const auto wr = copy_attributes(given, sizeof(cw_mesh_send_wr), "cw_mesh_send_wr");
  if (!wr || check(*wr) != CW_SUCCESS) return CW_ERROR;
  if (check_rank("to", wr->to, mesh->messages()) != CW_SUCCESS) return CW_ERROR;
  const group::SendPosting posting{.to = static_cast<uint16_t>(wr->to),
                                   .step = group::Step(wr->step),
                                   .memory = static_cast<const uint8_t*>(wr->address),
                                   .bytes = wr->bytes,
                                   .step_bytes = wr->step_bytes,
                                   .cookie = wr->cookie,
                                   .deadline = duration_or(wr->deadline_ns, {}),
                                   .is_last = (wr->flags & CW_MESH_LAST) != 0,
                                   .is_for_pool = (wr->flags & CW_MESH_FOR_POOL) != 0};
  return finish(mesh->messages().post_send(posting, mesh->member.now()), ticket);
}

int cw_mesh_recv(cw_mesh* mesh, const cw_mesh_recv_wr* given, cw_mesh_ticket* ticket) {
  if (mesh == nullptr) return misuse("the mesh is null");
  const auto wr = copy_attributes(given, sizeof(cw_mesh_recv_wr), "cw_mesh_recv_wr");
  if (!wr || check(*wr) != CW_SUCCESS) return CW_ERROR;
  if (check_rank("from", wr->from, mesh->messages()) != CW_SUCCESS) return CW_ERROR;
  const group::ReceivePosting posting{.from = static_cast<uint16_t>(wr->from),
                                      .step = group::Step(wr->step),
                                      .memory = static_cast<uint8_t*>(wr->address),
                                      .bytes = wr->bytes,
                                      .cookie = wr->cookie,
                                      .deadline = duration_or(wr->deadline_ns, {})};
  return finish(mesh->messages().post_receive(posting, mesh->member.now()), ticket);
}

int cw_mesh_post_pool(cw_mesh* mesh, void* address, uint64_t cookie) {
  if (mesh == nullptr) return misuse("the mesh is null");
  if (address == nullptr) return misuse("the address is null");
  if (!mesh->has_pool) return misuse("pool_bytes was 0 when the mesh was created: it has no pool");
  const Messages& messages = mesh->messages();
  if (!messages.failure().empty()) return misuse("%s", messages.failure().c_str());
  const group::PoolPosting posting{.memory = static_cast<uint8_t*>(address), .cookie = cookie};
  return mesh->messages().try_post_pool(posting) ? CW_SUCCESS : CW_RETRY;
}

int cw_mesh_cancel(cw_mesh* mesh, cw_mesh_ticket number) {
  if (mesh == nullptr) return misuse("the mesh is null");
  const MessageTicket ticket = ticket_of(number);
  if (ticket.place >= (ticket.is_send ? mesh->sends_max : mesh->receives_max)) {
    return misuse("the ticket is 0x%llx, which no post has had",
                  static_cast<unsigned long long>(number));
  }
  mesh->messages().cancel(ticket, mesh->member.now());
  return CW_SUCCESS;
}

int cw_mesh_poll(cw_mesh* mesh, cw_mesh_completion* out, int capacity) {
  if (mesh == nullptr) return misuse("the mesh is null"), -1;
  if (capacity < 0) return misuse("the capacity is %d and must not be negative", capacity), -1;
  if (out == nullptr && capacity > 0) return misuse("the place for completions is null"), -1;
  std::array<Completion, 16> ended;
  int count = 0;
  for (size_t wanted = ended.size(), got = wanted; got == wanted && count < capacity;) {
    wanted = std::min(ended.size(), static_cast<size_t>(capacity - count));
    got = mesh->messages().poll(std::span(ended).first(wanted));
    for (const Completion& each : std::span(ended).first(got)) out[count++] = shown(each);
  }
  return count;
}

const char* cw_mesh_status_text(int status) {
  switch (status) {
    case CW_MESH_WHOLE:
      return "every byte lies at the receiver";
    case CW_MESH_CANCELLED:
      return "given up by the program";
    case CW_MESH_LATE:
      return "not whole by its deadline";
    case CW_MESH_UNKNOWN:
      return "not known any more, what has become of it";
    case CW_MESH_UNLIKE_STEP:
      return "posted by both ends, in different steps";
    case CW_MESH_UNLIKE_SIZE:
      return "posted by both ends, with different numbers of bytes";
    default:
      return "no status of a message";
  }
}
