// A live pair of sites and a stranger on their wire: raw packets, slots that are right but for some
// fields, and envelopes under the right key with any records. Nothing is written outside the memory
// that was posted, a slot costs no allocation, an envelope leaves next to none behind, and
// afterwards messages get through again: at once if only slots were forged, and in the next epoch
// if somebody with the key has spoken.
//
// An input is a row of packets: kind, byte count, bytes. Where the first kind has its highest bit
// set the stream is coded, and half of the slots are repair: what they make up may be wrong, but
// not where it goes. Where it has its second highest, hardware places what comes: it may go to one
// message's memory and speak of another's.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/pass/pass.h"
#include "tests/sim/sdr/coding_world.h"
#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr size_t packets_max = 16;
constexpr size_t payload_bytes = 1024;
constexpr uint32_t data_slots_max = 64, messages = 8;
constexpr uint32_t window_bytes = data_slots_max * payload_bytes;

/// Allocations while `is_watched`, and what is left of them.
struct Heap {
  static inline bool is_watched = false;
  static inline int64_t allocated = 0, live = 0;
  static void on_malloc(const volatile void*, size_t) {
    allocated += is_watched;
    live += is_watched;
  }
  static void on_free(const volatile void* memory) { live -= is_watched && memory != nullptr; }
  static void begin() {
    [[maybe_unused]] static const int hooks =
        __sanitizer_install_malloc_and_free_hooks(&on_malloc, &on_free);
    allocated = live = 0;
  }
};

