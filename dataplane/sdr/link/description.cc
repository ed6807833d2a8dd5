// A link's descriptions: ours as items in parts, and the peer's, put together and compared.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/link/control.h"

namespace cw::sdr {
namespace {

/// The peer as sentences name it.
std::string told_peer(const ControlOptions& options) {
  std::string text = "the peer";
  if (!options.peer_site.empty()) text = "peer \"" + options.peer_site + "\"";
  return options.peer_address.empty() ? text : text + " at " + options.peer_address;
}

bool try_write_offers(RecordWriter& writer, uint16_t qp, std::span<const PolicyOffer> offers) {
  return std::ranges::all_of(offers, [&](const PolicyOffer& offer) {
    return writer.try_add(PolicyItem{qp, {offer.name, offer.params}});
  });
}

bool try_write_names(RecordWriter& writer, const ControlOptions& options) {
  return writer.try_add(SiteItem{options.site}) && writer.try_add(PeerItem{options.peer_site});
}

}  // namespace

size_t LinkControl::part_bytes_for(size_t envelope_bytes) {
  constexpr size_t part_header_bytes = 8;
  const size_t room = envelope_bytes - envelope_bytes_min - record_header_bytes - part_header_bytes;
  return std::min(part_bytes_max, room / 4 * 4);
}

uint32_t LinkControl::all_parts(size_t parts) {
  return parts >= 32 ? UINT32_MAX : (1u << parts) - 1;
}

// ---- the peer's ----

void LinkControl::on_description(const Description& part, Instant now) {
  const size_t place = size_t{part.part} * part.part_bytes;
  const bool is_new_shape = peer_parts_ != 0 && (peer_parts_ != part.parts ||
                                                 peer_part_bytes_ != part.part_bytes);  // [C-20]
  if (is_new_shape || place + part.bytes.size() > description_bytes_max) {
    return drops_.add(DropReason::record_body);
  }
  peer_parts_ = part.parts;
  peer_part_bytes_ = part.part_bytes;
  if (peer_parts_received_ >> part.part & 1) return;
  std::memcpy(&peer_description_[place], part.bytes.data(), part.bytes.size());
  peer_parts_received_ |= 1u << part.part;
  if (part.part + 1 == part.parts) peer_description_bytes_ = place + part.bytes.size();
  // The peer learns what has arrived from the next hello.
  hello_due_ = now;
  if (peer_parts_received_ == all_parts(peer_parts_)) read_description(now);
  try_come_up(now);
}

void LinkControl::read_description(Instant now) {
  is_description_read_ = true;
  const std::span<const uint8_t> row(peer_description_.get(), peer_description_bytes_);
  RecordReader framing(row, DescriptionItems::types);
  while (framing.next()) continue;
  // Nothing of a description is used before all of it has been walked [C-14] [C-21].
  bool is_sound = !framing.error();
  RecordReader items(row, DescriptionItems::types);
  const auto act = [&](const auto& item) {
    if constexpr (requires { read_item(item); }) read_item(item);
  };
  while (is_sound) {
    const auto view = items.next();
    if (!view) break;
    is_sound = DescriptionItems::visit(*view, act);
  }
  if (!is_sound) {
    drops_.add(DropReason::record_body);
    mismatch_ = "the peer's description is malformed";
  }
  for (size_t i = 0; i < options_.pair_keys.size(); ++i) {
    const auto& [key, value] = options_.pair_keys[i];
    if (peer_has_key_[i] || !mismatch_.empty()) continue;
    mismatch_ = key;
    mismatch_.append(" is ").append(value);
    mismatch_ += " here and not set at the peer: [pair] keys must be equal";
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (!peer_has_qp_[i] && mismatch_.empty()) {
      mismatch_ = "the peer has no QP " + std::to_string(streams_[i].qp);
    }
  }
  blame_what_they_follow_from();
  if (mismatch_.empty()) mismatch_ = events_.on_offers(peer_offers_, now);
}

/// People write what streams follow from. And who cannot swap policies takes all keys for equal.
void LinkControl::blame_what_they_follow_from() {
  const bool is_stream = mismatch_.starts_with("qp");
  if (differences_.empty() || (!is_stream && !mismatch_.empty())) return;
  if (is_stream || !peer_has(Hello::swaps)) {
    mismatch_ = differences_.front() + ": [pair] keys must be equal";
  }
}

/// False: it is none of those that may differ.
bool LinkControl::try_compare_told(const PairKeyItem& item) {
  const auto ours = std::ranges::find(options_.told_keys, item.pair.name,
                                      &std::pair<std::string, std::string>::first);
  if (ours == options_.told_keys.end()) return false;
  if (ours->second != item.pair.text && differences_.size() < options_.told_keys.size()) {
    differences_.push_back(ours->first + " is " + ours->second + " here and " +
                           printable(item.pair.text) + " at the peer");
  }
  return true;
}

void LinkControl::read_item(const PairKeyItem& item) {
  if (try_compare_told(item)) return;
  const auto ours = std::ranges::find(options_.pair_keys, item.pair.name,
                                      &std::pair<std::string, std::string>::first);
  std::string misfit;
  if (ours == options_.pair_keys.end()) {
    misfit = " is not set here";
  } else {
    peer_has_key_[static_cast<size_t>(ours - options_.pair_keys.begin())] = true;
    if (ours->second == item.pair.text) return;
    misfit = " is " + ours->second + " here";
  }
  if (!mismatch_.empty()) return;
  mismatch_ = printable(item.pair.name) + misfit + " and " + printable(item.pair.text) +
              " at the peer: [pair] keys must be equal";
}

void LinkControl::read_item(const QpItem& item) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const StreamConfig& stream = streams_[i];
    if (stream.qp != item.qp) continue;
    if (item.generations != stream.generations || item.channels != stream.channels) return;
    StreamAddress& address = peer_addresses_[i];
    address.data_key = item.data_key;
    address.repair_key = item.repair_key;
    address.data_base = item.data_base;
    address.repair_base = item.repair_base;
    address.data_window_bytes = item.data_window_bytes;
    address.repair_window_bytes = item.repair_window_bytes;
    address.paths = item.paths;
    address.qpns.resize(item.qpns.size());
    std::ranges::transform(item.qpns, address.qpns.begin(), &be32::host);
    peer_has_qp_[i] = true;
    return;
  }
  if (!mismatch_.empty()) return;
  mismatch_ = "the peer has a QP " + std::to_string(item.qp) + " and this end does not";
}

