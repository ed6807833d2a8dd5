// What the model says of one link and one message under each of the usual plans, who is best, and
// whether that is known. Slots of 4 KiB, lost each by itself, one message in flight.
#pragma once

#include <string>
#include <vector>

#include "control/model/choose.h"

namespace cw::which {

struct Scenery {
  double gbps = 1, rtt_ms = 25;
  double size_bytes = 1 << 20;
  double loss = 1e-4;
};

/// A plan as a person calls it, and its colour on the maps.
struct Look {
  const char* name;
  const char* colour;
};
Look look_of(const model::Plan& plan);

struct Standing {
  model::Scene scene;
  std::vector<model::Prediction> all;
  const model::Prediction* best = nullptr;
  /// The next best that has a law: of another policy if any has one, else of other parameters.
  const model::Prediction* second = nullptr;
  const model::Prediction *by_asking = nullptr, *by_timeout = nullptr;  ///< selective repeat

  /// Nothing takes less: the best has a law, or is a lower bound that is met.
  bool is_known() const { return is_law(*best); }
  /// No lower bound only, as far as p99.9 goes. It is none where nothing is lost that often.
  bool is_law(const model::Prediction& prediction) const;
  double lossless_ms() const { return double(scene.slots) * scene.slot_ms + scene.rtt_ms; }
  double leaving_rtts() const { return double(scene.slots) * scene.slot_ms / scene.rtt_ms; }
  /// Messages that lose anything.
  double hit() const;
};
Standing stand(const Scenery& scenery);

bool is_code(const model::Plan& plan);
std::string size_text(double bytes);
/// "1e-5", "2.2e-3".
std::string loss_text(double loss);

}  // namespace cw::which
