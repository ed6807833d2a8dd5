// What two kernels have to say to each other on a cable that a gateway uses too, all the while: a
// TCP connection of small questions and answers, as ssh is one, pings, and ARP, of which both
// forget the answer again and again so that it is asked for anew.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "tests/lab/space.h"

namespace cw::lab {

/// One of both machines on the cable.
struct KernelTalker {
  const Space& space;
  const char* address;  ///< IPv4
  const char* interface;
};

struct KernelTalkCounts {
  uint64_t questions = 0, answers = 0;  ///< over TCP; one at a time
  uint64_t pings = 0, pongs = 0;
  uint64_t forgotten = 0;      ///< how often both forgot whose MAC it is
  bool is_wrong = false;       ///< something else was answered than was asked
  bool ends_in_touch = false;  ///< in the end a ping is answered, ARP before it
  std::string trouble;         ///< of the connection; empty: none

  bool is_whole() const {
    return !is_wrong && trouble.empty() && answers == questions && ends_in_touch;
  }
};

/// Thread: one, besides its own three.
class KernelTalk {
 public:
  /// `near` asks; throws when it does not get through to `far`.
  KernelTalk(const KernelTalker& near, const KernelTalker& far);
  ~KernelTalk();
  KernelTalk(const KernelTalk&) = delete;
  KernelTalk& operator=(const KernelTalk&) = delete;

  /// Asks no more, and waits for what is still to be answered.
  KernelTalkCounts finish(std::chrono::milliseconds most);

 private:
  void ask_all();
  void answer_all();
  void ping_all();
  void forget();
  void note(const std::string& trouble);
  bool try_send(int fd, const uint8_t* bytes, size_t count);
  bool try_answer_right(uint64_t question, size_t count);

  const KernelTalker near_, far_;
  int asker_ = -1, answerer_ = -1;
  std::atomic<bool> is_over_ = false, is_given_up_ = false;
  mutable std::mutex mutex_;
  KernelTalkCounts counts_;
  std::thread asking_, answering_, pinging_;
};

/// The line that a person reads.
std::string text_of(const KernelTalkCounts& counts);

}  // namespace cw::lab