void LinkControl::read_item(const PolicyItem& item) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].qp != item.qp) continue;
    peer_offers_[i].push_back({std::string(item.policy.name), std::string(item.policy.text)});
  }
}

// All sites may share a key, so who answers at an address need not be who was meant
// (SPEC 5.3).
void LinkControl::read_item(const SiteItem& item) {
  const bool is_said = !item.site.empty() && !options_.peer_site.empty();
  if (!is_said || item.site == options_.peer_site || !mismatch_.empty()) return;
  const std::string theirs = "\"" + printable(item.site) + "\"";
  mismatch_ = told_peer(options_) + " says it is site " + theirs +
              "; correct its address, or name the peer " + theirs + " if that is who was meant";
}

void LinkControl::read_item(const PeerItem& item) {
  const bool is_said = !item.peer.empty() && !options_.site.empty();
  if (!is_said || item.peer == options_.site || !mismatch_.empty()) return;
  mismatch_ = told_peer(options_) + " takes this site for \"" + printable(item.peer) +
              "\", and it is \"" + options_.site +
              "\"; correct the address or the name in its list of peers";
}

// What a hello says of its sender must go with what this end is [C-18].
std::string LinkControl::misfit(const Hello& theirs) const {
  const Hello ours = hello(HelloState::HasProvenYou);
  const auto differ = [](const std::string& what, unsigned here, unsigned there) {
    return what + " is " + std::to_string(here) + " here and " + std::to_string(there) +
           " at the peer: both ends must have the same";
  };
  const std::pair<const char*, uint8_t Hello::*> equal[] = {
      {"message_id_bits", &Hello::message_id_bits},
      {"slot_bits", &Hello::slot_bits},
      {"immediate_bits", &Hello::immediate_bits},
      {"icrc_mode", &Hello::icrc_mode}};
  for (const auto& [name, field] : equal) {
    if (ours.*field != theirs.*field) return differ(name, ours.*field, theirs.*field);
  }
  if (ours.qps != theirs.qps) return differ("the number of QPs", ours.qps, theirs.qps);
  const auto least = [](const std::string& what, unsigned there, size_t need) {
    return what + " of the peer is " + std::to_string(there) + " and must be at least " +
           std::to_string(need);
  };
  if (theirs.payload_bytes < limits::payload_bytes_min) {
    return least("payload_bytes", theirs.payload_bytes, limits::payload_bytes_min);
  }
  if (theirs.control_bytes < control_bytes_first) {
    return least("control_bytes", theirs.control_bytes, control_bytes_first);
  }
  return "";
}

