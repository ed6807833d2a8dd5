#include "tests/demo/rdma.h"

#include <algorithm>
#include <stdexcept>

#include "control/config/quantity.h"
#include "control/units/text.h"
#include "tests/rdma/perftest.h"

namespace cw::demo {
namespace {

constexpr auto run_patience = std::chrono::seconds(60);

lab::RdmaLine line_of(const Options& it, double loss) {
  const auto text = [](config::Quantity quantity, double value) {
    return config::quantity_text(quantity, value);
  };
  lab::RdmaLine line;
  line.rtt = text(config::Quantity::Duration, static_cast<double>(it.rtt.ns()));
  line.rate = text(config::Quantity::Rate, static_cast<double>(it.rate.bps()));
  line.loss = text_of("%.6f%%", loss * 100);
  if (loss > 0 && it.burst > 1) line.burst = text_of("%g", it.burst);
  return line;
}

class RdmaDemo {
 public:
  RdmaDemo(const Options& options, const lab::RdmaPrograms& programs, Steps& steps)
      : sites_(programs, options.mtu),
        steps_(steps),
        lossy_(line_of(options, options.loss)),
        lossless_(line_of(options, 0)) {
    report_.options = options;
  }

  RdmaReport run() {
    const auto start = lab::Time::now();
    steps_.begin("two hosts start");
    sites_.set_line(lossless_);
    sites_.wait_ready();
    steps_.end("soft-RoCE is up in both");
    for (uint32_t i = 1; i <= report_.options.rounds; ++i) round(i);
    report_.seconds = std::chrono::duration<double>(lab::Time::now() - start).count();
    return report_;
  }

 private:
  void round(uint32_t number) {
    const std::string prefix = "round " + std::to_string(number) + ", ";
    sites_.route_plainly();
    measure({prefix + "without gateways", lossy_}, report_.plain);
    measure({prefix + "without, timeout 14", lossy_, ""}, report_.plain_quick);
    measure({prefix + "without, no loss", lossless_}, report_.plain_lossless);
    steps_.begin(prefix + "gateways");
    route_by_gateways();
    steps_.end("the link between them is up");
    measure({prefix + "with gateways", lossy_}, report_.gateway);
    measure({prefix + "with, no loss", lossless_}, report_.gateway_lossless);
  }

  void route_by_gateways() {
    const std::string& policy = report_.options.policy;
    if (report_.options.wan == Wan::Verbs) return sites_.route_by_rnics(policy, lossless_);
    lab::GatewayFile file;
    file.classes = lab::rdma_classes(policy);
    file.is_over_dpdk = report_.options.wan == Wan::Dpdk;
    sites_.route_by_gateways(file, lossless_);
  }

  struct Step {
    std::string what;
    const lab::RdmaLine& line;
    std::string timeout = lab::patient_qp;
  };

  void measure(const Step& step, RdmaWay& way) {
    steps_.begin(step.what);
    sites_.set_line(step.line);
    const uint32_t seconds = report_.options.seconds;
    const lab::PerftestRun run = lab::run_perftest_with_figures(
        sites_, "ib_write_bw" + step.timeout + lab::for_seconds(seconds),
        run_patience + std::chrono::seconds(seconds));
    const auto row = lab::parse_bandwidth(run.host_a);
    if (!row) throw std::runtime_error("ib_write_bw printed no bandwidth: " + run.host_a);
    way.mbps.push_back(row->mbps);
    way.retransmits += run.retransmits;
    steps_.end(text_of("%.1f Mbit/s, hosts sent again %llu times", row->mbps,
                       static_cast<unsigned long long>(run.retransmits)));
  }

  RdmaReport report_;
  lab::RdmaSites sites_;
  Steps& steps_;
  lab::RdmaLine lossy_, lossless_;
};

}  // namespace

double RdmaWay::median_mbps() const {
  if (mbps.empty()) return 0;
  std::vector<double> sorted = mbps;
  std::ranges::sort(sorted);
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

RdmaReport measure_rdma(const Options& options, const lab::RdmaPrograms& programs, Steps& steps) {
  return RdmaDemo(options, programs, steps).run();
}

}  // namespace cw::demo
