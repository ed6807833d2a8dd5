// rdma-contents: WRITEs, READs and ATOMICs of one reliable connection, all under way at once, and a
// look at every byte and every number that comes of them. perftest looks at none.
//
// Round i writes a block into the other's memory, reads it back and adds one to a counter there,
// without waiting for anything; a requester's operations take effect in their order, so the READ
// must bring round i's block, and the ATOMIC the number i.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr uint16_t tcp_port = 18600;
constexpr uint64_t rounds_at_once = 16, block_bytes = 4096, told_every = 100;
constexpr uint64_t counter_place = 0, blocks_place = 4096;  // of the served memory
constexpr uint64_t blocks_bytes = rounds_at_once * block_bytes;
constexpr uint8_t timeout_exponent = 18, retries = 7;

template <class T>
T must(T outcome, const char* what) {
  if (!outcome) throw std::runtime_error(std::string(what) + " failed");
  return outcome;
}
void must_be_zero(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
}

uint8_t byte_of(uint64_t round, uint64_t i) {
  return static_cast<uint8_t>((round * 0x9e3779b97f4a7c15 >> 40) + i * 7 + (i >> 8));
}
void write_block(uint8_t* block, uint64_t round) {
  for (uint64_t i = 0; i < block_bytes; ++i) block[i] = byte_of(round, i);
}
uint64_t wrong_bytes(const uint8_t* block, uint64_t round) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < block_bytes; ++i) wrong += block[i] != byte_of(round, i);
  return wrong;
}

/// What each end tells the other by TCP; both are the same machine's kind.
struct End {
  uint32_t qp_number, psn, key;
  uint64_t address;
  ibv_gid gid;
};

/// A stream to the other end.
class Talk {
 public:
  static Talk wait() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in own{
        .sin_family = AF_INET, .sin_port = htons(tcp_port), .sin_addr = {}, .sin_zero = {}};
    must(bind(listener, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0, "bind");
    must(listen(listener, 1) == 0, "listen");
    const int fd = accept(listener, nullptr, nullptr);
    close(listener);
    return Talk(fd);
  }
  static Talk to(const char* host) {
    sockaddr_in far{
        .sin_family = AF_INET, .sin_port = htons(tcp_port), .sin_addr = {}, .sin_zero = {}};
    must(inet_pton(AF_INET, host, &far.sin_addr) == 1, "reading the address");
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(fd, reinterpret_cast<sockaddr*>(&far), sizeof far) == 0, "connect");
    return Talk(fd);
  }
  Talk(Talk&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Talk& operator=(Talk&&) = delete;
  ~Talk() {
    if (fd_ >= 0) close(fd_);
  }

  template <class T>
  T exchange(const T& own) const {
    T other{};
    must(send(fd_, &own, sizeof own, MSG_NOSIGNAL) == ssize_t{sizeof own}, "telling the other end");
    must(recv(fd_, &other, sizeof other, MSG_WAITALL) == ssize_t{sizeof other},
         "hearing of the other end");
    return other;
  }

 private:
  explicit Talk(int fd) : fd_(must(fd >= 0, "a connection") ? fd : -1) {}
  int fd_;
};

/// The one that CW_DEVICE names, else the first; null when there is none.
ibv_device* wanted_device() {
  const char* const name = std::getenv("CW_DEVICE");
  for (ibv_device** each = must(ibv_get_device_list(nullptr), "the list of RDMA devices");
       *each != nullptr; ++each) {
    if (name == nullptr || std::strcmp(ibv_get_device_name(*each), name) == 0) return *each;
  }
  return nullptr;
}

/// A reliable connection with its memory. It all ends with the process.
class Connection {
 public:
  explicit Connection(uint64_t memory_bytes) : memory_(memory_bytes) {
    context_ =
        must(ibv_open_device(must(wanted_device(), "finding the RDMA device")), "opening it");
    domain_ = must(ibv_alloc_pd(context_), "a protection domain");
    completions_ = must(ibv_create_cq(context_, queue_length, nullptr, nullptr, 0), "a queue");
    constexpr int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;
    region_ = must(ibv_reg_mr(domain_, memory_.data(), memory_.size(), all), "a memory region");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions_;
    wanted.cap = {queue_length, 1, 1, 1, 0};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    qp_ = must(ibv_create_qp(domain_, &wanted), "a QP");
  }

  void join(const Talk& talk) {
    const End own{qp_->qp_num, first_psn(), region_->rkey,
                  reinterpret_cast<uint64_t>(memory_.data()), gid_of_v4()};
    initialise();
    far_ = talk.exchange(own);
    make_ready(own.psn);
    talk.exchange('r');
  }

  uint8_t* memory() { return memory_.data(); }

