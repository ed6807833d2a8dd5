// Which sources send at the same time, and which one after the other: a chain is a row of ranks of
// one site, in their order, so that the sign for the next one never crosses between sites. All
// members come to the same, by the sites of all.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/assert.h"

namespace cw::group {

/// Thread: any, once made. Cost: constant, but for making it.
class Chains {
 public:
  /// That can be wanted; there is at least one at each site.
  static constexpr uint32_t wanted_max = 8;

  /// `sites` by rank.
  explicit Chains(const std::vector<uint16_t>& sites) : places_(sites.size()) {
    std::vector<uint32_t> index(size_t{1} << 16, UINT32_MAX);
    for (const uint16_t site : sites) {
      uint32_t& number = index[site];
      if (number == UINT32_MAX) {
        number = static_cast<uint32_t>(rows_.size());
        rows_.emplace_back();
      }
      ++rows_[number].count;
    }
    for (size_t i = 1; i < rows_.size(); ++i)
      rows_[i].first = rows_[i - 1].first + rows_[i - 1].count;
    order_.resize(sites.size());
    std::vector<uint32_t> filled(rows_.size());
    for (size_t rank = 0; rank < sites.size(); ++rank) {
      const uint32_t row = index[sites[rank]];
      const uint32_t nth = filled[row]++;
      order_[rows_[row].first + nth] = static_cast<uint16_t>(rank);
      places_[rank] = {row, nth};
    }
    for (uint32_t wanted = 1; wanted <= wanted_max; ++wanted) cut(wanted);
  }

  /// How many there are where so many are wanted.
  uint32_t count(uint32_t wanted) const { return counts_[wanted - 1]; }
  uint32_t count_max() const { return std::ranges::max(counts_); }
  /// Sources of the longest one.
  uint32_t longest(uint32_t wanted) const {
    uint32_t most = 0;
    for (const Row& row : rows_)
      most = std::max(most, (row.count + row.chains[wanted - 1] - 1) / row.chains[wanted - 1]);
    return most;
  }
  uint32_t chain_of(uint16_t rank, uint32_t wanted) const {
    return row_of(rank).before[wanted - 1] + nth_chain_of(rank, wanted);
  }
  /// In its chain.
  uint32_t place_of(uint16_t rank, uint32_t wanted) const {
    const Row& row = row_of(rank);
    const uint32_t first = nth_chain_of(rank, wanted) * row.count / row.chains[wanted - 1];
    return places_[rank].nth - first;
  }
  /// Which has a place above 0.
  uint16_t predecessor_of(uint16_t rank) const {
    return order_[row_of(rank).first + places_[rank].nth - 1];
  }
  std::optional<uint16_t> successor_of(uint16_t rank, uint32_t wanted) const {
    const Row& row = row_of(rank);
    if (places_[rank].nth + 1 == row.count) return std::nullopt;
    const uint16_t next = order_[row.first + places_[rank].nth + 1];
    if (nth_chain_of(next, wanted) != nth_chain_of(rank, wanted)) return std::nullopt;
    return next;
  }

 private:
  /// Of a site: where its ranks stand in order_, and for each number that may be wanted how many
  /// chains it has, and how many those before it have.
  struct Row {
    uint32_t first = 0, count = 0;
    std::array<uint32_t, wanted_max> chains{}, before{};
  };
  struct Place {
    uint32_t row = 0, nth = 0;
  };

  void cut(uint32_t wanted) {
    uint32_t all = 0;
    for (Row& row : rows_) {
      const auto members = static_cast<uint32_t>(places_.size());
      row.chains[wanted - 1] = std::clamp(wanted * row.count / members, 1u, row.count);
      row.before[wanted - 1] = all;
      all += row.chains[wanted - 1];
    }
    counts_[wanted - 1] = all;
  }
  const Row& row_of(uint16_t rank) const { return rows_[places_[rank].row]; }
  /// Chain c of m has the members of its site from floor(c n / m) on.
  uint32_t nth_chain_of(uint16_t rank, uint32_t wanted) const {
    const Row& row = row_of(rank);
    return ((places_[rank].nth + 1) * row.chains[wanted - 1] - 1) / row.count;
  }

  std::vector<Row> rows_;
  std::vector<uint16_t> order_;  // of ranks, site by site
  std::vector<Place> places_;    // by rank
  std::array<uint32_t, wanted_max> counts_{};
};

}  // namespace cw::group
