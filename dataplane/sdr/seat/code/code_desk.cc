#include "dataplane/sdr/seat/code/code_desk.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw::sdr {

Result<void> CodeDesk::reserve(const StreamConfig& config) {
  if (config.rows == 0) return {};
  CW_ASSERT(under_way_ == 0);
  for (const cw_codec_ops* codec : std::span(config.codecs).first(config.codec_count())) {
    if (std::ranges::find(codecs_, codec) == codecs_.end()) codecs_.push_back(codec);
  }
  largest_.k = std::max<uint32_t>(largest_.k, config.k);
  largest_.m = std::max(largest_.m, m_max(config.m_cap, 1, 1));
  largest_.shard_bytes = std::max(largest_.shard_bytes, config.shard_bytes());
  shards_max_ = std::min<uint32_t>(largest_.k + largest_.m, limits::shards_per_block_max);
  return build();
}

Result<void> CodeDesk::build() {
  executor_.reset();
  places_.clear();
  for (size_t i = 0; i < coders_max; ++i) {
    auto coder = Coder::make_room(codecs_, largest_);
    if (!coder) return std::unexpected(coder.error());
    places_.push_back({.coder = std::move(*coder)});
  }
  rows_ = std::make_unique<CodeRow[]>(options_.rows_max);
  ways_.assign(options_.rows_max, {});
  free_.clear();
  for (size_t i = options_.rows_max; i > 0; --i) free_.push_back(i - 1);
  buffers_ = std::make_unique<Buffers>(options_.rows_max * shards_max_, largest_.shard_bytes);
  zeros_ = std::make_unique<Buffers>(1, largest_.shard_bytes);
  std::memset(zeros_->at(0), 0, largest_.shard_bytes);
  std::vector<const Coder*> coders;
  coders.reserve(places_.size());
  for (const Place& place : places_) coders.push_back(&place.coder);
  CodeExecutorOptions options = options_.executor;
  options.jobs_max = std::max(options.jobs_max, options_.rows_max);
  auto executor = CodeExecutor::make(coders, options);
  if (!executor) return std::unexpected(executor.error());
  executor_ = std::move(*executor);
  return {};
}

CodeRow* CodeDesk::take() {
  if (free_.empty()) return nullptr;
  CodeRow& row = rows_[free_.back()];
  free_.pop_back();
  row.clear();
  return &row;
}

int CodeDesk::place_for(const cw_codec_ops& ops, const CodeShape& shape) {
  int oldest = -1;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const CodeShape& has = place.coder.shape();
    const bool is_same = &place.coder.ops() == &ops && has.k == shape.k && has.m == shape.m &&
                         has.shard_bytes == shape.shard_bytes;
    if (is_same) return static_cast<int>(i);
    const bool is_older = oldest < 0 || place.used_last < places_[oldest].used_last;
    if (place.users == 0 && is_older) oldest = static_cast<int>(i);
  }
  // reserve() has asked every codec about every shape.
  if (oldest >= 0) CW_ASSERT(places_[oldest].coder.try_become(ops, shape));
  return oldest;
}

bool CodeDesk::try_submit(CodeRow& row, CodeClient& client, const cw_codec_ops& ops,
                          const CodeShape& shape) {
  const int found = place_for(ops, shape);
  if (found < 0) return false;
  const size_t index = index_of(row);
  const CodeJob job{.cookie = index,
                    .coder = static_cast<uint32_t>(found),
                    .is_decode = row.is_decode,
                    .inputs = {row.inputs.data(), row.input_count},
                    .outputs = {row.outputs.data(), row.output_count}};
  Place& place = places_[found];
  place.used_last = ++uses_;
  if (executor_->submit({&job, 1}) == 0) return false;
  ++place.users;
  ++under_way_;
  ways_[index] = {&client, static_cast<uint32_t>(found)};
  return true;
}

bool CodeDesk::poll() {
  if (!executor_ || under_way_ == 0) return false;
  std::array<CodeDone, 32> done;
  const size_t count = executor_->poll(done);
  for (size_t i = 0; i < count; ++i) {
    const size_t index = done[i].cookie;
    --places_[ways_[index].place].users;
    --under_way_;
    ways_[index].client->on_row_coded(rows_[index], done[i].result);
    free_.push_back(index);
  }
  return count > 0;
}

}  // namespace cw::sdr