/// The input, read from the front; zeros behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t count) : left_(data, count) {}
  bool is_empty() const { return left_.empty(); }
  std::span<const uint8_t> take(size_t count) {
    const auto part = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(part.size());
    return part;
  }
  template <class Number>
  Number number() {
    Number value{};
    const auto bytes = take(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

 private:
  std::span<const uint8_t> left_;
};

/// Memory of a receive between two rows of canaries. Neither full slots nor whole words.
struct Posted {
  static constexpr size_t canary_bytes = 64, bytes_max = 3333;
  static constexpr uint8_t canary = 0xc5;

  explicit Posted(Site& site) : memory(bytes_max + 2 * canary_bytes, canary) {
    const auto posted = site.receives().try_post(room());
    CW_ASSERT(posted);
    handle = *posted;
  }
  std::span<uint8_t> room() { return std::span(memory).subspan(canary_bytes, bytes_max); }
  bool is_intact() const {
    const auto is_canary = [](uint8_t byte) { return byte == canary; };
    return std::all_of(memory.begin(), memory.begin() + canary_bytes, is_canary) &&
           std::all_of(memory.end() - canary_bytes, memory.end(), is_canary);
  }

  std::vector<uint8_t> memory;
  sdr::RecvHandle handle;
};

class Siege {
 public:
  Siege(bool is_coded, bool has_rnic)
      : is_coded_(is_coded),
        has_rnic_(has_rnic),
        pair_(options(is_coded, has_rnic), script(), calm_) {
    CW_ASSERT(pair_.delivers(is_coded ? 3 : 2, 3_s));  // the first has no data
    pair_.courier().stop();
    pair_.courier().post_nothing();
    pair_.run_for(5_ms);
    for (int i = 0; i < 3; ++i) posted_.emplace_back(*pair_.b);
    // It has something to send as well, which credit would set going.
    const auto handle = pair_.b->sends().try_open({});
    CW_ASSERT(handle && pair_.b->sends().append(*handle, 0, message_));
  }

  void attack(Input input) {
    Heap::begin();
    for (size_t i = 0; i < packets_max && !input.is_empty(); ++i) {
      const auto kind = input.number<uint8_t>();
      Input packet = of(input.take(input.number<uint8_t>()));
      if (kind % 4 == 0) arrive(raw(packet));
      const bool is_repair = is_coded_ && kind % 4 == 2;
      if (kind % 4 == 1 || kind % 4 == 2) arrive(is_repair ? repair(packet) : slot(packet));
      if (kind % 4 == 3) arrive(control(packet));
    }
    pair_.run_for(1_ms);
    check_canaries();
  }

  void recover() {
    if (has_spoken_) {
      pair_.restart_receiver();
      posted_.clear();
    }
    CW_ASSERT(pair_.run_until([&] { return pair_.are_up(); }, 5_s));
    // Those that were open may have been spoilt, those behind them may not.
    for (int sent = 0; sent < 16; ++sent) send_one();
    CW_ASSERT(is_last_whole_);
    check_canaries();
  }

 private:
  static constexpr CodingKnobs knobs{.k = 2, .m = 2, .rows = 2, .resend_ms = 20};
  static PairOptions options(bool is_coded, bool has_rnic) {
    SiteOptions site;
    site.policy = cw_policy_selective_repeat();
    site.stream.data_slots_max = data_slots_max;
    if (is_coded) site = coding_site(knobs, data_slots_max);
    site.stream.messages = messages;
    SiteOptions besieged = site;
    besieged.has_rnic = has_rnic;
    return {.a = site,
            .b = besieged,
            .wire = {.delay = Duration::from_us(100)},
            .courier = {.in_flight = 1, .posted = 2}};
  }
  WireScript& script() {
    script_.data = [this](const Packet& packet) {
      SlotWrite slot;
      const size_t bytes = size_t{packet.bytes} + packet.payload_bytes;
      CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes}, bytes, slot));
      const bool is_repair = split_default.unpack(slot.immediate).slot >= data_slots_max;
      return (is_repair ? recorded_repair_ : recorded_).take_data(packet);
    };
    script_.control = [this](const Packet& packet) { return recorded_.take_control(packet); };
    return script_;
  }
  /// From the message with an id to the next in a place.
  int64_t messages_to(uint32_t place, uint32_t id) const {
    return has_rnic_ ? 0 : (place + messages - id) % messages;  // each has a window of its own
  }
  static Input of(std::span<const uint8_t> bytes) { return {bytes.data(), bytes.size()}; }

  PacketBytes raw(Input& input) const {
    const auto bytes = input.take(256);
    return {bytes.begin(), bytes.end()};
  }
  PacketBytes slot(Input& input) const {
    const auto wrong = input.number<uint8_t>();  // which fields are not what they should be
    const auto place = static_cast<uint32_t>(input.number<uint8_t>() % 9);
    const auto slot = static_cast<uint32_t>(input.number<uint8_t>() % 66);
    return intruder_.slot([&](SlotWrite& write) {
      const auto window = split_default.unpack(write.immediate);
      write.target_qp += static_cast<uint32_t>(input.number<uint8_t>() % 8) - 4;
      write.psn = write.psn + input.number<uint16_t>() % 4096;
      write.address += messages_to(place, window.id) * window_bytes +
                       (int64_t{slot} - window.slot) * int64_t{payload_bytes};
      write.immediate = split_default.pack({place, slot, 5});
      write.payload_bytes = input.number<uint16_t>() % (payload_bytes + 1);
      if (wrong & 1) write.psn = Psn(input.number<uint32_t>() & 0xffffff);
      if (wrong & 2) write.address += input.number<int64_t>();
      if (wrong & 4) write.key = input.number<uint32_t>();
      if (wrong & 8) write.immediate = input.number<uint32_t>();
      if (wrong & 16) write.target_qp = input.number<uint32_t>() & 0xffffff;
      write.is_solicited = (wrong & 32) != 0;
    });
  }
  /// The sender's own repair, at any place, with any bytes.
  PacketBytes repair(Input& input) const {
    const auto wrong = input.number<uint8_t>();
    const auto place = static_cast<uint32_t>(input.number<uint8_t>() % 9);
    const uint32_t repair_max = pair_.b->receives().config().repair_slots_max;
    const uint32_t slot = data_slots_max + input.number<uint8_t>() % (repair_max + 2);
    PacketBytes bytes = repair_intruder_.slot([&](SlotWrite& write) {
      const auto window = split_default.unpack(write.immediate);
      write.target_qp += static_cast<uint32_t>(input.number<uint8_t>() % 8) - 4;
      write.psn = write.psn + input.number<uint16_t>() % 4096;
      write.address += messages_to(place, window.id) * repair_max * int64_t{payload_bytes} +
                       (int64_t{slot} - window.slot) * int64_t{payload_bytes};
      write.immediate = split_default.pack({place, slot, 5});
      write.payload_bytes = input.number<uint16_t>() % (payload_bytes + 1);
      if (wrong & 1) write.address += input.number<int64_t>();
      if (wrong & 2) write.key = input.number<uint32_t>();
      if (wrong & 4) write.immediate = input.number<uint32_t>();
    });
    const auto content = input.take(64);
    std::copy_n(content.begin(), std::min(content.size(), bytes.size() - slot_write_header_bytes),
                bytes.begin() + slot_write_header_bytes);
    return bytes;
  }
  PacketBytes control(Input& input) {
    has_spoken_ = true;
    const auto records = input.take(252);
    PacketBytes row(records.begin(), records.end());
    row.resize((row.size() + 3) / 4 * 4);
    return intruder_.next_control(row);
  }

  void arrive(const PacketBytes& bytes) {
    Packet* packet = nullptr;
    CW_ASSERT(pair_.b_sim().take_burst({&packet, 1}) == 1);
    std::ranges::copy(bytes, packet->data);
    packet->bytes = static_cast<uint32_t>(bytes.size());
    packet->payload = nullptr;
    packet->payload_bytes = 0;
    packet->peer = pair_.peers().of_second;
    packet->path = 0;
    Heap::is_watched = true;
    Arrival arrival;
    if (!has_rnic_) pass::read(*packet, arrival);
    if (!has_rnic_ || pair_.b->rnic().try_take(*packet, arrival)) {
      pair_.b->endpoint().on_arrivals({&arrival, 1}, pair_.network().now());
    }
    Heap::is_watched = false;
    pair_.b_sim().give_back({&packet, 1});
    CW_ASSERT(has_spoken_ || Heap::allocated == 0);
    CW_ASSERT(Heap::live <= 64);
  }

  void send_one() {
    const auto handle = pair_.a->sends().try_open({});
    CW_ASSERT(handle && pair_.a->sends().append(*handle, 0, message_) &&
              pair_.a->sends().close(*handle));
    posted_.emplace_back(*pair_.b);
    const auto is_over = [&] {
      complete_all();
      return pair_.a->sends().status(*handle) != sdr::MessageStatus::Open;
    };
    CW_ASSERT(pair_.run_until(is_over, 20_s));
    pair_.a->sends().forget(*handle);
  }
  void complete_all() {
    const auto is_over = [&](Posted& posted) {
      const sdr::RecvInfo info = pair_.b->receives().info(posted.handle);
      if (info.status == sdr::MessageStatus::Open) return false;
      is_last_whole_ = info.status == sdr::MessageStatus::Done && info.bytes == message_.size() &&
                       std::ranges::equal(message_, posted.room().first(message_.size()));
      CW_ASSERT(posted.is_intact());
      CW_ASSERT(pair_.b->receives().complete(posted.handle, pair_.network().now()));
      return true;
    };
    std::erase_if(posted_, is_over);
  }
  void check_canaries() const {
    for (const Posted& posted : posted_) CW_ASSERT(posted.is_intact());
  }

  const bool is_coded_, has_rnic_;
  Recorded recorded_, recorded_repair_;
  WireScript script_, calm_;
  std::vector<uint8_t> message_ = std::vector<uint8_t>(2500, 0x3a);
  std::vector<Posted> posted_;
  bool has_spoken_ = false, is_last_whole_ = false;
  Pair pair_;
  Intruder intruder_{recorded_, SiteOptions().key};
  Intruder repair_intruder_{recorded_repair_, SiteOptions().key};
};

}  // namespace
}  // namespace cw::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t count) {
  const uint8_t first = count > 0 ? data[0] : 0;
  cw::sim::Siege story((first & 0x80) != 0, (first & 0x40) != 0);
  story.attack({data, count});
  story.recover();
  return 0;
}
