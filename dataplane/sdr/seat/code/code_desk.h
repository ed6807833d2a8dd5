// Where the rows of an endpoint's streams are coded: the coders, memory for the rows under way, and
// whoever computes them (offload/coding/code_executor.h).
//
//   stream:  take() -> inputs, outputs -> try_submit()        on_row_coded() -> the row is gone
//                                            |                      ^
//   desk:                               coder for the shape -> a turn's budget, or a thread
//
// A row under way may be read and written by another thread until on_row_coded(). What its shards
// point to must stay for so long: the row's own buffers do; for all else its client answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/codec.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "offload/coding/coder.h"
#include "offload/coding/code_executor.h"

namespace cw::sdr {

class CodeDesk;

/// One row of a coded set on its way.
struct CodeRow {
  // The client's own, to know it again.
  uint64_t request = 0;
  uint32_t place = 0;
  uint32_t row = 0;

  bool is_decode = false;
  uint32_t input_count = 0, output_count = 0;
  std::array<cw_shard, limits::shards_per_block_max> inputs{}, outputs{};

  void add_input(uint32_t id, const uint8_t* bytes) {
    // A codec does not write to what it is given.
    inputs[input_count++] = {.id = id,
                             .window_first = 0,
                             .window_count = 0,
                             .reserved = 0,
                             .bytes = const_cast<uint8_t*>(bytes)};
  }
  void add_output(uint32_t id, uint8_t* bytes) {
    outputs[output_count++] = {
        .id = id, .window_first = 0, .window_count = 0, .reserved = 0, .bytes = bytes};
  }
  void clear() { input_count = output_count = 0; }
};

class CodeClient {
 public:
  /// The row is coded, or could not be; after this it is the desk's again.
  virtual void on_row_coded(CodeRow& row, const CodeResult& result) = 0;

 protected:
  ~CodeClient() = default;
};

/// Thread: the endpoint's worker. Nothing allocates after the last reserve().
class CodeDesk {
 public:
  explicit CodeDesk(const CodingOptions& options = {}) : options_(options) {}

  /// Memory for one more stream's rows, before the first turn. Errors: shapes that a codec of the
  /// stream refuses, a thread that cannot be made.
  Result<void> reserve(const StreamConfig& config);

  /// A row to fill, cleared; null when all are under way.
  CodeRow* take();
  /// One that was not submitted.
  void give_back(CodeRow& row) { free_.push_back(index_of(row)); }
  /// Memory of a row, as long as a shard of any stream; there are as many as the widest set has
  /// shards.
  uint8_t* buffer(const CodeRow& row, uint32_t n) const {
    return buffers_->at(index_of(row) * shards_max_ + n);
  }
  /// As long and as zero.
  const uint8_t* zeros() const { return zeros_->at(0); }

  /// How many repair shards of a row to submit at once, so that no turn is long for it.
  uint32_t outputs_max(const CodeShape& shape) const { return executor_->outputs_max(shape); }
  /// False, and the row stays the caller's, when this turn can compute no more of this shape.
  bool try_submit(CodeRow& row, CodeClient& client, const cw_codec_ops& ops,
                  const CodeShape& shape);

  void begin_turn() {
    if (executor_) executor_->begin_turn();
  }
  /// Tells the clients of rows that are done; whether there were any.
  bool poll();
  /// Rows are being coded, and poll() may have something before anything else happens.
  bool is_busy() const { return under_way_ > 0; }
  /// Waits for the rows under way and forgets them: nobody writes to a client's memory any more.
  void stop() { executor_.reset(); }

  const CodeExecutor* executor() const { return executor_.get(); }

 private:
  static constexpr size_t coders_max = 8;
  struct Place {
    Coder coder;
    uint32_t users = 0;  // rows under way
    uint64_t used_last = 0;
  };

  size_t index_of(const CodeRow& row) const { return static_cast<size_t>(&row - rows_.get()); }
  /// The place whose coder has this shape; -1 when none has and all are in use.
  int place_for(const cw_codec_ops& ops, const CodeShape& shape);
  Result<void> build();

  CodingOptions options_;
  std::vector<const cw_codec_ops*> codecs_;
  CodeShape largest_;
  uint32_t shards_max_ = 0;

  std::vector<Place> places_;
  uint64_t uses_ = 0;
  std::unique_ptr<CodeRow[]> rows_;
  struct Way {
    CodeClient* client = nullptr;
    uint32_t place = 0;
  };
  std::vector<Way> ways_;  // of the rows
  std::vector<size_t> free_;
  std::unique_ptr<Buffers> buffers_, zeros_;
  size_t under_way_ = 0;
  std::unique_ptr<CodeExecutor> executor_;  // ends before what its threads use
};

}  // namespace cw::sdr
