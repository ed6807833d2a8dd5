// A deployment's file beside what is there: files in a folder, and gateways that run.
#pragma once

#include <string>
#include <vector>

#include "control/deploy/file/check.h"
#include "control/deploy/order/need.h"
#include "control/deploy/site/disk.h"
#include "control/deploy/site/running.h"

namespace cw::deploy {

struct Options {
  std::string file;          ///< the deployment's
  std::string folder = ".";  ///< of the sites' files
  std::string wait = "10s";  ///< apply: for what comes of a step
  bool is_json = false, is_offline = false, is_forced = false;
  Papers papers;
};

struct DraftSite {
  SiteChange change;                     ///< from what runs, where that is known
  std::string path;                      ///< of its file
  Found found;                           ///< what lies there
  std::string text;                      ///< what will; empty: the site goes
  uint64_t memory_bytes = 0;             ///< of frames and packets, at most
  ctl::Place place;                      ///< where it is asked
  Running running;                       ///< not reached where nobody was to be asked
  std::vector<std::string> differences;  ///< what it does, from what it runs by

  /// From the file that lies there to the one that will.
  std::vector<site::Change> file_changes;
  /// From what runs to the file that lies there: it was changed and not loaded, or loaded and then
  /// changed.
  std::vector<site::Change> not_loaded;
  bool has_file() const { return found.state != Found::State::Missing; }
  /// What `change` begins at; else at the file that lies there.
  bool knows_what_runs() const { return running.in_force && running.site == change.need.site; }
};

struct Draft {
  config::Mistakes mistakes;  ///< then there is nothing else
  std::vector<std::string> warnings;
  std::vector<DraftSite> sites;
  std::vector<Step> steps;

  const DraftSite& site(const std::string& name) const;
};

/// Reads, checks and compares; asks each gateway unless that is not wanted. Errors: the file cannot
/// be read, or one of the folder's.
Result<Draft> draft_of(const Options& options);

/// Of sites whose files were found and whose gateways were asked: what changes, and in which order.
/// Pure.
void compare(Draft& draft, const std::vector<SiteFile>& files);

/// What a person types for a step; and what tells whether its links are up.
std::string command_of(const Step& step, const DraftSite& site);
std::string look_of(const DraftSite& site);

std::string text_of(const Draft& draft, const Options& options);
Json json_of(const Draft& draft);

}  // namespace cw::deploy
