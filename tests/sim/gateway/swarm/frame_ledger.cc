#include "tests/sim/gateway/swarm/frame_ledger.h"

#include <algorithm>
#include <cstring>

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr uint64_t magic = 0x77656c6c20646f6e;
constexpr size_t headers_bytes = 32;  // behind an IP header, as write_headers() has it

struct Words {
  uint64_t magic, flow_and_number, word, check;
};

size_t text_at(bool is_v6) { return (is_v6 ? 40 : 20) + headers_bytes; }

uint64_t check_of(const Words& words, size_t bytes) {
  uint64_t hash = words.flow_and_number * 0x9e3779b97f4a7c15 ^ words.word ^ bytes << 48;
  hash ^= hash >> 29;
  return hash * 0xbf58476d1ce4e5b9;
}

}  // namespace

uint32_t frame_bytes_min(bool is_v6) {
  return static_cast<uint32_t>(text_at(is_v6) + sizeof(Words));
}

void write_frame(const FlowOptions& flow, const FrameText& text, uint8_t* ip) {
  write_headers(flow, text.number, ip);
  Words words{magic, uint64_t{text.flow} << 32 | text.number, text.word, 0};
  words.check = check_of(words, flow.bytes);
  size_t at = text_at(flow.is_v6);
  std::memcpy(ip + at, &words, sizeof(words));
  at += sizeof(words);
  uint64_t filling = words.check;
  for (; at + sizeof(filling) <= flow.bytes; at += sizeof(filling), ++filling) {
    std::memcpy(ip + at, &filling, sizeof(filling));
  }
  std::memset(ip + at, 0x5a, flow.bytes - at);
}

bool try_read_frame(std::span<const uint8_t> ip, FrameText& text) {
  const bool is_v6 = ip[0] >> 4 == 6;
  if (ip.size() < frame_bytes_min(is_v6)) return false;
  Words words;
  size_t at = text_at(is_v6);
  std::memcpy(&words, ip.data() + at, sizeof(words));
  if (words.magic != magic || words.check != check_of(words, ip.size())) return false;
  at += sizeof(words);
  uint64_t wrong = 0, filling = words.check;
  for (; at + sizeof(filling) <= ip.size(); at += sizeof(filling), ++filling) {
    uint64_t found;
    std::memcpy(&found, ip.data() + at, sizeof(found));
    wrong |= found ^ filling;
  }
  for (; at < ip.size(); ++at) wrong |= ip[at] ^ 0x5au;
  text = {static_cast<uint32_t>(words.flow_and_number >> 32),
          static_cast<uint32_t>(words.flow_and_number), words.word};
  return wrong == 0;
}

void FrameLedger::add_flow(const FlowOptions& flow) {
  const bool is_ordered = flow.kind == PacketKind::Tcp || flow.kind == PacketKind::RoceRc;
  // An acknowledgement waits for responses, never for its like.
  constexpr uint8_t acknowledge = 0x11;
  flows_[flow.number] = {
      .options = flow, .is_ordered = is_ordered && flow.opcode != acknowledge, .frames = {}};
}

void FrameLedger::on_sent(const FrameText& text, Instant now) {
  flows_.at(text.flow).frames.push_back({now});
  ++sent_;
}

bool FrameLedger::on_arrived(int site, std::span<const uint8_t> ip, FrameText& text, Instant now) {
  const bool is_read = try_read_frame(ip, text);
  const auto found = is_read ? flows_.find(text.flow) : flows_.end();
  if (found == flows_.end() || text.number >= found->second.frames.size() ||
      found->second.options.to != site) {
    ++strange_;
    complain("conservation", text,
             "came to site " + std::to_string(site) + ", and no host sent it so");
    return false;
  }
  Flow& flow = found->second;
  Frame& frame = flow.frames[text.number];
  if (frame.has_arrived) {
    ++strange_;
    complain("conservation", text, "came twice");
    return false;
  }
  frame.has_arrived = true;
  ++arrived_;
  const Duration age = now - frame.sent;
  age_max_ = std::max(age_max_, age);
  if (age > rules_.age_max) {
    complain("age", text,
             "came after " + std::to_string(age.ms()) + " ms; at most " +
                 std::to_string(rules_.age_max.ms()) + " ms are right");
  }
  if (flow.is_ordered && text.number < flow.next) {
    complain("order", text, "came behind number " + std::to_string(flow.next - 1));
  }
  flow.next = std::max<uint64_t>(flow.next, text.number + 1);
  return true;
}

void FrameLedger::complain(const char* checker, const FrameText& text, const std::string& what) {
  if (!rules_.is_exact) return;
  verdicts_.complain_of(checker, "frame " + std::to_string(text.number) + " of flow " +
                                     std::to_string(text.flow) + " " + what);
}

uint64_t FrameLedger::arrived_since(uint32_t flow, uint64_t first) const {
  const auto& frames = flows_.at(flow).frames;
  if (first >= frames.size()) return 0;
  return static_cast<uint64_t>(std::count_if(frames.begin() + static_cast<std::ptrdiff_t>(first),
                                             frames.end(),
                                             [](const Frame& frame) { return frame.has_arrived; }));
}

}  // namespace cw::sim
