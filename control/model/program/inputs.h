// What a model is asked about, as people name it: each input with its unit, and how several of them
// make a scene. Sweeps go over them by the same names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/model/predict.h"
#include "control/model/scene.h"
#include "dataplane/base/result.h"

namespace cw::model {

/// Whose loss it is, and how it comes.
enum class LossKind : uint8_t { OfChunks, OfPackets, InBursts, OfProfile };

struct Inputs {
  double bandwidth_bps = 100e9, rtt_ns = 25e6;
  double size_bytes = 128 << 20, chunk_bytes = 0, payload_bytes = 4096;  ///< chunk 0: the payload
  double in_flight = 1;
  LossKind loss_kind = LossKind::OfPackets;
  double loss = 0, burst = 1;
  BurstProfile profile;
};

/// Errors: each in a sentence, one a line.
Result<Scene> scene_of(const Inputs& inputs);

struct Input {
  const char* name;
  double Inputs::* value;
  Result<double> (*parse)(std::string_view text);
  std::string (*text)(double value);
  bool is_whole;
};
std::span<const Input> all_inputs();
/// Null when there is none of that name.
const Input* find_input(std::string_view name);

/// Values of an input, or of a parameter of a policy ("erasure.m").
struct Sweep {
  std::string name;
  std::vector<double> values;  ///< rising

  std::string value_text(double value) const;
  /// Sets it in the inputs, or in each plan of the policy.
  void apply(double value, Inputs& inputs, std::vector<Plan>& plans) const;
};
/// From "NAME=FROM..TO" or "NAME=FROM..TO:COUNT"; equal steps of the logarithm. Errors: a sentence.
Result<Sweep> parse_sweep(const std::string& text);

}  // namespace cw::model
