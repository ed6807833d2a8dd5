#include "dataplane/sdr/link/control.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/core/wire_drops.h"

namespace cw::sdr {
namespace {

constexpr Duration goodbye_interval = Duration::from_ms(10);
constexpr Duration queues_interval = Duration::from_ms(1);

}  // namespace

LinkControl::LinkControl(const ControlOptions& options, const std::vector<StreamConfig>& streams,
                         LinkEvents& events, Counters& counters, Drops& drops, Instant now)
    : options_(options),
      streams_(streams),
      events_(events),
      counters_(counters),
      drops_(drops),
      exchange_(options.random.fresh()),
      shape_(options.pair_keys),
      peer_control_qpn_(control_qpn_of(options_.number)),
      peer_description_(description_bytes_max, &peer_memory_),
      health_(options.paths, options.probe_interval),
      hello_due_(options.is_vacant ? Instant::never() : now),
      echo_due_(Instant::never()),
      hello_interval_(options.hello_interval_min),
      unconfirmed_time_(options.unconfirmed_time) {
  is_leaving_ = options.is_vacant;
}

// ---- what arrives ----

void LinkControl::on_control(const ControlArrival& arrival, Instant now) {
  if (is_leaving_) return drops_.add(DropReason::link_down);
  const auto envelope = open_envelope(arrival.bytes, options_.key);
  if (!envelope) return drops_.add(reason_of(envelope.error()));
  if (envelope->header.link != wire_link_of(options_.number)) {  // [C-7]
    return drops_.add(DropReason::control_link);
  }
  const EnvelopePeek peek{envelope->header, first_hello(envelope->reader())};
  if (is_for_another(peek, now)) return drops_.add(DropReason::epoch_shape);
  const auto standing = exchange_.judge(*envelope);
  if (!standing) return drops_.add(reason_of(standing.error()));
  counters_.add(Counter::controls_received);
  const bool is_proven =
      *standing == Standing::NewEpoch ||
      (*standing == Standing::Stranger && try_prove_by_session(*envelope, arrival.session));
  if (*standing == Standing::Stranger && !is_proven) return on_stranger(peek, now);
  if (is_proven) {
    session_ = std::max(session_, arrival.session);
    begin_epoch(now);
  }
  dead_due_ = now + silence_max();
  read_records(*envelope, arrival.path, now);
}

/// Both ends have made the session's keys from what each drew for it. So whoever seals by one that
/// is later than those of all epochs so far lives, and need not name a nonce of ours [C-87].
bool LinkControl::try_prove_by_session(const Envelope& envelope, uint32_t session) {
  if (session <= session_) return false;
  if (exchange_.needs_offer()) exchange_.offer(options_.random.fresh());
  return exchange_.try_prove(envelope);
}

void LinkControl::begin_epoch(Instant now) {
  counters_.add(Counter::epochs);
  is_up_ = has_hello_ = has_rtt_ = is_description_read_ = false;
  strangers_.forget();
  parts_heard_ = peer_parts_ = peer_part_bytes_ = peer_parts_received_ = 0;
  peer_description_bytes_ = 0;
  peer_control_qpn_ = control_qpn_of(options_.number);
  peer_control_bytes_ = control_bytes_first;
  mismatch_.clear();
  differences_.clear();
  parting_.clear();
  echoes_.clear();
  peer_addresses_.assign(streams_.size(), {});
  peer_has_qp_.assign(streams_.size(), false);
  peer_offers_.assign(streams_.size(), {});
  peer_has_key_.assign(options_.pair_keys.size(), false);
  is_described_ = false;
  events_.on_epoch(now);
  try_describe(now);
}

/// Until it can say where it receives, this end says nothing in the epoch, and its peer repeats.
void LinkControl::try_describe(Instant now) {
  std::vector<StreamAddress> addresses(streams_.size());
  if (!events_.try_open_queues(addresses)) {
    queues_due_ = now + queues_interval;
    return;
  }
  queues_due_ = Instant::never();
  is_described_ = true;
  write_description(addresses);
  hello_interval_ = options_.hello_interval_min;
  hello_due_ = echo_due_ = now;
  parts_due_ = true;  // and the hello says state 1 from now on, until the end [C-28]
}

void LinkControl::end_epoch(Instant now) {
  is_up_ = has_hello_ = false;
  exchange_.leave(options_.random.fresh());
  echoes_.clear();
  strangers_.forget();
  dead_due_ = queues_due_ = Instant::never();
  events_.on_down(now);
}

// The peer that proved this epoch may have been another life of it: its proof was late, the life
// that followed holds the same nonce of ours in an epoch of its own, and each end drops what the
// other says as stale. A living peer asks and answers echoes every few milliseconds; its first
// answer is one RTT away, which is only guessed, so that the time doubles until there was one.
Duration LinkControl::silence_max() const {
  // It carries nothing yet, and who waits for it is to know.
  const bool is_next = age_ == LinkAge::Newer && is_beside_;
  if (is_next && has_rtt_) return std::min(options_.dead_time, Duration::from_s(1) + rtt_ * 4);
  return has_rtt_ ? options_.dead_time : std::min(options_.dead_time, unconfirmed_time_ + rtt_);
}

// Who only receives loses no data with a path, and can take its time.
void LinkControl::judge_paths(Instant now) {
  const bool has_traffic = now - data_sent_ < std::max(rtt_ * 4, traffic_pause_max);
  if (is_up_ && health_.judge(has_traffic, now)) events_.on_paths(health_.up(), now);
}

void LinkControl::on_time(Instant now) {
  if (health_.judge_due() <= now) judge_paths(now);
  if (queues_due_ <= now) is_described_ ? try_come_up(now) : try_describe(now);
  if (dead_due_ > now) return;
  if (!has_rtt_) unconfirmed_time_ = std::min(unconfirmed_time_ * 2, options_.dead_time);
  end_epoch(now);
  parting_ = "the peer has fallen silent";
  hello_interval_ = options_.hello_interval_min;
  hello_due_ = now;
}

void LinkControl::read_records(const Envelope& envelope, uint16_t path, Instant now) {
  RecordReader reader = envelope.reader();
  const auto act = [&](const auto& record) {
    using Record = std::decay_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, Hello>) {
      on_hello(record, now);
    } else if constexpr (std::is_same_v<Record, Description>) {
      on_description(record, now);
    } else if constexpr (std::is_same_v<Record, Echo>) {
      on_echo(record, path, now);
    } else if constexpr (requires { events_.on_record(record, now); }) {
      // A stream has nothing to hear before both ends agree on what it is.
      if (is_up_) events_.on_record(record, now);
    } else if constexpr (requires { events_.swaps().on_record(record, now); }) {
      if (!is_up_) return;
      events_.swaps().on_record(record, now);
      events_.on_swap(now);
    }
  };
  while (const auto view = reader.next()) {
    // Those before a malformed record stand, those behind it do not [C-15].
    if (!ControlRecords::visit(*view, act)) return drops_.add(DropReason::record_body);
    if (!exchange_.is_in_force()) return;  // the peer has just left
  }
}

