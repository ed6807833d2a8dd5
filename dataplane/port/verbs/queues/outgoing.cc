#include "dataplane/port/verbs/queues/outgoing.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/port/verbs/queues/tag.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::verbs {
namespace {

/// Both leave by one queue.
bool is_same_way(const Send& a, const Send& b) {
  if (a.form != b.form) return false;
  if (a.form != Form::Write) return a.source_qp == b.source_qp;
  return a.head.target_qp == b.head.target_qp && a.peer == b.peer && a.path == b.path;
}

}  // namespace

Outgoing::Outgoing(ibv_cq& completions, PacketStore& packets, Memory& memory, Peers& peers,
                   std::span<Epoch> epochs, std::span<ControlQueue> controls, const Groups& groups,
                   SenderIndex& index, size_t held_max)
    : completions_(completions),
      packets_(packets),
      memory_(memory),
      peers_(peers),
      epochs_(epochs),
      controls_(controls),
      groups_(groups),
      index_(index),
      done_(held_max + limits::burst_packets_max) {
  for (size_t i = 0; i < row_.requests.size(); ++i) {
    row_.requests[i].sg_list = row_.pieces[i].data();
    if (i > 0) row_.requests[i - 1].next = &row_.requests[i];
  }
}

size_t Outgoing::send(std::span<const Send> sends, Instant now) {
  size_t count = 0;
  while (count < sends.size() && done_.capacity() - done_.count() >= limits::burst_packets_max) {
    const size_t sent = send_row(sends.subspan(count), now);
    if (sent == 0) break;
    count += sent;
  }
  counts_.refused += count < sends.size();
  return count;
}

/// Takes those that leave by one queue; returns how many. None: it is full.
size_t Outgoing::send_row(std::span<const Send> sends, Instant now) {
  row_.sender = sender_of(sends.front());
  if (row_.sender == nullptr) {
    ++counts_.lost;
    lose(sends.front());
    return 1;
  }
  row_.count = row_.bytes = 0;
  const size_t room = row_.sender->holds.capacity() - row_.sender->holds.count();
  const size_t most = std::min({sends.size(), room, row_.requests.size()});
  size_t taken = 0;
  while (taken < most) {
    const Send& each = sends[taken];
    if (!is_same_way(each, sends.front())) break;
    const Fit fit = add(each);
    if (fit == Fit::Lost && row_.count == 0) {
      lose(each);
      return 1;
    }
    if (fit != Fit::Taken) break;  // those before it first: holds are in the order of leaving
    ++taken;
  }
  return row_.count == 0 ? 0 : post(sends.first(taken), now);
}

Sender* Outgoing::sender_of(const Send& send) {
  if (send.form == Form::Write) {
    Sender* const sender = index_.find(send.peer, {send.head.target_qp, send.path});
    return sender != nullptr && sender->is_whole() ? sender : nullptr;
  }
  if (send.source_qp == group::qpn_default && groups_.queue != nullptr) {
    Sender& sender = groups_.queue->sender;
    return sender.is_whole() ? &sender : nullptr;
  }
  if (send.form != Form::Datagram) return nullptr;
  const size_t place = send.source_qp - control_qpn_default;
  if (place >= controls_.size() || controls_[place].sender.pair == nullptr) return nullptr;
  Sender& sender = controls_[place].sender;
  return sender.is_whole() ? &sender : nullptr;
}

Outgoing::Fit Outgoing::add(const Send& send) {
  ibv_send_wr& request = row_.requests[row_.count];
  if (send.form == Form::DatagramImmediate) return add_slot(send, request);
  if (!try_address(send, request)) return Fit::Lost;
  if (!try_locate(send, row_.pieces[row_.count][0])) return Fit::Full;
  request.num_sge = send.head.payload_bytes > 0;
  request.send_flags = send.head.is_solicited ? IBV_SEND_SOLICITED : 0;
  ++row_.count;
  row_.bytes += send.head.payload_bytes + pad_bytes_for(send.head.payload_bytes);
  return Fit::Taken;
}

/// Of a group, behind its header.
Outgoing::Fit Outgoing::add_slot(const Send& send, ibv_send_wr& request) {
  auto& [prefix, payload] = row_.pieces[row_.count];
  const size_t group = send.peer - size_t{group_peer_first};
  const bool is_addressed = send.peer < group_peer_first ? try_address(send, request)
                                                         : try_address_group(send, group, request);
  if (!is_addressed) return Fit::Lost;
  if (!try_locate(send, payload)) return Fit::Full;
  prefix = groups_.queue->put_prefix(prefix_of(send));
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htobe32(send.head.immediate);
  request.num_sge = 1 + (send.head.payload_bytes > 0);
  request.send_flags = 0;
  ++row_.count;
  const uint32_t bytes = payload_bytes_of(send);
  row_.bytes += bytes + pad_bytes_for(bytes);
  return Fit::Taken;
}

bool Outgoing::try_address(const Send& send, ibv_send_wr& request) {
  if (send.form == Form::Write) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htobe32(send.head.immediate);
    request.wr.rdma = {send.head.address, send.head.key};
    return true;
  }
  CW_DCHECK(send.peer < peers_.count());
  Peer& peer = peers_.at(send.peer);
  const size_t place = send.head.target_qp - control_qpn_default;
  const bool is_well_known = place <= group_link;
  const uint32_t told = is_well_known ? peer.control_qp.load(std::memory_order_relaxed) : 0;
  ibv_ah* const way = peer.ways[send.path].load(std::memory_order_acquire);
  if (is_well_known || way == nullptr) peer.is_wanted.store(true, std::memory_order_relaxed);
  if (way == nullptr) return ++counts_.unresolved, false;
  request.opcode = IBV_WR_SEND;
  request.wr.ud = {way, told != 0 ? told : send.head.target_qp, send.head.key};
  return true;
}

