// The whole of a deployment, looked at as each gateway would and as none can.
#pragma once

#include <string>
#include <vector>

#include "control/deploy/file/deployment.h"
#include "control/gateway/plan.h"

namespace cw::deploy {

/// A site's file, made and found right.
struct SiteFile {
  std::string name;
  std::string text;  ///< without a head
  Node tree;
  site::Plan plan;
};

struct Checked {
  config::Mistakes mistakes;  ///< by place; then there are no files
  std::vector<std::string> warnings;
  std::vector<SiteFile> files;
};

/// Reads the text of a deployment's file. `folder` is where plugins are looked for; key files are
/// not read, and cores and users not looked for: they are those of other machines. Never throws.
Checked check(std::string_view text, const std::string& folder);

/// A site's file as any machine may look at it; `link_rate` as site::Known has it. Errors: its
/// mistakes, a line each.
Result<site::Plan> plan_of(const std::string& file, std::string_view text, Rate link_rate = {});

}  // namespace cw::deploy