void LinkControl::on_hello(const Hello& hello, Instant now) {
  if (hello.state == HelloState::Leaving) {
    end_epoch(now);
    parting_ = "the peer has left";
    hello_interval_ = options_.hello_interval_max;
    hello_due_ = now + hello_interval_;
    return;
  }
  const bool is_news = !has_hello_ || hello.description_received != parts_heard_;
  if (mismatch_.empty()) mismatch_ = misfit(hello);
  if (hello.control_bytes < control_bytes_first) return;
  peer_control_qpn_ = hello.control_qpn;
  peer_payload_bytes_ = hello.payload_bytes;
  peer_paths_ = hello.paths;
  peer_capabilities_ = hello.capabilities;
  // Parts keep their size within an epoch [C-20], and an envelope its room for one [C-9].
  if (!has_hello_) {
    peer_control_bytes_ = hello.control_bytes;
    part_bytes_ = part_bytes_for(std::min(control_bytes(), peer_control_bytes_));
  }
  if (part_count() > description_parts_max) {
    mismatch_ = "control_bytes is " + std::to_string(control_bytes()) + " here and " +
                std::to_string(peer_control_bytes_) +
                " at the peer: too few for the description of this end";
    return;
  }
  has_hello_ = true;
  parts_heard_ = hello.description_received;
  parts_due_ = parts_heard_ != all_parts(part_count());
  if (is_news) hello_due_ = std::min(hello_due_, now + options_.hello_interval_min);
  try_come_up(now);
}

