#include "tests/sim/rnic.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/pass/pass.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sim {
namespace {

constexpr size_t posted_max = 4 * limits::burst_packets_max;
/// Devices count from a number of their own, and control queues come first.
constexpr uint32_t number_first = 17;

/// None of this process's memory, so that every run has the same; no two windows meet.
uint64_t address_of(uint32_t key) { return uint64_t{key} << 32; }

}  // namespace

Rnic::Rnic(Port& wire, uint64_t seed)
    : wire_(wire),
      facts_(wire.facts()),
      number_next_(number_first + static_cast<uint32_t>(limits::links_max)),
      prng_(seed) {
  facts_.name = "rnic";
  facts_.places_payload = true;
  facts_.sees_psns = false;
  facts_.numbers_by_qp = true;
}

Rnic::~Rnic() {
  end_arrivals();
  for (const Send& send : posted_) {
    if (send.packet != nullptr) wire_.give_back({&send.packet, 1});
  }
}

// ---- out ----

size_t Rnic::send(std::span<const Send> sends, Instant) {
  const size_t count = std::min(sends.size(), posted_max - posted_.size());
  posted_.insert(posted_.end(), sends.begin(), sends.begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void Rnic::transmit(Instant now) {
  while (!posted_.empty() && try_transmit(posted_.front(), now)) posted_.pop_front();
}

bool Rnic::try_transmit(Send send, Instant now) {
  Packet* packet = nullptr;
  if (wire_.take_burst({&packet, 1}) == 0) return false;
  const auto route = psns_.find({send.peer, send.head.target_qp, send.path});
  if (send.form == Form::Write && route == psns_.end()) {
    ++strays_;
    wire_.give_back({&packet, 1});
  } else {
    if (send.form == Form::Write) {
      send.head.psn = route->second;
      route->second = route->second + 1;
    }
    CW_ASSERT(pass::write(send, *packet, /*port_gathers=*/false));
    CW_ASSERT(wire_.tx_burst({&packet, 1}, now) == 1);
  }
  if (send.packet != nullptr) {
    wire_.give_back({&send.packet, 1});
  } else {
    done_.push_back(send.cookie);
  }
  return true;
}

size_t Rnic::take_done(std::span<uint64_t> out) {
  const size_t count = std::min(out.size(), done_.size());
  const auto end = done_.begin() + static_cast<ptrdiff_t>(count);
  std::copy(done_.begin(), end, out.begin());
  done_.erase(done_.begin(), end);
  return count;
}

// ---- in ----

size_t Rnic::receive(std::span<Arrival> out, Instant now) {
  CW_ASSERT(arrived_count_ == 0);
  transmit(now);
  std::array<Packet*, limits::burst_packets_max> burst;
  const size_t came =
      wire_.rx_burst(std::span(burst).first(std::min(out.size(), burst.size())), now);
  size_t count = 0;
  for (Packet* packet : std::span(burst).first(came)) {
    Arrival& arrival = out[count];
    const bool is_taken = try_take(*packet, arrival);
    count += is_taken;
    if (is_taken && arrival.form == Form::Datagram) {
      arrived_[arrived_count_++] = packet;
    } else {
      wire_.give_back({&packet, 1});
    }
  }
  return count;
}

bool Rnic::try_take(const Packet& packet, Arrival& arrival) {
  pass::read(packet, arrival);
  if (arrival.form == Form::Datagram) {
    const uint32_t place = arrival.head.target_qp - number_first;
    if (place < limits::links_max) arrival.head.target_qp = control_qpn_default + place;
    if (place >= limits::links_max && !hears_usual_) return ++strays_, false;
    return true;
  }
  const auto queue = queues_.find(arrival.head.target_qp);
  if (arrival.form != Form::Write || queue == queues_.end() ||
      queue->second.name.first != arrival.peer) {
    return ++strays_, false;
  }
  if (!try_place(arrival)) return false;
  arrival.head.target_qp = queue->second.ours;
  return true;
}

void Rnic::end_arrivals() {
  wire_.give_back({arrived_.data(), arrived_count_});
  arrived_count_ = 0;
}

/// What is left of the arrival is what a completion says.
bool Rnic::try_place(Arrival& arrival) {
  const SlotWrite head = arrival.head;
  const auto window = windows_.find(head.key);
  if (window == windows_.end()) return ++refused_, false;
  const std::span<uint8_t> memory = window->second;
  const uint64_t offset = head.address - address_of(head.key);
  if (offset > memory.size() || memory.size() - offset < head.payload_bytes) {
    return ++refused_, false;
  }
  if (head.payload_bytes > 0) std::memcpy(&memory[offset], arrival.payload, head.payload_bytes);
  arrival.head = {};
  arrival.head.immediate = head.immediate;
  arrival.head.payload_bytes = head.payload_bytes;
  arrival.payload = nullptr;
  arrival.path = 0;
  arrival.ecn = arrival.dscp = 0;
  return true;
}

Window Rnic::open_window(std::span<uint8_t> memory) {
  uint32_t key = 0;
  while (key == 0 || windows_.contains(key)) key = static_cast<uint32_t>(prng_.next());
  windows_[key] = memory;
  return {.address = address_of(key), .key = key};
}

// ---- queues ----

bool Rnic::is_first_asking(Name name, size_t what) { return asked_.emplace(name, what).second; }

bool Rnic::try_open_queues(uint16_t peer, uint32_t first, std::span<uint32_t> numbers) {
  const Name name(peer, first);
  if (is_first_asking(name, 0)) return false;
  uint32_t ours = first;
  for (uint32_t& number : numbers) {
    number = number_next_++;
    queues_[number] = {.name = name, .ours = ours++};
  }
  return true;
}

bool Rnic::try_connect_queues(uint16_t peer, uint32_t first, std::span<const SendQueue> queues) {
  if (is_first_asking({peer, first}, 1)) return false;
  for (const SendQueue& queue : queues) {
    const Route route(peer, queue.target_qp, queue.path);
    psns_[route] = {};
    routes_[{peer, first}].push_back(route);
  }
  return true;
}

void Rnic::close_queues(uint16_t peer, uint32_t first) {
  const Name name(peer, first);
  std::erase_if(queues_, [&](const auto& each) { return each.second.name == name; });
  for (const Route& route : routes_[name]) psns_.erase(route);
  routes_.erase(name);
  asked_.erase({name, 0});
  asked_.erase({name, 1});
}

uint32_t Rnic::control_queue(uint32_t ours) const {
  return number_first + (ours - control_qpn_default);
}

}  // namespace cw::sim
