// A row of messages through a stream, as programs send and take them: what the simulator, perf and
// tests do with the doors of dataplane/sdr, and the one place where they do it.
//
//   source:  open, append all or a piece a turn, close -> (settled) -> tell, forget
//   sink:    post ahead -> (over, or patience is)      -> tell, complete, post its memory again
//
// Messages are numbered from 0 as they are opened, receives as they are posted. The stream is told
// with each call: a site that restarts has another one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/sdr/sink.h"
#include "dataplane/sdr/source.h"

namespace cw {

class SourcePump {
 public:
  struct Options {
    size_t in_flight = 1;      ///< opened and not settled, at most
    bool is_numbered = false;  ///< message i has immediate i
    uint32_t pieces = 1;       ///< of a message at most, appended one per turn in a shuffled order
    uint64_t seed = 1;         ///< of the shuffle
  };
  struct Message {
    std::span<const uint8_t> bytes{};  ///< stay as they are until `told` has been told
    std::vector<uint8_t> memory{};     ///< instead of them: kept as long
  };
  /// A part that is appended on its own: whole slots, save at the message's end.
  struct Piece {
    uint32_t slot = 0;
    uint64_t offset = 0, bytes = 0;
  };
  struct Sending {
    uint64_t index = 0;
    sdr::SendHandle handle;
    Instant opened;
    Message message;
    std::vector<Piece> pieces{};  ///< to be appended, the next one last; none: it is closed
  };

  explicit SourcePump(const Options& options) : options_(options), prng_(options.seed) {}

  /// Opens messages below `end` while there is room; `make(index)` says of each what it is, once
  /// it is open. Returns how many.
  template <class Make>
  size_t open(sdr::Source stream, Instant now, uint64_t end, const Make& make) {
    const uint64_t before = opened_;
    while (opened_ < end && opened_ - over_ < options_.in_flight) {
      const auto handle = try_open(stream);
      if (!handle) break;
      begin(stream, {opened_, *handle, now, make(opened_)});
    }
    return opened_ - before;
  }

  /// Appends a piece of each message that has any left, and ends those that are settled, after
  /// `told(sending, status)`. Returns how many.
  template <class Told>
  size_t settle(sdr::Source stream, const Told& told) {
    const uint64_t before = over_;
    for (auto sending = sending_.begin(); sending != sending_.end();) {
      if (!sending->pieces.empty()) append_next(stream, *sending);
      if (!stream.is_released(sending->handle)) {
        ++sending;
        continue;
      }
      told(std::as_const(*sending), stream.status(sending->handle));
      stream.forget(sending->handle);
      sending = sending_.erase(sending);
      ++over_;
    }
    return over_ - before;
  }
  /// When settle() is due even if the stream does nothing: at once while there are pieces.
  Instant next_deadline() const;

  /// The stream is gone, and with it what was under way.
  std::deque<Sending> drop();

  const std::deque<Sending>& in_flight() const { return sending_; }
  uint64_t opened_count() const { return opened_; }
  uint64_t over_count() const { return over_; }  ///< settled or dropped

 private:
  std::optional<sdr::SendHandle> try_open(sdr::Source stream) const;
  void begin(sdr::Source stream, Sending sending);
  static void append_next(sdr::Source stream, Sending& sending);

  Options options_;
  Prng prng_;
  uint64_t opened_ = 0, over_ = 0;
  std::deque<Sending> sending_;
};

class SinkPump {
 public:
  struct Options {
    uint64_t bytes = 0;              ///< that each receive has room for
    size_t ahead = SIZE_MAX;         ///< posted and not over, at most; streams have a limit, too
    uint64_t messages = UINT64_MAX;  ///< so many are posted in all
    /// A receive is over, holes or not, so long after the first sign of its message.
    Duration patience = Duration::max();
    bool waits_while_it_grows = false;  ///< so long after its latest slot instead
    /// Takes memory whose receive is completed; none: the next receive has it.
    std::function<void(std::vector<uint8_t>)> release{};
  };
  /// A receive that is over, before it is completed.
  struct Over {
    uint64_t index;
    sdr::RecvInfo info;
    std::span<const uint8_t> memory;
    sdr::Sink stream;
    sdr::RecvHandle handle;

    bool is_whole() const { return info.status == sdr::MessageStatus::Done; }
    std::optional<uint32_t> immediate() const { return stream.immediate(handle); }
    /// Calls `told(offset, bytes)` for each chunk that is in place of a message of `size` bytes.
    template <class Told>
    void for_each_chunk(uint64_t size, const Told& told) const {
      const sdr::StreamConfig& config = stream.config();
      const uint64_t chunk_bytes = uint64_t{config.chunk_slots} * config.payload_bytes;
      const auto bitmap = stream.chunk_bitmap(handle);
      for (uint64_t chunk = 0; chunk * chunk_bytes < size; ++chunk) {
        if ((bitmap[chunk / 8] >> chunk % 8 & 1) == 0) continue;
        const uint64_t first = chunk * chunk_bytes;
        told(first, memory.subspan(first, std::min(chunk_bytes, size - first)));
      }
    }
  };

  explicit SinkPump(Options options) : options_(std::move(options)) {}

  /// Posts receives while there is room. Returns how many.
  size_t post(sdr::Sink stream) {
    const uint64_t before = posted_;
    while (posted_ < options_.messages && posted_ - over_ < options_.ahead && try_post(stream)) {
    }
    return posted_ - before;
  }

  /// Completes each receive that is over, after `told(over)`. Returns how many.
  template <class Told>
  size_t take(sdr::Sink stream, Instant now, const Told& told) {
    if (!has_patience() && stream.over_count() == over_seen_) return 0;  // none is worth a look
    over_seen_ = stream.over_count();
    const uint64_t before = over_;
    for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
      const sdr::RecvInfo info = stream.info(receiving->handle);
      if (!is_over(*receiving, info, now)) {
        ++receiving;
        continue;
      }
      told(Over{receiving->index, info, receiving->memory, stream, receiving->handle});
      CW_ASSERT(stream.complete(receiving->handle, now));
      release(std::move(receiving->memory));
      receiving = receiving_.erase(receiving);
      ++over_;
    }
    return over_ - before;
  }
  /// When patience with some message ends.
  Instant next_deadline() const;

  /// The stream is gone, and with it what was posted.
  void drop();

  uint64_t posted_count() const { return posted_; }
  uint64_t over_count() const { return over_; }  ///< completed or dropped

 private:
  struct Receiving {
    uint64_t index = 0;
    sdr::RecvHandle handle;
    std::vector<uint8_t> memory;
    std::optional<Instant> heard{};  // since then patience counts
    uint32_t slots_in_place = 0;
  };

  bool has_patience() const { return options_.patience != Duration::max(); }
  bool try_post(sdr::Sink stream);
  bool is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const;
  void release(std::vector<uint8_t> memory);

  Options options_;
  uint64_t posted_ = 0, over_ = 0;
  uint64_t over_seen_ = 0;  // of the stream's over_count()
  std::deque<Receiving> receiving_;
  std::vector<std::vector<uint8_t>> spare_;
};

}  // namespace cw
