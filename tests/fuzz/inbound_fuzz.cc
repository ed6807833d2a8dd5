// Drives the receiving half of a gateway with slots of any content, in any order, with lengths and
// abandonments that contradict them, and with ends of epochs: what a peer could send that has gone
// mad, or somebody who has its keys.
//
// Checked: no crash, nothing read outside of the messages (their memory is exactly sized), accounts
// that add up after every step, and that nothing is left when everything has ended.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/to_lan/inbound.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace {

using namespace cw;
using namespace cw::gateway;
using test::LanPort;
using test::SlotStream;

constexpr SlotReaderOptions slots{
    .messages = 2, .data_slots_max = 70, .payload_bytes_max = 256, .stall = Duration::from_ms(10)};

class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  bool is_empty() const { return at_ == end_; }
  uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  /// The next bytes, as far as there are any.
  size_t take(uint8_t* out, size_t count) {
    const size_t taken = std::min(count, static_cast<size_t>(end_ - at_));
    std::copy_n(at_, taken, out);
    at_ += taken;
    return taken;
  }

 private:
  const uint8_t *at_, *end_;
};

class Driver {
 public:
  /// Every input finds an epoch that has just begun. What it takes to make the rest anew each time
  /// would be most of the work.
  void run(Input input) {
    input_ = input;
    lan_.lock(0);
    end_epoch();
    inbound_->on_time(now_);
    while (!input_.is_empty()) {
      step(input_.byte() % 16);
      check();
    }
    end_epoch();
    inbound_->on_time(now_);
    lan_.lock(0);
    drain();
    const InboundAccounts all = inbound_->accounts();
    CW_ASSERT(all.held == 0 && all.queued == 0 && all.is_balanced());
    CW_ASSERT(stream_.posted_count() == slots.messages && lan_.free_count() == 4);
  }

 private:
  void step(uint8_t kind) {
    switch (kind) {
      case 0:
        return end_epoch();
      case 1:
        return tell_length();
      case 2:
        return abandon();
      case 3:
        return pass_time();
      case 4:
        return drain();
      case 5:
        return lan_.lock(input_.byte() % 5);
      default:
        return place(kind % 2 == 0);
    }
  }
  MessageSeq any_seq() {
    // Near what is posted, on both sides.
    const uint8_t step = input_.byte() % 4;
    for (uint32_t ahead = 0; ahead < 64; ++ahead) {
      if (stream_.is_open(MessageSeq(ahead))) return MessageSeq(uint64_t{ahead} + step) - 1;
    }
    return MessageSeq(step);
  }
  /// A slot: with the header it should have, save two bytes of the input, or with any at all.
  void place(bool is_plausible) {
    const MessageSeq seq = any_seq();
    const uint32_t slot = input_.byte() % slots.data_slots_max;
    std::array<uint8_t, 256> bytes{};
    const size_t count = input_.byte();
    input_.take(bytes.data() + slot_header_bytes, count % 249);
    if (is_plausible) {
      const auto used = static_cast<uint16_t>(count % 249);
      const uint16_t first = input_.byte();
      const uint16_t start = first < used ? first : no_frame_start;
      encode_slot_header({seq, used, start}, bytes.data());
    } else {
      input_.take(bytes.data(), slot_header_bytes);
    }
    stream_.place(seq, slot, bytes, count % 7 == 0);
    inbound_->take_news(now_);
  }
  void tell_length() {
    const MessageSeq seq = any_seq();
    const uint32_t length = input_.byte() % 80u;
    stream_.say_length(seq, length, input_.byte());
    inbound_->take_news(now_);
  }
  void abandon() {
    const MessageSeq seq = any_seq();
    const uint32_t first = input_.byte();
    const uint32_t count = input_.byte();
    stream_.abandon(seq, first, count == 255 ? slots_unknown : count);
    inbound_->take_news(now_);
  }
  void end_epoch() {
    stream_.reset();
    inbound_->take_news(now_);
  }
  void pass_time() {
    now_ += Duration::from_us(int64_t{input_.byte()} * 50);
    inbound_->on_time(now_);
  }
  void drain() {
    for (const auto& packet : lan_.drain(release_, now_)) CW_ASSERT(packet.size() <= 1500);
  }
  void check() const {
    CW_ASSERT(inbound_->accounts().is_balanced());
    CW_ASSERT(inbound_->frames_lent() <= 32);
  }

  Input input_{nullptr, 0};
  Counters counters_;
  Drops drops_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  LanPort lan_{4, 1500};
  SlotStream stream_{slots};
  Release release_{{.rate = Rate::from_mbps(100), .frames_max = 32}, lan_, counters_};
  std::unique_ptr<InboundStock> stock_ = test::stock_for(slots, drops_, 32);
  std::unique_ptr<Inbound> inbound_ =
      std::make_unique<Inbound>(InboundOptions{.slots = slots, .hold = Duration::from_ms(3)},
                                *stock_, stream_.sink(), release_);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static Driver driver;
  driver.run({bytes, size});
  return 0;
}
