#include "control/gateway/site/ports/frame_driver.h"

#ifdef CW_HAVE_DPDK
#include "dataplane/port/dpdk/dpdk_driver.h"
#endif
#ifdef CW_HAVE_XDP
#include "dataplane/port/xdp/xdp_driver.h"
#endif

namespace cw::site {

Result<const FrameDriver*> frame_driver(std::string_view kind, const std::string& otherwise) {
#ifdef CW_HAVE_DPDK
  if (kind == "dpdk") return &dpdk_driver();
#endif
#ifdef CW_HAVE_XDP
  if (kind == "xdp") return &xdp_driver();
#endif
  const bool is_xdp = kind == "xdp";
  return failure("port: \"" + std::string(kind) +
                 "\" is not in this program, which was built without " +
                 (is_xdp ? "libxdp" : "DPDK") + "; build it where " +
                 (is_xdp ? "libxdp-dev, libbpf-dev, clang-19 and bpftool are" : "libdpdk-dev is") +
                 " installed, or take \"" + otherwise + "\"");
}

}  // namespace cw::site