bool Outgoing::try_address_group(const Send& send, size_t group, ibv_send_wr& request) {
  const bool is_known = groups_.multicast != nullptr && group < groups_.multicast->count();
  ibv_ah* const way = is_known ? groups_.multicast->way(group, send.path) : nullptr;
  if (way == nullptr) return ++counts_.unresolved, false;
  request.wr.ud = {way, send.head.target_qp, send.head.key};
  return true;
}

/// Where its payload lies for the device; false: it lies elsewhere, and there is no packet for it.
bool Outgoing::try_locate(const Send& send, ibv_sge& piece) {
  row_.copies[row_.count] = nullptr;
  piece.addr = reinterpret_cast<uintptr_t>(send.payload);
  piece.length = send.head.payload_bytes;
  piece.lkey = packets_.key();
  if (packets_.holds(send.payload) || piece.length == 0) return true;
  const auto key = memory_.find(send.payload);
  if (!key) return try_copy(send, piece);
  piece.lkey = *key;
  return true;
}

/// Repair, which lies in pages that go back to the kernel at rest: a device must not keep them.
bool Outgoing::try_copy(const Send& send, ibv_sge& piece) {
  Packet* const copy = packets_.try_take();
  if (copy == nullptr) return false;
  std::memcpy(copy->data, send.payload, send.head.payload_bytes);
  piece.addr = reinterpret_cast<uintptr_t>(copy->data);
  row_.copies[row_.count] = copy;
  ++counts_.copied;
  counts_.slots_copied += send.form == Form::DatagramImmediate;
  return true;
}

/// The row; returns how many of `sends` that are.
size_t Outgoing::post(std::span<const Send> sends, Instant now) {
  Sender& sender = *row_.sender;
  ibv_send_wr& last = row_.requests[row_.count - 1];
  ibv_send_wr* const behind = std::exchange(last.next, nullptr);
  last.send_flags |= IBV_SEND_SIGNALED;
  last.wr_id = sender.tag | row_.count;
  if (sender.holds.is_empty()) sender.moved = now;
  ibv_send_wr* refused = nullptr;
  const bool is_posted = ibv_post_send(sender.pair.get(), row_.requests.data(), &refused) == 0;
  last.next = behind;
  // What a queue that takes no more has taken of a row is not known: it is begun anew.
  if (!is_posted) sender.is_found_broken = true;
  for (size_t i = 0; i < sends.size(); ++i) {
    const Send& each = sends[i];
    Packet* const copy = row_.copies[i];
    CW_ASSERT(sender.holds.try_push(copy != nullptr ? Sender::Hold{copy, 0}
                                                    : Sender::Hold{each.packet, each.cookie}));
    if (copy != nullptr) release({nullptr, each.cookie});
  }
  sender.psn = (sender.psn + static_cast<uint32_t>(row_.count)) & 0xffffff;
  held_ += row_.count;
  ++counts_.posts;
  counts_.packets += row_.count;
  counts_.bytes += row_.bytes + row_.count * header_bytes_of(sends.front().form);
  return row_.count;
}

bool Outgoing::poll(Instant now) {
  std::array<ibv_wc, 32> completions;
  bool has_broken = false;
  int count = 0;
  do {
    count = ibv_poll_cq(&completions_, completions.size(), completions.data());
    for (int i = 0; i < count; ++i) {
      has_broken |= on_completion(completions[static_cast<size_t>(i)], now);
    }
    counts_.completions += static_cast<uint64_t>(count > 0 ? count : 0);
  } while (count == static_cast<int>(completions.size()));
  return has_broken;
}

bool Outgoing::on_completion(const ibv_wc& completion, Instant now) {
  const Tag tag = Tag::of(completion.wr_id);
  Sender* sender = nullptr;
  if (tag.epoch == Tag::control) {
    sender = &controls_[tag.queue].sender;
  } else if (tag.epoch == Tag::group) {
    sender = &groups_.queue->sender;
  } else if (epochs_[tag.epoch].at() == Stage::Connected) {
    sender = epochs_[tag.epoch].senders[tag.queue].get();
  }
  const bool is_live = sender != nullptr && sender->is_whole() &&
                       Tag::are_of_one_life(sender->tag, completion.wr_id);
  if (!is_live) return false;
  if (completion.status != IBV_WC_SUCCESS) return sender->is_found_broken = true;
  sender->moved = now;
  release(*sender, tag.count);
  return false;
}

void Outgoing::release(Sender& sender, size_t count) {
  CW_ASSERT(count <= sender.holds.count());
  for (size_t i = 0; i < count; ++i) release(sender.holds.pop());
  held_ -= count;
}

void Outgoing::release(const Sender::Hold& hold) {
  if (hold.packet == nullptr) {
    CW_ASSERT(done_.try_push(hold.cookie));
  } else {
    packets_.give_back(hold.packet);
  }
}

size_t Outgoing::take_done(std::span<uint64_t> out) {
  size_t count = 0;
  while (count < out.size() && !done_.is_empty()) out[count++] = done_.pop();
  return count;
}

}  // namespace cw::verbs
