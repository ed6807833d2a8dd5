#include <bit>

#include "dataplane/collective/sdk/door.h"
#include "dataplane/sdr/sdk/attributes.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;
using group::Group;
using group::OperationView;
using group::Posting;
using group::Stage;

static_assert(CW_ELEMENT_NONE == static_cast<int>(group::ElementType::Bytes) &&
              CW_ELEMENT_F32 == static_cast<int>(group::ElementType::F32) &&
              CW_ELEMENT_BF16 == static_cast<int>(group::ElementType::Bf16));
static_assert(std::endian::native == std::endian::little, "bits of words are bits of bytes");

namespace {

int find(const cw_request* handle, Request*& request) {
  request = Requests::find(handle);
  return request == nullptr ? misuse("the request is null or was released before") : CW_SUCCESS;
}

/// The lent entry goes with the operation's step: there are as many as may be open.
int post(cw_group* group, const Posting& posting, cw_request** request) {
  const auto step = group->end->group().post(posting, group->member.now());
  if (!step) return step.error().is_for_now ? CW_RETRY : misuse("%s", step.error().why.c_str());
  const size_t place = step->value() % Group::operations_max;
  *request = group->requests.lend(place);
  group->requests.at(place) = {.group = group, .step = *step};
  return CW_SUCCESS;
}

/// What the operation needs of it is there. False: the sentence is kept.
bool check(const cw_coll_wr& wr, const Posting& posting, uint32_t members) {
  if (wr.root >= members) {
    return misuse("root is %u and must be below members, %u", wr.root, members), false;
  }
  if (wr.root != 0 && posting.operation != group::Operation::Broadcast) {
    return misuse("root is %u and must be 0: only a broadcast has one", wr.root), false;
  }
  if (wr.element > CW_ELEMENT_BF16 || wr.reserved != 0) {
    return misuse("element is %u and must be one of cw_element; reserved is %u and must be 0",
                  wr.element, wr.reserved),
           false;
  }
  if (posting.has_landing() && wr.address == nullptr) return misuse("the address is null"), false;
  if (posting.is_added_up() && (wr.input == nullptr || wr.output == nullptr)) {
    return misuse("input or output is null"), false;
  }
  return true;
}

int post(cw_group* group, group::Operation operation, const cw_coll_wr* given,
         cw_request** request) {
  if (group == nullptr) return misuse("the group is null");
  if (request == nullptr) return misuse("the place for the request is null");
  const auto wr = copy_attributes(given, sizeof(cw_coll_wr), "cw_coll_wr");
  if (!wr) return CW_ERROR;
  const Posting posting{.operation = operation,
                        .root = static_cast<uint16_t>(wr->root),
                        .element = static_cast<group::ElementType>(wr->element),
                        .bytes = wr->bytes,
                        .memory = static_cast<uint8_t*>(wr->address),
                        .input = static_cast<const uint8_t*>(wr->input),
                        .output = static_cast<uint8_t*>(wr->output)};
  if (!check(*wr, posting, group->end->group().membership().members())) return CW_ERROR;
  return post(group, posting, request);
}

int32_t status_of(const OperationView& view) {
  if (view.stage == Stage::Done) return CW_REQUEST_DONE;
  if (view.stage == Stage::Failed) return CW_REQUEST_FAILED;
  return view.is_readable ? CW_REQUEST_READABLE : CW_REQUEST_OPEN;
}

}  // namespace

int cw_broadcast(cw_group* group, const cw_coll_wr* wr, cw_request** request) {
  return post(group, group::Operation::Broadcast, wr, request);
}

int cw_allgather(cw_group* group, const cw_coll_wr* wr, cw_request** request) {
  return post(group, group::Operation::Allgather, wr, request);
}

int cw_reduce_scatter(cw_group* group, const cw_coll_wr* wr, cw_request** request) {
  return post(group, group::Operation::ReduceScatter, wr, request);
}

int cw_allgather_reduce_scatter(cw_group* group, const cw_coll_wr* wr, cw_request** request) {
  return post(group, group::Operation::Pair, wr, request);
}

int cw_barrier(cw_group* group, cw_request** request) {
  cw_coll_wr nothing{};
  nothing.size = sizeof(nothing);
  return post(group, group::Operation::Broadcast, &nothing, request);
}

int cw_request_poll(cw_request* handle, cw_request_info* info) {
  Request* request = nullptr;
  if (find(handle, request) != CW_SUCCESS) return CW_ERROR;
  if (info == nullptr) return misuse("the place for the info is null");
  const OperationView view = request->group->end->group().view(request->step);
  *info = {.status = status_of(view),
           .is_readable = view.is_readable,
           .slots = view.slots,
           .in_place = view.placed,
           .fetched = view.fetched,
           .reserved = 0};
  return CW_SUCCESS;
}

int cw_request_bitmap_get(cw_request* handle, const uint8_t** bitmap, size_t* bytes) {
  Request* request = nullptr;
  if (find(handle, request) != CW_SUCCESS) return CW_ERROR;
  if (bitmap == nullptr || bytes == nullptr) return misuse("the place for the bitmap is null");
  Group& group = request->group->end->group();
  const size_t landing = request->step.value() % Group::operations_max;
  *bytes = (size_t{group.view(request->step).slots} + 7) / 8;
  *bitmap =
      reinterpret_cast<const uint8_t*>(group.endpoint().landing(landing).bits().words().data());
  return CW_SUCCESS;
}

int cw_request_release(cw_request* handle) {
  Request* request = nullptr;
  if (find(handle, request) != CW_SUCCESS) return CW_ERROR;
  if (!request->group->end->group().try_release(request->step)) return CW_RETRY;
  Requests::end(handle);
  return CW_SUCCESS;
}
