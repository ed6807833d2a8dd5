#include "tests/ns3/ns3_fabric.h"

// One by one: what their modules' headers include besides is no C++20.
#include <ns3/drop-tail-queue.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-generator.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/simulator.h>
#include <ns3/socket.h>
#include <ns3/udp-socket-factory.h>

#include <cstring>
#include <set>
#include <string>

namespace cw::test {
namespace {

constexpr uint16_t udp_port = 9;

int64_t now_ns() { return ns3::Simulator::Now().GetNanoSeconds(); }

class Ns3Fabric {
 public:
  Ns3Fabric(const Topology& topology, Bytes limit) : topology_(topology) {
    hosts_.Create(static_cast<uint32_t>(topology.host_count()));
    switches_.Create(static_cast<uint32_t>(topology.switch_count()));
    ns3::InternetStackHelper internet;
    internet.Install(hosts_);
    internet.Install(switches_);
    for (uint32_t link = 0; link < topology.links().size(); link += 2) join(link, limit);
  }
  ~Ns3Fabric() {
    ns3::Simulator::Destroy();
    ns3::Ipv4AddressGenerator::Reset();
  }

  /// What goes to `target` goes by these links.
  void set_route(uint16_t target, const std::vector<uint32_t>& way) {
    for (const uint32_t link : way) {
      const auto ipv4 = node(topology_.links()[link].source)->GetObject<ns3::Ipv4>();
      const auto interface = static_cast<uint32_t>(ipv4->GetInterfaceForDevice(devices_[link]));
      ns3::Ipv4StaticRoutingHelper().GetStaticRouting(ipv4)->AddHostRouteTo(address_of(target),
                                                                            interface);
    }
  }

  void send(size_t name, const Datagram& datagram) {
    ns3::Simulator::Schedule(ns3::NanoSeconds(datagram.at_ns), [this, name, datagram] {
      std::vector<uint8_t> bytes(datagram.bytes);
      std::memcpy(bytes.data(), &name, sizeof(name));
      socket_of(datagram.source)
          ->SendTo(ns3::Create<ns3::Packet>(bytes.data(), datagram.bytes), 0,
                   ns3::InetSocketAddress(address_of(datagram.target), udp_port));
    });
  }

  void listen(uint16_t host) {
    socket_of(host)->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), udp_port));
    socket_of(host)->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket> socket) {
          while (const auto packet = socket->Recv()) {
            size_t name = 0;
            packet->CopyData(reinterpret_cast<uint8_t*>(&name), sizeof(name));
            outcome_.arrivals[name] = now_ns();
          }
        }));
  }

  Ns3Outcome run() {
    ns3::Simulator::Run();
    return outcome_;
  }

 private:
  /// Instants at which something came to a queue, and at which something that had waited left it.
  struct Moments {
    std::set<int64_t> came, left;
    int64_t came_last = -1;
  };

  ns3::Ptr<ns3::Node> node(FabricNode node) const {
    return node.is_switch ? switches_.Get(node.number) : hosts_.Get(node.number);
  }

  void join(uint32_t link, Bytes limit) {
    const Topology::Link& plan = topology_.links()[link];
    ns3::PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(plan.cable.rate.bps())));
    cable.SetChannelAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(plan.cable.delay.ns())));
    cable.DisableFlowControl();  // else a queue of the kernel's kind stands in front
    const auto ends = cable.Install(node(plan.source), node(plan.target));
    const std::string network =
        "10." + std::to_string(link / 2 / 256) + '.' + std::to_string(link / 2 % 256) + ".0";
    const auto addresses = ns3::Ipv4AddressHelper(network.c_str(), "255.255.255.0").Assign(ends);
    for (uint32_t end = 0; end < 2; ++end) add_device(link + end, ends.Get(end), limit);
    if (!plan.source.is_switch) addresses_[plan.source.number] = addresses.GetAddress(0);
  }

  void add_device(uint32_t link, ns3::Ptr<ns3::NetDevice> device, Bytes limit) {
    devices_[link] = device;
    const bool is_host = !topology_.links()[link].source.is_switch;
    const uint64_t bytes = is_host ? 1'000'000'000 : limit.count();
    const auto queue = ns3::DynamicCast<ns3::PointToPointNetDevice>(device)->GetQueue();
    queue->SetMaxSize(ns3::QueueSize(std::to_string(bytes) + 'B'));
    using Trace = ns3::Callback<void, ns3::Ptr<const ns3::Packet>>;
    queue->TraceConnectWithoutContext("Drop", Trace([this, link](ns3::Ptr<const ns3::Packet>) {
                                        ++outcome_.drops[link];
                                        note_coming(link);
                                      }));
    queue->TraceConnectWithoutContext(
        "Enqueue", Trace([this, link](ns3::Ptr<const ns3::Packet>) { note_coming(link); }));
    queue->TraceConnectWithoutContext(
        "Dequeue", Trace([this, link](ns3::Ptr<const ns3::Packet>) { note_leaving(link); }));
  }

  void note_coming(uint32_t link) {
    Moments& moments = moments_[link];
    const bool is_tie = !moments.came.insert(now_ns()).second || moments.left.contains(now_ns());
    outcome_.ties += is_tie;
    moments.came_last = now_ns();
  }
  /// A packet that finds the line free comes and leaves at once, which is no tie.
  void note_leaving(uint32_t link) {
    Moments& moments = moments_[link];
    const auto queue = ns3::DynamicCast<ns3::PointToPointNetDevice>(devices_[link])->GetQueue();
    const bool is_itself = moments.came_last == now_ns() && queue->IsEmpty();
    if (is_itself) return;
    outcome_.ties += moments.came.contains(now_ns());
    moments.left.insert(now_ns());
  }

  ns3::Ipv4Address address_of(uint16_t host) const { return addresses_.at(host); }
  ns3::Ptr<ns3::Socket> socket_of(uint16_t host) {
    auto& socket = sockets_[host];
    if (!socket) {
      socket = ns3::Socket::CreateSocket(hosts_.Get(host), ns3::UdpSocketFactory::GetTypeId());
    }
    return socket;
  }

  const Topology& topology_;
  ns3::NodeContainer hosts_, switches_;
  std::map<uint32_t, ns3::Ptr<ns3::NetDevice>> devices_;  // by link
  std::map<uint16_t, ns3::Ipv4Address> addresses_;
  std::map<uint16_t, ns3::Ptr<ns3::Socket>> sockets_;
  std::map<uint32_t, Moments> moments_;
  Ns3Outcome outcome_;
};

}  // namespace

Ns3Outcome run_in_ns3(const Topology& topology, const FabricRoutes& routes, Bytes limit,
                      const std::vector<Datagram>& datagrams) {
  Ns3Fabric fabric(topology, limit);
  std::set<uint16_t> targets;
  for (size_t name = 0; name < datagrams.size(); ++name) {
    const auto& [at_ns, source, target, bytes] = datagrams[name];
    fabric.send(name, datagrams[name]);
    if (!targets.insert(target).second) continue;
    fabric.listen(target);
    fabric.set_route(target, routes.way(source, target, fabric_flow(source, target, 0)));
  }
  return fabric.run();
}

}  // namespace cw::test
