#include "tests/sim/gateway/seal_watch.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/pass/pass.h"

namespace cw::sim {
namespace {

/// Of one index: what an end seals by, and what it may come to seal by.
constexpr size_t candidates_max = 4;

int place_of(int site, size_t peer, uint8_t index) {
  return (site * 1000 + static_cast<int>(peer)) * 256 + index;
}

}  // namespace

std::optional<SealWatch::Sealed> SealWatch::sealed_in(const Packet& packet) {
  Sealed sealed;
  pass::read(packet, sealed.arrival);
  const std::span payload(sealed.arrival.payload, sealed.arrival.head.payload_bytes);
  if (sealed.arrival.form == Form::Other || seal::MessageCheck::is_handshake(payload)) {
    return std::nullopt;
  }
  // What is too short to have a number was not sealed, and opens by no key.
  if (payload.size() >= seal::seal_bytes) {
    sealed.number = read_at<be64>(payload.last(seal::seal_bytes).data()).host();
  }
  return sealed;
}

seal::KeyLog& SealWatch::log_of(int site) {
  auto& log = logs_[site];
  if (log == nullptr) log = std::make_unique<Log>(*this, site);
  return *log;
}

void SealWatch::Log::agreed(const std::string& name, const seal::Agreement& agreement) {
  // "site 3", at the place that WanEnd has it at.
  const int other = std::stoi(name.substr(name.find(' ')));
  const auto peer = static_cast<size_t>(other < site_ ? other - 1 : other - 2);
  std::array<uint8_t, seal::key_bytes> key;
  std::ranges::copy(agreement.send.bytes(), key.begin());
  Session*& known = watch_.by_key_[key];
  if (known != nullptr && watch_.complaint_.empty()) {
    watch_.complaint_ = "site " + std::to_string(site_) + " has a key to send by for a second time";
  }
  Session& made = watch_.sessions_.emplace_back();
  made.key = key;
  made.kind = agreement.kind;
  made.covers_psns = agreement.covers_psns;
  known = &made;
  auto& last = watch_.by_index_[place_of(site_, peer, agreement.send_index)];
  last.push_front(&made);
  if (last.size() > candidates_max) last.pop_back();
}

bool SealWatch::try_open(const Session& session, const Sealed& sealed, Bytes& payload) {
  seal::Sealer sealer({.payload_max = limits::payload_bytes_max});
  // The same key for both directions: this one only opens.
  seal::ShardKeys keys(*cw_aead_openssl(), session.kind, session.key.data(), session.key.data());
  keys.receive_index = static_cast<uint8_t>(sealed.number >> seal::index_shift);
  keys.covers_psns = session.covers_psns;
  CW_ASSERT(sealer.try_order({.what = seal::SealerOrder::What::Add, .keys = &keys, .note = {}}));
  sealer.take_orders(Instant());
  Arrival arrival = sealed.arrival;
  arrival.peer = keys.peer;  // the only one here, whatever the port calls it
  payload.assign(arrival.payload, arrival.payload + arrival.head.payload_bytes);
  arrival.payload = payload.data();  // where it may be opened
  sealer.open(arrival);
  payload.resize(arrival.head.payload_bytes);
  return arrival.form != Form::Other;
}

SealWatch::Session* SealWatch::find(const WanEnd& end, const Sealed& sealed, Bytes& payload) const {
  const auto index = static_cast<uint8_t>(sealed.number >> seal::index_shift);
  const auto found = by_index_.find(place_of(end.site, end.peer, index));
  if (found == by_index_.end()) return nullptr;
  for (Session* each : found->second) {
    if (try_open(*each, sealed, payload)) return each;
  }
  return nullptr;
}

void SealWatch::on_sent(const WanEnd& end, const Packet& packet, Instant) {
  const auto sealed = sealed_in(packet);
  if (!sealed) return;
  Bytes ignored;
  Session* const session = find(end, *sealed, ignored);
  ++sealed_;
  if (!complaint_.empty()) return;
  if (session == nullptr) {
    complaint_ = "site " + std::to_string(end.site) + " sends what is sealed by no key of its";
  } else if (!session->numbers.insert(sealed->number).second) {
    complaint_ = "site " + std::to_string(end.site) + " uses number " +
                 std::to_string(sealed->number) + " a second time under one key";
  }
}

std::optional<std::vector<uint8_t>> SealWatch::open(const WanEnd& end, const Packet& packet) const {
  const auto sealed = sealed_in(packet);
  Bytes payload;
  if (!sealed || find(end, *sealed, payload) == nullptr) return std::nullopt;
  return payload;
}

}  // namespace cw::sim
