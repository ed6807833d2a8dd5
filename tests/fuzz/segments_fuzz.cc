// The TUN port's splitter and merger over hostile headers: 10 bytes of virtio_net_hdr, then the
// packet. Nothing may be read or written outside what was given (libFuzzer's block is of exactly
// its size), every piece of a split must have right lengths, and what merges must split again into
// the same packets.
#include <cstring>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/port/tun/merge.h"
#include "dataplane/port/tun/split.h"
#include "dataplane/wire/outer/checksum.h"

namespace {
using namespace cw;
using ByteVector = std::vector<uint8_t>;

std::vector<ByteVector> split(std::span<const uint8_t> packet, const Offload& offload) {
  std::vector<ByteVector> pieces;
  auto splitter = Splitter::make(packet, offload);
  if (!splitter) return pieces;
  size_t bytes = 0;
  for (size_t left = splitter->pieces_left(); left > 0; --left) {
    CW_ASSERT(splitter->pieces_left() == left);
    ByteVector piece(splitter->piece_bytes_max());
    piece.resize(splitter->next(piece));
    bytes += piece.size();
    if (pieces.size() < 100) pieces.push_back(piece);
  }
  CW_ASSERT(splitter->pieces_left() == 0 && bytes >= packet.size());
  return pieces;
}

void check_lengths(const ByteVector& piece, const Offload& offload) {
  if (piece[0] >> 4 == 4) {
    CW_ASSERT(ip_layout::load<be16>(&piece[2]) == piece.size());
    const size_t header_bytes = offload.checksum_start;
    CW_ASSERT(sum_of(std::span(piece).first(header_bytes)) == 0xffff);
  } else {
    CW_ASSERT(ip_layout::load<be16>(&piece[4]) + 40u == piece.size());
  }
}

void merge_and_split(const std::vector<ByteVector>& pieces) {
  Merger merger;
  merger.begin(pieces[0]);
  size_t count = 1;
  while (count < pieces.size() && merger.try_add(pieces[count])) ++count;
  if (count < 2) return;
  const auto headers = merger.write_headers();
  ByteVector joined(headers.begin(), headers.end());
  for (size_t i = 0; i < count; ++i) {
    joined.insert(joined.end(), pieces[i].begin() + static_cast<ptrdiff_t>(headers.size()),
                  pieces[i].end());
  }
  const auto again = split(joined, merger.offload());
  CW_ASSERT(again.size() == count);
  for (size_t i = 0; i < count; ++i) CW_ASSERT(again[i].size() == pieces[i].size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  VnetHeader header;
  if (size < sizeof header) return 0;
  std::memcpy(&header, data, sizeof header);
  // A block of its own, so that the sanitizer sees both ends.
  ByteVector packet(data + sizeof header, data + size);
  const auto offload = parse_offload(header);
  if (!offload) return 0;
  const auto pieces = split(packet, *offload);
  for (const ByteVector& piece : pieces) check_lengths(piece, *offload);
  if (!pieces.empty()) merge_and_split(pieces);
  complete_checksum(packet, *offload);
  return 0;
}
