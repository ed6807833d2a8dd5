// A reader between a real stream and a real order, for its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/gateway/to_lan/slot_reader.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {

/// A reader of slots of 256 bytes, 248 of the stream in each, and what it has read: all frames let
/// go, unless they are to be kept.
struct ReaderBench {
  struct One {
    uint32_t index;
    ParsedFrame frame;
    ByteRow packet;
  };
  explicit ReaderBench(SlotReaderOptions with = {.messages = 2,
                                                 .data_slots_max = 70,
                                                 .payload_bytes_max = 256,
                                                 .stall = Duration::from_ms(10)},
                       MessageSeq first_seq = {}, size_t frames_max = 4096)
      : options(with),
        stream(with, first_seq),
        packer(with.payload_bytes_max, with.data_slots_max, first_seq),
        memory(with.messages * with.message_bytes(), 0xdd),
        buffers(memory, with.message_bytes()),
        frame_stock(frames_max),
        table(frame_stock, with.messages, drops),
        row_stock(with.messages, with.data_slots_max),
        rows(with.messages, with.data_slots_max, row_stock),
        order({.messages = with.messages,
               .data_slots_max = with.data_slots_max,
               .first_message = first_seq},
              table, rows, bucket_stock),
        reader(with, stream.sink(), rows, table, order, drops) {
    stream.sink().read_along(buffers);
    turn();
  }
  TestFrame add(size_t bytes, FrameHeader header = {.order = FrameOrder::AtOnce}) {
    TestFrame frame{header, ip_packet(random, bytes)};
    packer.add(frame);
    return frame;
  }
  void place(uint32_t message, uint32_t slot) {
    place_bytes(message, slot, packer.messages()[message][slot]);
  }
  void place_bytes(uint32_t message, uint32_t slot, const ByteRow& bytes) {
    stream.place(packer.seq_of(message), slot, bytes);
    read();
  }
  void say_length(uint32_t message, uint32_t slots, uint32_t of_frames = 0) {
    stream.say_length(packer.seq_of(message), slots, of_frames);
    read();
  }
  void abandon(uint32_t message, uint32_t first, uint32_t slots) {
    stream.abandon(packer.seq_of(message), first, slots);
    read();
  }
  void read() {
    sdr::MessageNews news;
    while (stream.sink().take_news({&news, 1}) == 1) reader.read(news, now);
    collect();
  }
  bool turn() { return turn(now); }
  bool turn(Instant at) {
    const bool has_worked = reader.on_time(at);
    collect();
    return has_worked;
  }
  void collect() {
    for (; !order.released().is_empty(); order.released().drop_front()) {
      const uint32_t index = order.released().front();
      const ParsedFrame& frame = table.at(index).parsed;
      ByteRow packet(frame.header.bytes);
      rows.copy(frame, packet.data());
      frames.push_back({index, frame, packet});
      if (!keeps) table.leave(index);
    }
  }
  size_t count() const { return frames.size(); }
  bool is_open(uint32_t message) const { return stream.is_open(packer.seq_of(message)); }
  uint64_t dropped(DropReason reason) const { return drops.read_any_thread(reason); }

  SlotReaderOptions options;
  Instant now = Instant::from_ns(1'000'000);
  Prng random{7};
  Drops drops;
  SlotStream stream;
  Packer packer;
  ByteRow memory;
  sdr::RecvBuffers buffers;
  FrameStock frame_stock;
  FrameTable table;
  SlotRowStock row_stock;
  SlotRows rows;
  BucketStock bucket_stock{16};
  Order order;
  SlotReader reader;
  bool keeps = false;
  std::vector<One> frames;
};

}  // namespace cw::gateway::test
