#include "control/deploy/commands.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "control/config/quantity.h"
#include "control/ctl/commands.h"

namespace cw::deploy {
namespace {

using Clock = std::chrono::steady_clock;

int fail(const std::string& sentence, int status = exit_failed) {
  std::fprintf(stderr, "causeway-deploy: %s\n", sentence.c_str());
  return status;
}

int tell_mistakes(const Draft& draft, const Options& options) {
  const std::string text = config::to_text(draft.mistakes, options.file);
  if (!options.is_json) return std::fputs((text + "\n").c_str(), stderr), exit_mistakes;
  Json mistakes = Json::array();
  for (const config::Mistake& each : draft.mistakes) {
    mistakes.push_back(
        {{"line", each.place.line}, {"column", each.place.column}, {"sentence", each.sentence}});
  }
  std::printf("%s\n", Json({{"mistakes", mistakes}}).dump(2).c_str());
  return exit_mistakes;
}

void show(const Draft& draft, const Options& options) {
  const std::string text =
      options.is_json ? json_of(draft).dump(2) + "\n" : text_of(draft, options);
  std::fputs(text.c_str(), stdout);
}

bool is_ours_to_write(const DraftSite& site) {
  return site.found.state == Found::State::Missing || site.found.state == Found::State::Made;
}

/// What would be overwritten and is not ours, with what that would change; nothing: go on.
std::string in_the_way(const Draft& draft, const Options& options) {
  std::string text;
  for (const DraftSite& each : draft.sites) {
    if (each.text.empty() || each.found.text == each.text || is_ours_to_write(each)) continue;
    if (options.is_forced) continue;
    text += each.path + (each.found.state == Found::State::Foreign
                             ? " was written by somebody else"
                             : " has been changed since it was made");
    text +=
        each.file_changes.empty() ? "; only remarks would be lost\n" : "; rendering would change\n";
    for (const site::Change& change : each.file_changes) {
      text += "  " + change.key + ": " + change.before + " -> " + change.after + "\n";
    }
  }
  return text.empty() ? "" : text + "nothing is written; --force writes all the same";
}

Result<void> make_folder(const Options& options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) return failure(options.folder + " cannot be made (" + error.message() + ")");
  return {};
}

/// Of sites that need no step: what runs there is as it will be, or the file says the same in other
/// words.
Result<void> write_the_rest(const Draft& draft) {
  for (const DraftSite& each : draft.sites) {
    if (!each.change.need.is_nothing || each.found.text == each.text) continue;
    if (const auto written = write_file(each.path, each.text); !written) return written;
  }
  return {};
}

/// Whether the links are up that a step waits for.
bool are_up(const Running& running, const std::vector<std::string>& names) {
  size_t count = 0;
  for (const Json& each : running.peers) {
    const bool is_meant = std::ranges::find(names, each["name"].get<std::string>()) != names.end();
    count += is_meant && each["link"] == "up" ? 1 : 0;
  }
  return count == names.size();
}

/// Whether links by the new keys have taken the place of those of before.
bool are_in_place(const Running& running) {
  return running.open.is_array() && std::ranges::none_of(running.open, [](const Json& each) {
           return each["fate"] == "waits";
         });
}

template <class Is>
bool wait_until(const DraftSite& site, Clock::duration patience, const Is& is) {
  ctl::Client client(site.place);
  for (const auto end = Clock::now() + patience; !is(ask(client));) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

/// Of one step; exit_done: the next may follow.
int do_step(const Step& step, const DraftSite& site, const Options& options,
            Clock::duration patience) {
  std::printf("%s %s\n", std::string(name_of(step.act)).c_str(), step.site.c_str());
  std::fflush(stdout);
  if (!site.text.empty()) {
    if (const auto written = write_file(site.path, site.text); !written) {
      return fail(written.error().sentence);
    }
  }
  if (step.act != Act::Reload) {
    const std::string away = step.act == Act::Stop ? ", and take " + site.path + " away" : "";
    return fail("this is done at the site: " + command_of(step, site) + away +
                "; then apply again, which goes on from here");
  }
  ctl::Client client(site.place);
  if (const Json open = ask(client).open; open.is_array() && open.empty()) {
    return fail(step.site + " reads another file, on its machine: bring " + site.path +
                " there, and then " + command_of(step, site));
  }
  const int reloaded =
      ctl::reload(client, {.wait = options.wait, .is_links_later = step.is_links_later});
  if (reloaded != exit_done) return fail(step.site + " has not taken its file; the rest waits");
  const auto are_its_up = [&](const Running& running) { return are_up(running, step.waits_for); };
  if (wait_until(site, patience, are_its_up)) return exit_done;
  return fail("not all links of " + step.site + " are up; the rest waits");
}

/// Of those whose links by the new keys had to wait for other sites, which have theirs now.
int end_steps(const Draft& draft, Clock::duration patience) {
  for (const Step& step : draft.steps) {
    const DraftSite& site = draft.site(step.site);
    if (!step.is_links_later || wait_until(site, patience, are_in_place)) continue;
    Step again = step;
    again.is_links_later = false;
    return fail("links by the new keys have not taken their place at " + step.site +
                "; what they wait for is told by " + command_of(again, site));
  }
  return exit_done;
}

/// A draft that may be gone on with; else how the program ends.
std::expected<Draft, int> sound_draft(const Options& options) {
  auto draft = draft_of(options);
  if (!draft) return std::unexpected(fail(draft.error().sentence));
  if (!draft->mistakes.empty()) return std::unexpected(tell_mistakes(*draft, options));
  return std::move(*draft);
}

}  // namespace

int plan(const Options& options) {
  const auto draft = sound_draft(options);
  if (!draft) return draft.error();
  show(*draft, options);
  return exit_done;
}

int render(const Options& options) {
  const auto draft = sound_draft(options);
  if (!draft) return draft.error();
  if (const std::string why = in_the_way(*draft, options); !why.empty()) return fail(why);
  if (const auto made = make_folder(options); !made) return fail(made.error().sentence);
  for (const DraftSite& each : draft->sites) {
    if (each.text.empty() || each.text == each.found.text) continue;
    if (const auto written = write_file(each.path, each.text); !written) {
      return fail(written.error().sentence);
    }
  }
  show(*draft, options);
  return exit_done;
}

int apply(const Options& options) {
  const auto patience = config::parse_quantity(config::Quantity::Duration, options.wait);
  if (!patience) {
    return fail("--wait: \"" + options.wait + "\" is no time; write 10s", exit_mistakes);
  }
  const auto draft = sound_draft(options);
  if (!draft) return draft.error();
  if (const std::string why = in_the_way(*draft, options); !why.empty()) return fail(why);
  if (const auto made = make_folder(options); !made) return fail(made.error().sentence);
  if (const auto written = write_the_rest(*draft); !written) return fail(written.error().sentence);
  const auto time = std::chrono::nanoseconds(std::llround(*patience));
  for (const Step& step : draft->steps) {
    const int done = do_step(step, draft->site(step.site), options, time);
    if (done != exit_done) return done;
  }
  if (const int done = end_steps(*draft, time); done != exit_done) return done;
  std::printf("%s\n", draft->steps.empty() ? "nothing changes" : "all sites have what they need");
  return exit_done;
}

}  // namespace cw::deploy
