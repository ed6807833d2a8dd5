// Rtnetlink, as far as the LAN device needs it: requests, what the kernel answers, and rows of
// answers.
#pragma once

#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/kernel/owned_fd.h"

namespace cw::site {

/// One request: a header, a body and some attributes.
template <class Body>
class Request {
 public:
  Request(uint16_t type, uint16_t flags) {
    header().nlmsg_type = type;
    header().nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    header().nlmsg_len = NLMSG_LENGTH(sizeof(Body));
  }
  nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes_.data()); }
  Body& body() { return *static_cast<Body*>(NLMSG_DATA(&header())); }

  void add(uint16_t type, const void* data, size_t count) {
    auto* attribute = reinterpret_cast<rtattr*>(bytes_.data() + NLMSG_ALIGN(header().nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = static_cast<uint16_t>(RTA_LENGTH(count));
    std::memcpy(RTA_DATA(attribute), data, count);
    header().nlmsg_len =
        static_cast<uint32_t>(NLMSG_ALIGN(header().nlmsg_len) + RTA_ALIGN(attribute->rta_len));
  }

 private:
  alignas(NLMSG_ALIGNTO) std::array<uint8_t, 256> bytes_{};
};

/// Thread: one.
class Netlink {
 public:
  Netlink() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}

  /// What the kernel answers: zero, or an errno.
  template <class Body>
  int ask(Request<Body> request) {
    nlmsghdr& header = request.header();
    if (send(fd_.get(), &header, header.nlmsg_len, 0) < 0) return errno;
    alignas(nlmsghdr) std::array<uint8_t, 8192> answer;
    const ssize_t count = recv(fd_.get(), answer.data(), answer.size(), 0);
    if (count < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
      return count < 0 ? errno : EPROTO;
    }
    const auto* reply = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (reply->nlmsg_type != NLMSG_ERROR) return EPROTO;
    return -static_cast<const nlmsgerr*>(NLMSG_DATA(reply))->error;
  }

  /// Calls `see` with each message of the row that the kernel answers with.
  template <class Body, class See>
  void list(Request<Body> request, const See& see) {
    nlmsghdr& header = request.header();
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (send(fd_.get(), &header, header.nlmsg_len, 0) < 0) return;
    alignas(nlmsghdr) static thread_local std::array<uint8_t, 32768> answer;
    while (true) {
      const ssize_t count = recv(fd_.get(), answer.data(), answer.size(), 0);
      if (count <= 0) return;
      auto left = static_cast<size_t>(count);
      const void* at = answer.data();
      while (left >= sizeof(nlmsghdr)) {
        const auto& each = *static_cast<const nlmsghdr*>(at);
        if (each.nlmsg_len < sizeof(nlmsghdr) || each.nlmsg_len > left) return;
        if (each.nlmsg_type == NLMSG_DONE || each.nlmsg_type == NLMSG_ERROR) return;
        see(each);
        const size_t step = std::min<size_t>(NLMSG_ALIGN(each.nlmsg_len), left);
        at = static_cast<const uint8_t*>(at) + step;
        left -= step;
      }
    }
  }

 private:
  OwnedFd fd_;
};

}  // namespace cw::site
