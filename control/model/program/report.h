// Answers, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "control/json/json.h"
#include "control/model/program/answer.h"

namespace cw::model {

Json json_of(const Answer& answer, const Options& options);
std::string table_of(const Answer& answer, const Options& options);

Json json_of(std::span<const SweepPoint> points, const Options& options);
/// A row per point: the winner, and what each policy has of what is aimed at.
std::string table_of(std::span<const SweepPoint> points, const Options& options);

}  // namespace cw::model