void LinkControl::try_come_up(Instant now) {
  if (is_up_ || is_leaving_ || !exchange_.is_in_force()) return;
  if (!has_hello_ || !is_description_read_) return;
  if (mismatch_.empty()) mismatch_ = paths_misfit();
  if (!mismatch_.empty() || !has_rtt_ || !events_.has_policies()) return;
  const uint16_t paths = std::min(options_.paths, peer_paths_);  // [C-57]
  const bool is_connected = events_.try_connect_queues(peer_addresses_, paths);
  queues_due_ = is_connected ? Instant::never() : now + queues_interval;
  if (!is_connected) return;
  is_up_ = true;
  peer_memory_.rest();
  health_.restart(paths, now);
  echo_path_ %= health_.paths();
  hello_due_ = now;
  for (StreamAddress& address : peer_addresses_) {
    address.has_placements = peer_has(Hello::places_payload);
  }
  events_.on_up(peer_addresses_, std::min(options_.payload_bytes, peer_payload_bytes_), now);
}

/// The time of an echo that comes right after a pause says how long this thread stood still. Where
/// there is always a pause, one in eight is believed; while the link comes up, all.
bool LinkControl::may_have_waited(Instant now) {
  return is_up_ && now - awake_since_ < catching_up && ++echoes_waited_ % 8 != 0;
}

void LinkControl::on_echo(const Echo& echo, uint16_t path, Instant now) {
  const bool has_waited = may_have_waited(now);
  if ((echo.flags & Echo::reply) == 0) {
    // A full row means more questions than a peer has reason to ask.
    (void)echoes_.try_push({echo.path, path, echo.token, now, has_waited});
    return;
  }
  // The token was ours, but a pause of the machine may have moved time, and a peer may lie.
  if (echo.token > static_cast<uint64_t>(now.ns()) || echo.path >= health_.paths()) return;
  if (!has_waited) take_sample(echo, now);  // before the path is up: who hears of it asks how long
  if (is_up_) {
    health_.on_answer(echo.path, echo.token, now);
    judge_paths(now);
  } else {
    try_come_up(now);
  }
}

void LinkControl::take_sample(const Echo& echo, Instant now) {
  const auto passed = Duration::from_ns(now.ns() - static_cast<int64_t>(echo.token));
  if (echo.held_ns > static_cast<uint64_t>(passed.ns())) return;
  const Duration sample = passed - Duration::from_ns(static_cast<int64_t>(echo.held_ns));
  if (sample <= Duration() || sample > Duration::from_s(10)) return;
  rtt_ = has_rtt_ ? (rtt_ * 7 + sample) / 8 : sample;
  if (!has_rtt_) {
    has_rtt_ = true;
    unconfirmed_time_ = options_.unconfirmed_time;
    dead_due_ = now + silence_max();
  }
  health_.on_rtt(echo.path, sample, now);
  events_.on_rtt(echo.path, sample, now);
}

// ---- what leaves ----

/// As long as a full data packet, or as the port can send [C-10].
size_t LinkControl::full_bytes() const {
  const size_t full = options_.payload_bytes + envelope_bytes_beyond_payload;
  return options_.datagram_max == 0 ? full : std::min<size_t>(full, options_.datagram_max);
}

Instant LinkControl::next_due() const {
  return std::min(dead_due_, is_up_ ? health_.judge_due() : queues_due_);
}

Instant LinkControl::offer_due() const {
  if (is_leaving_) return hello_due_;
  if (!exchange_.is_in_force()) {
    return std::min(is_mute_ ? Instant::never() : hello_due_, strangers_.due());
  }
  if (!is_described_) return strangers_.due();
  if (!echoes_.is_empty() || wants_parts()) return Instant();
  const Instant due = earliest(hello_due_, strangers_.due(), echo_due_);
  return is_up_ ? earliest(due, health_.long_due()) : due;
}

EnvelopeKind LinkControl::next_kind(Instant now) const {
  if (strangers_.due() <= now) return EnvelopeKind::Answer;
  const bool is_alone = !exchange_.is_in_force() || is_leaving_;
  if (is_alone || (is_up_ ? health_.long_due() : hello_due_) <= now) return EnvelopeKind::Hello;
  return EnvelopeKind::Records;
}

size_t LinkControl::next_bytes_max(Instant now) const {
  if (next_kind(now) != EnvelopeKind::Records) return full_bytes();
  return std::min(control_bytes(), peer_control_bytes_);  // [C-9]
}

std::optional<uint16_t> LinkControl::next_path(Instant now) const {
  if (next_kind(now) == EnvelopeKind::Hello) return is_up_ ? health_.long_path() : hello_path_;
  if (next_kind(now) == EnvelopeKind::Answer) return std::nullopt;
  if (!echoes_.is_empty()) return echoes_.front().came_by;
  return echo_due_ <= now ? std::optional(echo_path_) : std::nullopt;
}

