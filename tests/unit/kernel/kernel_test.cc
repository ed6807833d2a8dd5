// What the kernel says of interfaces.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "dataplane/kernel/kernel_answer.h"
#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {
using ByteVector = std::vector<uint8_t>;

// ---- Answers of the kernel as it writes them, and cut at every byte ----

/// A message with attributes of four-byte multiples behind its body.
template <class Body>
class Message {
 public:
  Message(uint16_t type, uint32_t sequence, const Body& body) : bytes_(NLMSG_LENGTH(sizeof body)) {
    header_ = {0, type, 0, sequence, 0};
    std::memcpy(&bytes_[NLMSG_HDRLEN], &body, sizeof body);
  }
  Message& add(uint16_t type, const ByteVector& content) {
    const rtattr attribute = {static_cast<uint16_t>(RTA_LENGTH(content.size())), type};
    const auto* from = reinterpret_cast<const uint8_t*>(&attribute);
    bytes_.insert(bytes_.end(), from, from + sizeof attribute);
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    return *this;
  }
  ByteVector bytes() const {
    ByteVector all = bytes_;
    nlmsghdr header = header_;
    header.nlmsg_len = static_cast<uint32_t>(all.size());
    std::memcpy(all.data(), &header, sizeof header);
    return all;
  }

 private:
  nlmsghdr header_;
  ByteVector bytes_;
};

constexpr uint32_t sequence = 7;

ByteVector route_by_router() {
  const rtmsg body = {.rtm_family = AF_INET, .rtm_type = RTN_UNICAST};
  return Message(RTM_NEWROUTE, sequence, body)
      .add(RTA_OIF, {3, 0, 0, 0})
      .add(RTA_GATEWAY, {192, 0, 2, 1})
      .bytes();
}

ByteVector neighbour(uint16_t state) {
  const ndmsg body = {.ndm_family = AF_INET, .ndm_state = state};
  return Message(RTM_NEWNEIGH, sequence, body).add(NDA_LLADDR, {2, 0, 0, 0, 0, 9}).bytes();
}

TEST(KernelAnswer, is_that_of_its_question) {
  const ByteVector bytes = route_by_router();
  EXPECT_EQ(kernel_answer(bytes, sequence)->size(), bytes.size());
  EXPECT_FALSE(kernel_answer(bytes, sequence + 1));
  EXPECT_FALSE(kernel_answer(std::span(bytes).first(bytes.size() - 1), sequence));
}

TEST(KernelAnswer, may_be_that_there_is_none) {
  const nlmsgerr body = {};
  const auto answer = kernel_answer(Message(NLMSG_ERROR, sequence, body).bytes(), sequence);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->empty());
  EXPECT_FALSE(parse_kernel_route(*answer, IpVersion::V4));
  EXPECT_FALSE(parse_kernel_neighbour(*answer));
}

TEST(KernelAnswer, names_a_router_and_its_interface) {
  const auto route = parse_kernel_route(route_by_router(), IpVersion::V4);
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->is_to_host && !route->is_local);
  EXPECT_EQ(route->interface, 3);
  EXPECT_EQ(text_of(route->router.value()), "192.0.2.1");
  EXPECT_FALSE(parse_kernel_route(route_by_router(), IpVersion::V6)->router);
}

TEST(KernelAnswer, names_a_neighbour_that_is_resolved) {
  const MacAddress mac = {2, 0, 0, 0, 0, 9};
  EXPECT_EQ(parse_kernel_neighbour(neighbour(NUD_REACHABLE))->mac, mac);
  EXPECT_TRUE(parse_kernel_neighbour(neighbour(NUD_REACHABLE))->is_sure);
  EXPECT_EQ(parse_kernel_neighbour(neighbour(NUD_STALE))->mac, mac);
  EXPECT_FALSE(parse_kernel_neighbour(neighbour(NUD_STALE))->is_sure);
  EXPECT_EQ(parse_kernel_neighbour(neighbour(NUD_FAILED))->mac, std::nullopt);
}

TEST(KernelAnswer, says_less_when_it_is_cut) {
  const ByteVector whole = route_by_router();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    const auto route = parse_kernel_route(cut, IpVersion::V4);
    EXPECT_EQ(route.has_value(), bytes >= NLMSG_LENGTH(sizeof(rtmsg))) << bytes;
    if (route) {
      EXPECT_FALSE(route->router) << bytes;
    }
  }
}

// ---- What the kernel says of its interfaces, and of those that it has not ----

TEST(KernelInterface, knows_its_mtu_and_says_when_there_is_none) {
  EXPECT_EQ(kernel_mtu("no-such-one"), 0u);
  EXPECT_GE(kernel_mtu("lo"), 576u);
  EXPECT_EQ(kernel_rx_queues("no-such-one"), 1u);
}

}  // namespace

}  // namespace cw