/// Who tells paths apart by QP numbers has one of each path (SPEC 5.3).
std::string LinkControl::paths_misfit() const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const uint16_t told_apart = peer_addresses_[i].paths;
    if (told_apart == 1 || told_apart == peer_paths_) continue;
    return "QP " + std::to_string(streams_[i].qp) + " of the peer has numbers for " +
           std::to_string(told_apart) + " paths and its hello says " + std::to_string(peer_paths_);
  }
  return "";
}

// ---- ours ----

bool LinkControl::try_write_stream(RecordWriter& writer, const StreamConfig& stream,
                                   const StreamAddress& address) const {
  std::vector<be32> qpns(size_t{stream.generations} * stream.channels * address.paths);
  std::ranges::transform(address.qpns, qpns.begin(), [](uint32_t qpn) { return be32(qpn); });
  QpItem item;
  item.qp = stream.qp;
  item.generations = stream.generations;
  item.channels = stream.channels;
  item.paths = static_cast<uint8_t>(address.paths);
  item.data_key = address.data_key;
  item.repair_key = address.repair_key;
  item.data_base = address.data_base;
  item.repair_base = address.repair_base;
  item.data_window_bytes = address.data_window_bytes;
  item.repair_window_bytes = address.repair_window_bytes;
  item.qpns = Row<be32>(qpns.data(), qpns.size());
  return writer.try_add(item);
}

void LinkControl::add_pair_keys(const PairKeys& keys) {
  options_.pair_keys.insert(options_.pair_keys.end(), keys.begin(), keys.end());
  shape_.add(keys);
}

/// Of the streams that there are.
bool LinkControl::try_write_known(RecordWriter& writer, std::span<const StreamAddress> addresses,
                                  bool has_wishes) const {
  bool fits = try_write_names(writer, options_);
  for (const PairKeys* keys : {&options_.told_keys, &options_.pair_keys}) {
    for (const auto& [key, value] : *keys) {
      fits = fits && writer.try_add(PairKeyItem{{key, value}});
    }
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    fits = fits && try_write_stream(writer, streams_[i], addresses[i]) &&
           try_write_offers(writer, streams_[i].qp, events_.offers(i, has_wishes));
  }
  return fits;
}

bool LinkControl::has_room_for(const StreamConfig& stream,
                               std::span<const PolicyOffer> offers) const {
  std::vector<uint8_t> bytes(description_room());
  RecordWriter writer(bytes);
  bool fits =
      try_write_known(writer, std::vector<StreamAddress>(streams_.size()), /*has_wishes=*/false);
  for (const auto& [key, value] : pair_keys(stream)) {
    fits = fits && writer.try_add(PairKeyItem{{key, value}});
  }
  return fits && try_write_stream(writer, stream, {}) &&
         try_write_offers(writer, stream.qp, offers);
}

size_t LinkControl::description_room() const {
  return part_bytes_for(control_bytes()) * description_parts_max;
}

/// What swaps have made of policies may take more room than there is: then as configured.
void LinkControl::write_description(const std::vector<StreamAddress>& addresses) {
  std::vector<uint8_t> bytes(description_room());
  const auto try_write = [&](bool has_wishes) {
    RecordWriter writer(bytes);
    if (!try_write_known(writer, addresses, has_wishes)) return false;
    // No longer than it is, as it stays while the link does.
    description_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(writer.bytes()));
    return true;
  };
  CW_ASSERT(try_write(true) || try_write(false));  // has_room_for() was asked
}

// What the peer has not said to have is sent again whenever it says so [C-22].
bool LinkControl::offer_description(EnvelopeWriter& writer) {
  const size_t parts = part_count();
  for (size_t part = 0; part < parts; ++part) {
    if (parts_heard_ >> part & 1) continue;
    const size_t place = part * part_bytes_;
    Description record;
    record.part = static_cast<uint16_t>(part);
    record.parts = static_cast<uint16_t>(parts);
    record.part_bytes = static_cast<uint16_t>(part_bytes_);
    record.bytes = Row<uint8_t>(description_.data() + place,
                                std::min(part_bytes_, description_.size() - place));
    if (!writer.try_add(record)) return false;
    // Not again before the peer has had the time to say what it has.
    parts_heard_ |= 1u << part;
  }
  parts_due_ = false;
  return true;
}

}  // namespace cw::sdr
