// What members of a group of messages say and send each other (SPEC.md 18.15), once it is past key
// and MAC: two members up on a simulated fabric, of whom one is told whatever the bytes are,
// between posts and cancels of its own program. Nothing is placed outside its memory, and each
// posting ends, once, by its deadline.
//
// The bytes are orders: one that says which, then what it needs.
#include <array>
#include <cstring>
#include <vector>

#include "control/perf/fabric/message_world.h"
#include "dataplane/base/assert.h"
#include "policies/policies.h"

namespace cw::group {
namespace {

constexpr uint64_t bytes_max = 3000;
constexpr Duration life = Duration::from_ms(2);
const char* const policies[] = {"passthrough", "csa_ud",   "irn",
                                "nack_fixed",  "rto_only", "go_back_n"};

class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> rest) : rest_(rest) {}
  bool is_empty() const { return rest_.empty(); }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const uint8_t first = rest_[0];
    rest_ = rest_.subspan(1);
    return first;
  }
  uint32_t word() { return uint32_t{byte()} << 24 | uint32_t{byte()} << 16 | pair(); }
  uint16_t pair() { return static_cast<uint16_t>(byte() << 8 | byte()); }
  std::span<const uint8_t> take(size_t most) {
    const auto taken = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const uint8_t> rest_;
};

MessageWorldOptions options_of(const char* policy, std::vector<double>& params) {
  MessageWorldOptions options;
  options.shape.hosts = 2;
  options.shape.payload_bytes = 224;
  options.bytes_max = options.pool_bytes = bytes_max;
  options.sends_max = options.receives_max = 8;
  options.deadline = life;
  for (const cw_policy_ops* ops : policy::all()) {
    if (std::strcmp(ops->name, "passthrough") == 0) options.fallback = {ops, {}};
    if (std::strcmp(ops->name, policy) != 0) continue;
    for (uint32_t i = 0; i < ops->param_count; ++i) params.push_back(ops->params[i].initial);
    options.policy = {ops, params};
  }
  return options;
}

/// Member 0, what its program does, and what it hears of member 1.
class Member {
 public:
  explicit Member(MessageWorld& world) : world_(world), messages_(world.messages(0)) {}

  void obey(Bytes& bytes) {
    switch (bytes.byte() % 9) {
      case 0:
        return send(bytes);
      case 1:
        return receive(bytes);
      case 2:
        return pool();
      case 3:
        return cancel(bytes);
      case 4:
        return hear(bytes);
      case 5:
      case 6:
        return datagram(bytes);
      case 7:
        return pass(Duration::from_us(bytes.byte()));
      default:
        return poll();
    }
  }
  /// All that was posted is over in time, and each of it once.
  void end() {
    pass(life * 3);
    poll();
    CW_ASSERT(messages_.open_sends() == 0 && messages_.open_receives() == 0);
    CW_ASSERT(completed_ == posted_ + pooled_opened_);
  }

 private:
  void send(Bytes& bytes) {
    note(messages_.post_send({.to = 1,
                              .step = Step(bytes.byte() % 4),
                              .memory = memory(),
                              .bytes = 1 + bytes.pair() % bytes_max,
                              .cookie = 1,
                              .is_for_pool = bytes.byte() % 4 == 0},
                             world_.now()));
  }
  void receive(Bytes& bytes) {
    note(messages_.post_receive({.from = 1,
                                 .step = Step(bytes.byte() % 4),
                                 .memory = memory(),
                                 .bytes = 1 + bytes.pair() % bytes_max,
                                 .cookie = 1},
                                world_.now()));
  }
  void note(const Messages::Posted& posted) {
    world_.touch(0);
    if (!posted) return;
    ++posted_;
    tickets_.push_back(*posted);
  }
  void pool() { (void)messages_.try_post_pool({.memory = memory(), .cookie = 2}); }
  void cancel(Bytes& bytes) {
    if (!tickets_.empty()) messages_.cancel(tickets_[bytes.byte() % tickets_.size()], world_.now());
  }
  /// A record, as an envelope of member 1 has it.
  void hear(Bytes& bytes) {
    std::array<uint8_t, 64> record{};
    const std::array types = {RecordType::Status, RecordType::Fetch,  RecordType::Offer,
                              RecordType::Cancel, RecordType::Refuse, RecordType::Miss};
    record[0] = static_cast<uint8_t>(types[bytes.byte() % types.size()]);
    const auto body = bytes.take(4 * (bytes.byte() % 14));
    record[3] = static_cast<uint8_t>(body.size());
    std::ranges::copy(body, &record[4]);
    RecordReader reader(std::span(record).first(4 + body.size()), Records::types);
    while (const auto view = reader.next()) messages_.on_record(1, *view, world_.now());
    world_.touch(0);
  }
  /// With our key; the rest is whatever it is.
  void datagram(Bytes& bytes) {
    std::vector<uint8_t> payload(bytes.byte(), 0x5a);
    Header header{.kind = bytes.byte() % 2 == 0 ? Kind::Unicast : Kind::Fetched,
                  .is_last_slot = bytes.byte() % 2 == 0,
                  .wants_status = bytes.byte() % 2 == 0,
                  .source = 1,
                  .key = messages_.membership().self().own_key,
                  .step = Step(bytes.byte() % 4),
                  .message = 1u + bytes.byte() % 4 + (bytes.byte() % 2 == 0 ? pool_bit : 0),
                  .slot = bytes.byte() % 16u,
                  .message_slots = bytes.byte() % 16u,
                  .last_bytes = bytes.pair()};
    std::array<uint8_t, header_bytes> prefix;
    encode_header(header, prefix);
    Arrival arrival;
    arrival.form = Form::DatagramImmediate;
    arrival.head.key = control_qkey;
    arrival.head.target_qp = messages_.membership().qpn();
    arrival.head.immediate = header.immediate();
    arrival.head.payload_bytes = static_cast<uint32_t>(payload.size());
    arrival.payload = payload.data();
    arrival.prefix = prefix.data();
    messages_.endpoint().on_arrivals({&arrival, 1}, world_.now());
    world_.touch(0);
  }
  void pass(Duration time) {
    world_.run(time, [] { return false; });
  }
  void poll() {
    std::array<Completion, 4> out;
    while (const size_t count = messages_.poll(out)) {
      completed_ += count;
      for (const Completion& each : std::span(out).first(count)) pooled_opened_ += each.cookie == 2;
    }
  }
  /// Exactly as long as it may be.
  uint8_t* memory() {
    memories_.push_back(std::make_unique<uint8_t[]>(bytes_max));
    return memories_.back().get();
  }

  MessageWorld& world_;
  Messages& messages_;
  std::vector<MessageTicket> tickets_;
  std::vector<std::unique_ptr<uint8_t[]>> memories_;
  size_t posted_ = 0, completed_ = 0, pooled_opened_ = 0;
};

void run(std::span<const uint8_t> input) {
  Bytes bytes(input);
  std::vector<double> params;
  const char* const policy = policies[bytes.byte() % std::size(policies)];
  const auto world = MessageWorld::make(options_of(policy, params));
  CW_ASSERT(world && (*world)->join());
  Member member(**world);
  for (int i = 0; i < 200 && !bytes.is_empty(); ++i) member.obey(bytes);
  member.end();
}

}  // namespace
}  // namespace cw::group

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  cw::group::run({bytes, size});
  return 0;
}