EnvelopeHeader LinkControl::next_header(EnvelopeKind kind) {
  ++sequence_;  // never one twice, whatever the nonces [C-8]
  const bool is_answer = kind == EnvelopeKind::Answer;
  const bool is_in_force = !is_answer && exchange_.is_in_force();
  if (!is_in_force && exchange_.needs_offer()) exchange_.offer(options_.random.fresh());
  const auto nonces = is_in_force ? exchange_.current()
                                  : exchange_.answer_to(is_answer ? strangers_.next().nonce : 0);
  return {nonces.mine, nonces.peer, sequence_, wire_link_of(options_.number)};
}

bool LinkControl::offer(EnvelopeKind kind, EnvelopeWriter& writer, Instant now) {
  if (kind == EnvelopeKind::Answer) return offer_answer(writer, now);
  if (kind == EnvelopeKind::Hello) {
    const bool is_due = is_up_ || hello_due_ <= now;
    return !is_due || offer_hello(kind, writer, now);
  }
  if (!offer_echoes(writer, now) || (wants_parts() && !offer_description(writer))) return false;
  return hello_due_ > now || offer_hello(kind, writer, now);
}

Hello LinkControl::hello(HelloState state) const {
  Hello hello;
  hello.capabilities = Hello::swaps | shape_.bits() << Hello::shape_shift;
  if (age_ == LinkAge::Newer) hello.capabilities |= Hello::newer;
  if (age_ == LinkAge::Older) hello.capabilities |= Hello::older;
  if (options_.places_payload) hello.capabilities |= Hello::places_payload;
  if (options_.sees_psns) hello.capabilities |= Hello::sees_psns;
  if (options_.numbers_by_qp) hello.capabilities |= Hello::numbers_by_qp;
  hello.control_qpn = options_.control_qpn;
  hello.payload_bytes = static_cast<uint16_t>(options_.payload_bytes);
  hello.control_bytes = control_bytes();
  const ImmediateSplit split = streams_.empty() ? split_default : streams_.front().split;
  hello.message_id_bits = static_cast<uint8_t>(split.id_bits());
  hello.slot_bits = static_cast<uint8_t>(split.slot_bits());
  hello.immediate_bits = static_cast<uint8_t>(split.user_bits());
  hello.generations = streams_.empty() ? 1 : streams_.front().generations;
  hello.channels = streams_.empty() ? 1 : streams_.front().channels;
  hello.paths = static_cast<uint8_t>(options_.paths);
  hello.qps = static_cast<uint16_t>(streams_.size());
  hello.state = state;
  hello.icrc_mode = options_.icrc_mode;
  hello.description_parts = static_cast<uint16_t>(std::max<size_t>(1, part_count()));
  return hello;
}

bool LinkControl::offer_hello(EnvelopeKind kind, EnvelopeWriter& writer, Instant now) {
  Hello said = hello(is_leaving_               ? HelloState::Leaving
                     : exchange_.is_in_force() ? HelloState::HasProvenYou
                                               : HelloState::Trying);
  said.description_received = peer_parts_received_;
  if (!writer.try_add(said)) return false;
  if (kind == EnvelopeKind::Hello) {
    if (is_up_ && !offer_long_question(writer, now)) return false;
    pad(writer, /*is_probe=*/true);
    hello_path_ = static_cast<uint16_t>((hello_path_ + 1) % options_.paths);
  }
  counters_.add(Counter::hellos_sent);
  hello_due_ = now + (is_up_ ? options_.keepalive : hello_interval_);
  if (!is_leaving_) hello_interval_ = std::min(hello_interval_ * 2, options_.hello_interval_max);
  if (is_leaving_ && ++goodbyes_ == goodbyes_max) hello_due_ = Instant::never();
  return true;
}

/// What asks whether long packets arrive is one.
void LinkControl::pad(EnvelopeWriter& writer, bool is_probe) const {
  const size_t room = writer.body_room();
  const bool is_wanted = is_probe || options_.pads;
  if (is_wanted && room > 0) (void)writer.try_add(Pad{{static_cast<uint16_t>(room)}});
}

/// Whoever answers has had a packet of full size by this path.
bool LinkControl::offer_long_question(EnvelopeWriter& writer, Instant now) {
  Echo question;
  question.path = health_.long_path();
  question.token = PathHealth::long_token(now);
  if (!writer.try_add(question)) return false;
  health_.on_asked(question.path, question.token, now);
  return true;
}

