#include "control/gateway/site/ports/lan_setup.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "control/gateway/keys/prefix.h"

namespace cw::site {
namespace {

using gateway::Prefix;

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

uint8_t family_of(const Prefix& prefix) { return prefix.is_v6 ? AF_INET6 : AF_INET; }
size_t bytes_of(const Prefix& prefix) { return prefix.is_v6 ? 16 : 4; }

Request<ifaddrmsg> address_request(const Prefix& address, uint32_t device) {
  Request<ifaddrmsg> request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
  request.body() = {.ifa_family = family_of(address),
                    .ifa_prefixlen = address.bits,
                    .ifa_flags = IFA_F_NODAD,
                    .ifa_scope = RT_SCOPE_UNIVERSE,
                    .ifa_index = device};
  request.add(IFA_LOCAL, address.address.data(), bytes_of(address));
  request.add(IFA_ADDRESS, address.address.data(), bytes_of(address));
  return request;
}

Request<rtmsg> route_request(uint16_t type, uint16_t flags, const Prefix& route, uint32_t device) {
  Request<rtmsg> request(type, flags);
  request.body() = {.rtm_family = family_of(route),
                    .rtm_dst_len = route.bits,
                    .rtm_table = RT_TABLE_MAIN,
                    .rtm_protocol = RTPROT_STATIC,
                    .rtm_scope = RT_SCOPE_LINK,
                    .rtm_type = RTN_UNICAST};
  if (type == RTM_DELROUTE) request.body().rtm_scope = RT_SCOPE_NOWHERE;
  request.add(RTA_DST, route.address.data(), bytes_of(route));
  request.add(RTA_OIF, &device, sizeof(device));
  return request;
}

class Netlink {
 public:
  Netlink() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Netlink() {
    if (fd_ >= 0) close(fd_);
  }
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  /// What the kernel answers: zero, or an errno.
  template <class Body>
  int ask(Request<Body> request) {
    nlmsghdr& header = request.header();
    if (send(fd_, &header, header.nlmsg_len, 0) < 0) return errno;
    alignas(nlmsghdr) std::array<uint8_t, 8192> answer;
    const ssize_t count = recv(fd_, answer.data(), answer.size(), 0);
    if (count < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
      return count < 0 ? errno : EPROTO;
    }
    const auto* reply = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (reply->nlmsg_type != NLMSG_ERROR) return EPROTO;
    return -static_cast<const nlmsgerr*>(NLMSG_DATA(reply))->error;
  }

 private:
  int fd_;
};

std::string why(int error) {
  if (error == EPERM) return "no right to; grant CAP_NET_ADMIN";
  return std::strerror(error);
}

/// One that leads to the device already may be an earlier life's, with other attributes.
int set_route(Netlink& netlink, uint32_t device, const Prefix& route) {
  (void)netlink.ask(route_request(RTM_DELROUTE, 0, route, device));
  return netlink.ask(route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route, device));
}

}  // namespace

std::string route_sentence(const std::string& route, const std::string& device, int error) {
  if (error == EEXIST) {
    return "peer.routes: " + route + " is routed elsewhere on this machine (`ip route show " +
           route + "`); remove that route, or set lan.routes = false";
  }
  return "peer.routes: cannot route " + route + " to " + device + ": " + why(error) +
         "; lan.routes = false leaves it to you";
}

int add_lan_route(uint32_t device, const Prefix& route) {
  Netlink netlink;
  return set_route(netlink, device, route);
}

int remove_lan_route(uint32_t device, const Prefix& route) {
  return Netlink().ask(route_request(RTM_DELROUTE, 0, route, device));
}

void set_queue_length(const std::string& device, uint32_t packets) {
  Request<ifinfomsg> request(RTM_NEWLINK, 0);
  request.body().ifi_index = static_cast<int>(if_nametoindex(device.c_str()));
  request.add(IFLA_TXQLEN, &packets, sizeof(packets));
  (void)Netlink().ask(request);
}

Result<void> set_up_lan(const std::string& device, std::span<const Prefix> addresses,
                        std::span<const Prefix> routes) {
  if (addresses.empty() && routes.empty()) return {};
  const uint32_t index = if_nametoindex(device.c_str());
  Netlink netlink;
  for (const Prefix& address : addresses) {
    const int error = netlink.ask(address_request(address, index));
    if (error == 0) continue;
    return failure("lan.addresses: cannot give " + prefix_text(address) + " to " + device + ": " +
                   why(error));
  }
  for (const Prefix& route : routes) {
    const int error = set_route(netlink, index, route);
    if (error == 0) continue;
    return failure(route_sentence(prefix_text(route), device, error));
  }
  return {};
}

}  // namespace cw::site