  /// One operation on [offset, offset + bytes) of the other's memory; `local` is in ours.
  void post(ibv_wr_opcode opcode, uint8_t* local, uint64_t offset, uint32_t bytes) {
    ibv_sge piece{reinterpret_cast<uint64_t>(local), bytes, region_->lkey};
    ibv_send_wr request{}, *refused = nullptr;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = opcode;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      request.wr.atomic = {far_.address + offset, 1, 0, far_.key};
    } else {
      request.wr.rdma = {far_.address + offset, far_.key};
    }
    must_be_zero(ibv_post_send(qp_, &request, &refused), "posting");
  }

  /// Waits for the next operation to be complete.
  void wait() {
    ibv_wc completion{};
    int count = 0;
    while ((count = ibv_poll_cq(completions_, 1, &completion)) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    must(count == 1, "asking for completions");
    if (completion.status != IBV_WC_SUCCESS) {
      throw std::runtime_error(ibv_wc_status_str(completion.status));
    }
  }

 private:
  static constexpr uint32_t queue_length = 3 * rounds_at_once + 1;
  static constexpr uint8_t port = 1;

  static uint32_t first_psn() { return static_cast<uint32_t>(getpid()) * 7919 & 0xffffff; }

  ibv_gid gid_of_v4() {
    constexpr std::array<uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    for (int i = 0; i < 16; ++i) {
      ibv_gid gid{};
      if (ibv_query_gid(context_, port, i, &gid) != 0) break;
      gid_index_ = static_cast<uint8_t>(i);
      if (std::memcmp(gid.raw, mapped.data(), mapped.size()) == 0) return gid;
    }
    throw std::runtime_error("the RDMA device has no IPv4 address");
  }

  void initialise() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port;
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    must_be_zero(
        ibv_modify_qp(qp_, &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "QP to INIT");
  }

  void make_ready(uint32_t own_psn) {
    ibv_port_attr link{};
    must_be_zero(ibv_query_port(context_, port, &link), "asking for the port");
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = link.active_mtu;
    attributes.dest_qp_num = far_.qp_number;
    attributes.rq_psn = far_.psn;
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = rounds_at_once;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = port;
    attributes.ah_attr.grh.dgid = far_.gid;
    attributes.ah_attr.grh.sgid_index = gid_index_;
    attributes.ah_attr.grh.hop_limit = 64;
    must_be_zero(
        ibv_modify_qp(qp_, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
        "QP to RTR");
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = own_psn;
    attributes.timeout = timeout_exponent;
    attributes.retry_cnt = attributes.rnr_retry = retries;
    must_be_zero(ibv_modify_qp(qp_, &attributes,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                 "QP to RTS");
  }

  std::vector<uint8_t> memory_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_mr* region_ = nullptr;
  ibv_qp* qp_ = nullptr;
  uint8_t gid_index_ = 0;
  End far_{};
};

uint64_t number_at(const uint8_t* place) {
  uint64_t number = 0;
  std::memcpy(&number, place, sizeof number);
  return number;
}

int finish(uint64_t rounds, uint64_t wrong) {
  std::printf("%llu rounds done, %llu wrong\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

int serve() {
  const Talk talk = Talk::wait();
  Connection connection(blocks_place + blocks_bytes);
  connection.join(talk);
  const uint64_t rounds = talk.exchange(uint64_t{0});
  uint64_t wrong = number_at(connection.memory() + counter_place) != rounds;
  for (uint64_t i = rounds - rounds_at_once; i < rounds; ++i) {
    const uint64_t place = blocks_place + i % rounds_at_once * block_bytes;
    wrong += wrong_bytes(connection.memory() + place, i);
  }
  return finish(rounds, wrong);
}

/// The requester's memory: blocks to write, blocks that were read, numbers that came.
struct Requester {
  uint8_t* block_of(uint64_t round) {
    return connection.memory() + round % rounds_at_once * block_bytes;
  }
  uint8_t* read_of(uint64_t round) { return block_of(round) + blocks_bytes; }
  uint8_t* number_of(uint64_t round) {
    return connection.memory() + 2 * blocks_bytes + round % rounds_at_once * sizeof(uint64_t);
  }
  void begin(uint64_t round) {
    const uint64_t place = blocks_place + round % rounds_at_once * block_bytes;
    write_block(block_of(round), round);
    connection.post(IBV_WR_RDMA_WRITE, block_of(round), place, block_bytes);
    connection.post(IBV_WR_RDMA_READ, read_of(round), place, block_bytes);
    connection.post(IBV_WR_ATOMIC_FETCH_AND_ADD, number_of(round), counter_place, sizeof(uint64_t));
  }
  /// Returns how much of it was wrong.
  uint64_t end(uint64_t round) {
    for (int i = 0; i < 3; ++i) connection.wait();
    return wrong_bytes(read_of(round), round) + (number_at(number_of(round)) != round);
  }

  Connection connection{2 * blocks_bytes + rounds_at_once * sizeof(uint64_t)};
};

int ask(const char* host, uint64_t rounds) {
  const Talk talk = Talk::to(host);
  Requester requester;
  requester.connection.join(talk);
  uint64_t wrong = 0;
  for (uint64_t round = 0; round < rounds + rounds_at_once; ++round) {
    if (round >= rounds_at_once) wrong += requester.end(round - rounds_at_once);
    if (round < rounds) requester.begin(round);
    if (round % told_every == told_every - 1) {
      std::printf("%llu rounds\n", static_cast<unsigned long long>(round + 1));
      std::fflush(stdout);
    }
  }
  talk.exchange(rounds);
  return finish(rounds, wrong);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 1) return serve();
    if (argc == 3) {
      const uint64_t rounds = std::strtoull(argv[2], nullptr, 10);
      if (rounds >= rounds_at_once) return ask(argv[1], rounds);
    }
    std::fprintf(stderr,
                 "usage: rdma-contents            serves one requester\n"
                 "       rdma-contents HOST ROUNDS  (at least %llu)\n",
                 static_cast<unsigned long long>(rounds_at_once));
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rdma-contents: %s\n", error.what());
    return 1;
  }
}
