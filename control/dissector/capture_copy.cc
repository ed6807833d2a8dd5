#include "control/dissector/capture_copy.h"

#include <algorithm>
#include <bit>
#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cw::dissector {
namespace {

using Bytes = std::vector<uint8_t>;

enum BlockType : uint32_t { Section = 0x0a0d0d0a, Interface = 1, Packet = 6 };
constexpr uint32_t byte_order = 0x1a2b3c4d;
/// Type and length before a body, length behind it.
constexpr size_t frame_bytes = 12;
constexpr uint32_t block_bytes_max = 64 << 20;
/// Interface, time, bytes here, bytes on the wire.
constexpr size_t packet_head_bytes = 20;
constexpr uint16_t option_end = 0, option_comment = 1;
constexpr size_t comment_bytes_max = 1024;

/// How frames of an interface begin: bytes of another header, and what stands behind it.
struct LinkType {
  uint16_t number;
  size_t skipped;
  FrameStart start;
};
constexpr LinkType link_types[] = {{1, 0, FrameStart::Ethernet}, {101, 0, FrameStart::Ip},
                                   {228, 0, FrameStart::Ip},     {229, 0, FrameStart::Ip},
                                   {113, 16, FrameStart::Ip},    {276, 20, FrameStart::Ip}};

size_t padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

class Copy {
 public:
  Copy(std::istream& from, std::ostream& to, Opener& opener)
      : from_(from), to_(to), opener_(opener) {}

  Result<CopyCounts> run() {
    while (try_copy_block()) {
      if (!to_) return failure("cannot be written: its disk is full, or it went away");
    }
    if (is_at_end_ && has_section_) return counts_;
    return failure(has_section_ ? "ends within a block, or is damaged there"
                                : "is no pcapng; `editcap -F pcapng IN OUT` makes one of others");
  }

 private:
  /// False: there is no other, or none that can be read.
  bool try_copy_block() {
    uint8_t head[8];
    is_at_end_ = !read(head) && from_.gcount() == 0;
    if (!from_) return false;
    uint8_t order[sizeof byte_order];
    size_t read_bytes = 0;
    if (read_at<uint32_t>(head) == Section) {  // the same in either order of bytes
      read_bytes = sizeof order;
      if (!read(order) || !begin_section(read_at<uint32_t>(order))) return false;
    }
    const uint32_t bytes = word_at(head + 4);
    if (!has_section_ || bytes < frame_bytes + read_bytes || bytes % 4 != 0 ||
        bytes > block_bytes_max) {
      return false;
    }
    Bytes body(bytes - frame_bytes);
    std::copy_n(order, read_bytes, body.begin());
    uint8_t tail[4];
    if (!read(std::span(body).subspan(read_bytes)) || !read(tail)) return false;
    copy(word_at(head), body);
    return true;
  }

  bool read(std::span<uint8_t> bytes) {
    from_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(from_);
  }

  bool begin_section(uint32_t magic) {
    is_swapped_ = magic == std::byteswap(byte_order);
    has_section_ = is_swapped_ || magic == byte_order;
    links_.clear();
    return has_section_;
  }

  template <class T>
  T in_order(T value) const {
    return is_swapped_ ? std::byteswap(value) : value;
  }
  uint32_t word_at(const uint8_t* at) const { return in_order(read_at<uint32_t>(at)); }
  uint16_t half_at(const uint8_t* at) const { return in_order(read_at<uint16_t>(at)); }
  template <class T>
  void put(Bytes& bytes, T value) const {
    value = in_order(value);
    const auto* const raw = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  }

  void copy(uint32_t type, const Bytes& body) {
    if (type == Interface && body.size() >= 2) links_.push_back(half_at(body.data()));
    if (type == Packet) return write(type, opened(body));
    write(type, body);
  }

  void write(uint32_t type, const Bytes& body) {
    Bytes block;
    const auto bytes = static_cast<uint32_t>(body.size() + frame_bytes);
    put(block, type);
    put(block, bytes);
    block.insert(block.end(), body.begin(), body.end());
    put(block, bytes);
    to_.write(reinterpret_cast<const char*>(block.data()),
              static_cast<std::streamsize>(block.size()));
  }

  /// Null: frames of this interface begin in a way that is not known here.
  const LinkType* link_of(uint32_t interface) const {
    if (interface >= links_.size()) return nullptr;
    const auto found = std::ranges::find(link_types, links_[interface], &LinkType::number);
    return found == std::end(link_types) ? nullptr : found;
  }

  /// The body of a block with the packet as it was before it was sealed.
  Bytes opened(const Bytes& body) {
    if (body.size() < packet_head_bytes) return body;
    ++counts_.packets;
    const uint32_t here = word_at(&body[12]), on_wire = word_at(&body[16]);
    const LinkType* const link = link_of(word_at(body.data()));
    if (link == nullptr || here > body.size() - packet_head_bytes || here < link->skipped) {
      return body;
    }
    if (here < on_wire) return ++counts_.cut, body;
    const std::span<const uint8_t> frame(body.data() + packet_head_bytes, here);
    const auto found = opener_.open(frame.subspan(link->skipped), link->start);
    if (!found) return body;
    Bytes out(body.begin(), body.begin() + 12);
    const auto bytes = static_cast<uint32_t>(link->skipped + found->bytes.size());
    put(out, bytes);
    put(out, bytes);
    out.insert(out.end(), frame.begin(), frame.begin() + static_cast<ptrdiff_t>(link->skipped));
    out.insert(out.end(), found->bytes.begin(), found->bytes.end());
    out.resize(padded(out.size()));
    put_comment(out, found->about);
    const size_t behind = packet_head_bytes + padded(here);
    if (behind < body.size()) out.insert(out.end(), &body[behind], body.data() + body.size());
    if (behind >= body.size()) put(out, uint32_t{option_end});
    return out;
  }

  void put_comment(Bytes& out, std::string_view text) const {
    text = text.substr(0, comment_bytes_max);
    put(out, option_comment);
    put(out, static_cast<uint16_t>(text.size()));
    out.insert(out.end(), text.begin(), text.end());
    out.resize(padded(out.size()));
  }

  std::istream& from_;
  std::ostream& to_;
  Opener& opener_;
  bool has_section_ = false, is_swapped_ = false, is_at_end_ = false;
  std::vector<uint16_t> links_;  // by number, of this section
  CopyCounts counts_;
};

}  // namespace

Result<CopyCounts> copy_capture(std::istream& from, std::ostream& to, Opener& opener) {
  return Copy(from, to, opener).run();
}

}  // namespace cw::dissector
