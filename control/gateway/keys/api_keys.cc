// The keys of [api].
#include <string>

#include "control/gateway/keys/config.h"

namespace cw::site {

using config::Section;

namespace {

/// What is told in the clear stays on this machine.
void check_metrics(Section& section, const ApiConfig& api) {
  const std::string host = api::host_of(api.metrics);
  if (api.metrics.empty() || host == "[::1]" || host == "::1" || host.starts_with("127.")) return;
  section.complain("metrics", "api.metrics is \"" + api.metrics +
                                  "\": it is told in the clear, so 127.0.0.1 or [::1] alone; "
                                  "api.listen tells others, over TLS");
}

void check_api(Section& section, const ApiConfig& api) {
  check_metrics(section, api);
  const std::string given[] = {api.certificate, api.certificate_key, api.client_ca};
  const char* const keys[] = {"certificate", "certificate_key", "client_ca"};
  for (size_t i = 0; i < std::size(keys); ++i) {
    if (api.listen.empty() == given[i].empty()) continue;
    section.complain(api.listen.empty() ? keys[i] : "listen",
                     api.listen.empty() ? std::string("api.") + keys[i] +
                                              " is of api.listen, which "
                                              "is missing"
                                        : std::string("api.listen takes TLS with certificates of "
                                                      "clients, and api.") +
                                              keys[i] + " is missing");
  }
}

}  // namespace

void declare_api(Section& section, const ConfigPtr& config) {
  ApiConfig& api = config->api;
  section.all_are(config::KeyKind::Restart);
  section.add(
      {"folder", config::Type::Text,
       [&api](const config::Value& value) {
         api.folder = value.text;
         api.has_folder = true;
       },
       api.folder,
       "Where this gateway has a folder of its name, with read.sock and control.sock; empty: "
       "none. causewayctl finds it by this file."});
  section.key("read_group", api.read_group,
              "Whose members may read; empty: only whoever the gateway runs as, and root.");
  section.key("control_group", api.control_group, "Whose members may order, too.");
  section.key(
      "listen", api.listen,
      "An address and port for the same over TLS, such as \"192.0.2.1:9443\"; empty: none.");
  section.key("metrics", api.metrics,
              "An address and port of this machine alone, such as \"127.0.0.1:9464\", where "
              "scrapers find /metrics in the clear, and nothing else; empty: none. The sockets and "
              "api.listen have it, too.");
  section.key("certificate", api.certificate, "Of api.listen: this gateway's, a file of PEM.");
  section.key("certificate_key", api.certificate_key, "Its key, a file of PEM.");
  section.key("client_ca", api.client_ca,
              "Who signs the certificates of those who may come, a file of PEM.");
  section.key("controllers", api.controllers,
              "Common names of those of them who may order; the others read.");
  section.key(
      "hosts", api.hosts,
      "What this gateway is called by those who order over api.listen or come by a forwarded "
      "socket, besides its address and localhost.");
  section.then([&api](Section& here) { check_api(here, api); });
}

}  // namespace cw::site
