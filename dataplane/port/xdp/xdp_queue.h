// A socket of AF_XDP at one queue of an interface: four rings that the kernel shares.
//
//   fill -> kernel -> rx       frames that are free, and come back with what has arrived
//   tx -> kernel -> done       frames that are to leave, and come back when they have
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/frame/frame_device.h"
#include "dataplane/port/xdp/xdp_frames.h"
#include "dataplane/port/xdp/xdp_socket.h"

namespace cw {

/// Thread: one. System calls: one for some packets that are sent; none to receive.
class XdpQueue {
 public:
  /// Over a socket that has the frames' memory and is bound to nothing yet. `descriptors`: a power
  /// of two. The frames outlive the queue, and are shared with others of the same thread, of other
  /// `holder`s than this (not zero). Errors: what the kernel says.
  static Result<std::unique_ptr<XdpQueue>> make(OwnedFd socket, uint32_t number, XdpFrames& frames,
                                                uint8_t holder, uint32_t descriptors);
  /// What the kernel had of the frames is free then.
  ~XdpQueue();
  XdpQueue(const XdpQueue&) = delete;
  XdpQueue& operator=(const XdpQueue&) = delete;

  /// Nothing comes or leaves before. To be tried again where it fails.
  Result<void> join(const std::string& interface, int sockets_map);
  bool is_joined() const { return is_joined_; }
  /// What join() found: the kernel has another socket there, or one whose process has ended.
  bool is_taken() const { return is_taken_; }
  uint32_t number() const { return number_; }

  size_t rx_burst(std::span<Packet*> out);
  /// Takes frames from the front, as many as there is room for.
  size_t tx_burst(std::span<Packet* const> packets);
  /// Frees the frames that have left; has the kernel go on with those that have not.
  void settle();
  bool is_sending() const { return sending_ > 0; }

  int fd() const { return socket_.fd(); }
  uint64_t received() const { return received_; }
  FrameDeviceCounters counters() const;

 private:
  XdpQueue(uint32_t number, XdpFrames& frames, uint8_t holder)
      : number_(number), frames_(frames), holder_(holder) {}
  void free_packet(uint32_t frame);
  void append(const xdp_desc& more);
  bool take_whole(const Packet& packet);
  uint32_t put_chunks(const Packet& packet, uint32_t at);
  void fill();
  void kick();
  void take_done();

  const uint32_t number_;
  XdpFrames& frames_;
  const uint8_t holder_;
  bool is_joined_ = false, is_taken_ = false;
  XdpSocket socket_;
  xsk_ring_prod &fill_ = socket_.rings().fill, &tx_ = socket_.rings().tx;
  xsk_ring_cons &rx_ = socket_.rings().rx, &done_ = socket_.rings().done;
  Packet* arriving_ = nullptr;  // whose last chunk has not come yet
  bool is_too_long_ = false;    // what arrives
  uint32_t sending_ = 0;        // chunks
  uint64_t system_calls_ = 0, received_ = 0, rx_errors_ = 0;
};

}  // namespace cw