Duration LinkControl::echo_interval() const {
  constexpr auto shortest = Duration::from_ms(5), turn_min = Duration::from_ms(1);
  constexpr auto longest = Duration::from_ms(250);
  if (!is_up_) return options_.hello_interval_min;
  // A path that dies is to be found out within four round trips: each is asked once in one, which
  // is no longer for a queue or an end that stands still.
  Duration interval = std::max(std::min(rtt_, health_.rtt_min()), shortest);
  const int64_t turns = health_.paths() == 1 ? 1 : std::max<int64_t>(health_.paths(), 4);
  interval = std::max(interval / turns, turn_min);
  return std::min(interval * (int64_t{1} << quiet_echoes_), longest);
}

// An envelope takes one path, and echoes measure the path they take [C-41].
bool LinkControl::offer_echoes(EnvelopeWriter& writer, Instant now) {
  const auto path = next_path(now);
  while (!echoes_.is_empty() && echoes_.front().came_by == path) {
    const PendingEcho& pending = echoes_.front();
    Echo reply;
    reply.flags = Echo::reply;
    reply.path = pending.path;
    reply.token = pending.token;
    reply.held_ns = pending.has_waited ? Echo::held_unknown
                                       : static_cast<uint64_t>((now - pending.arrived).ns());
    if (!writer.try_add(reply)) return false;
    echoes_.pop();
  }
  if (echo_due_ > now || echo_path_ != path) return true;
  Echo question;
  question.path = echo_path_;
  question.token = PathHealth::short_token(now);
  if (!writer.try_add(question)) return false;
  health_.on_asked(echo_path_, question.token, now);
  if (has_data_ || !is_up_) {
    quiet_echoes_ = 0;
  } else if (quiet_echoes_ < quiet_echoes_max) {
    ++quiet_echoes_;
  }
  has_data_ = false;
  echo_due_ = now + echo_interval();
  echo_path_ = static_cast<uint16_t>((echo_path_ + 1) % health_.paths());
  return true;
}

void LinkControl::leave(Instant now) {
  if (is_leaving_) return;
  is_leaving_ = true;
  is_up_ = false;
  strangers_.forget();
  dead_due_ = queues_due_ = Instant::never();
  hello_interval_ = goodbye_interval;
  hello_due_ = exchange_.is_in_force() ? now : Instant::never();
  events_.on_down(now);
}

bool LinkControl::answers(Instant now) const {
  constexpr Duration asked_again = Duration::from_ms(400);  // four times a second at least
  return is_up_ && health_.silence(now) <= asked_again + rtt_ * 4;
}

// A life that was left is over: what begins has nonces of its own.
void LinkControl::change_peer(LinkChange& change, Instant now) {
  if (change.is_vacant) {
    if (!std::exchange(options_.is_vacant, true)) leave(now);
    return;
  }
  const bool is_same = options_.peer_site == change.peer_site &&
                       options_.peer_address == change.peer_address && !options_.is_vacant;
  if (is_same) return;
  if (!is_leaving_) end_epoch(now);
  exchange_.leave(options_.random.fresh());
  std::swap(options_.peer_site, change.peer_site);
  std::swap(options_.peer_address, change.peer_address);
  options_.is_vacant = is_leaving_ = false;
  goodbyes_ = 0;
  mismatch_.clear();
  parting_.clear();
  hello_interval_ = options_.hello_interval_min;
  unconfirmed_time_ = options_.unconfirmed_time;
  hello_due_ = now;
}

void LinkControl::rebase(Duration shift, Instant now) {
  awake_since_ = now;
  for (Instant* due : {&hello_due_, &echo_due_, &dead_due_, &queues_due_}) {
    if (*due != Instant::never()) *due += shift;
  }
  health_.rebase(shift);
}

std::string LinkControl::why() const {
  if (is_up_) return "";
  if (options_.is_vacant) return "there is no such peer";
  if (is_leaving_) return "this end has left";
  if (!exchange_.is_in_force()) {
    // Until a peer has answered, every hello is as long as a full data packet [C-10].
    return parting_.empty() ? "no answer from the peer: is it running, with the same key, and do "
                              "packets as long as pair.mtu get there?"
                            : parting_;
  }
  if (!mismatch_.empty()) return mismatch_;
  if (!is_described_) return "its queues are being made";
  if (!has_hello_ || !is_description_read_) return "the peer's description has not arrived yet";
  if (!has_rtt_) return "no echo has come back yet";
  return queues_due_ == Instant::never() ? "its policies are being made"
                                         : "its queues are being connected";
}

}  // namespace cw::sdr
