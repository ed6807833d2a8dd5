#include "tests/docs/reader.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <thread>

#include "tests/docs/printed.h"

namespace cw::docs {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto patience = seconds(30);

/// Until `is_so`, or in vain.
bool wait_until(const std::function<bool()>& is_so, seconds most) {
  for (const auto end = lab::Time::now() + most; !is_so();) {
    if (lab::Time::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::string last_lines(const std::string& text) {
  constexpr size_t most = 40;
  const std::vector<std::string> lines = lines_in(text);
  std::string last;
  for (size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i) {
    last += "  | " + lines[i] + "\n";
  }
  return last;
}

std::string not_printed(const std::string& line, const std::string& printed) {
  return "this does not come: " + line + "\nwhat does:\n" + last_lines(printed);
}

}  // namespace

Reader::Reader(const std::string& tree, const std::string& programs, bool is_night)
    : tree_(tree), is_night_(is_night), machines_(tree, programs) {}

std::string Reader::follow(const std::string& path) { return follow(path, /*is_before=*/false); }

std::string Reader::follow(const std::string& path, bool is_before) {
  if (!fs::exists(fs::path(tree_) / path)) return path + " is not there";
  const Document document = read_document(tree_, path);
  if (!document.mistakes.empty()) return document.mistakes.front();
  for (const std::string& before : document.after) {
    const std::string sentence =
        follow((fs::path(path).parent_path() / before).lexically_normal(), true);
    if (!sentence.empty()) return sentence;
  }
  return follow(document, is_before);
}

std::string Reader::follow(const Document& document, bool is_before) {
  for (size_t i = 0; i < document.blocks.size(); ++i) {
    const Block& block = document.blocks[i];
    const bool is_mine = block.by.empty() && !block.is_not_run && !(block.is_once && is_before) &&
                         (is_night_ || !block.is_for_night);
    const bool has_text = i + 1 < document.blocks.size() &&
                          document.blocks[i + 1].kind == Kind::Printed &&
                          !document.blocks[i + 1].is_log;
    const Block* const printed = has_text ? &document.blocks[i + 1] : nullptr;
    std::string wrong;
    if (block.kind == Kind::Commands && is_mine) wrong = type(block, printed);
    if (block.kind == Kind::Printed && block.is_log && is_mine) wrong = wait_for_log(block);
    if (block.kind == Kind::File) wrong = write(block);
    if (block.kind == Kind::Excerpt) wrong = look_for_excerpt(block);
    if (wrong.empty()) continue;
    for (const Running& each : running_) {
      wrong +=
          "\nin the background at " + each.place + ":\n" + last_lines(each.program->out_so_far());
    }
    return document.path + ":" + std::to_string(block.line) + ": " + wrong;
  }
  return {};
}

std::string Reader::type(const Block& block, const Block* printed) {
  machines_.machine(block.place);
  for (Running& each : running_) each.mark = each.program->out_so_far().size();
  if (block.is_background) return start(block, printed);
  std::string wrong = type_once(block, printed);
  const auto is_right = [&] { return (wrong = type_once(block, printed)).empty(); };
  if (!wrong.empty() && block.is_repeated) wait_until(is_right, patience);
  return wrong;
}

std::string Reader::type_once(const Block& block, const Block* printed) {
  const seconds most(is_night_ ? 1200 : 60);
  Machine& machine = machines_.machine(block.place);
  const std::string at = block.is_in_tree ? tree_ : machines_.home().string();
  lab::Program program(machine.namespace_fd(), machine.command(machines_.script(block.text), at));
  if (!wait_until([&] { return program.has_ended(); }, most)) {
    return "this does not end:\n" + last_lines(program.out_so_far());
  }
  const lab::Outcome outcome = program.finish();
  std::cout << "line " << block.line << " " << block.place << "\n" << outcome.out << std::flush;
  if (outcome.status != block.status) {
    return "ends with " + std::to_string(outcome.status) + ", not " + std::to_string(block.status) +
           ":\n" + last_lines(outcome.out + outcome.err);
  }
  if (printed == nullptr) return {};
  const std::string missing = missing_line(printed->text, outcome.out, printed->is_exact);
  return missing.empty() ? missing : not_printed(missing, outcome.out);
}

std::string Reader::start(const Block& block, const Block* printed) {
  Machine& machine = machines_.machine(block.place);
  const std::string at = block.is_in_tree ? tree_ : machines_.home().string();
  Running running{.place = block.place, .line = block.line, .program = {}};
  running.program = std::make_unique<lab::Program>(
      machine.namespace_fd(), machine.command(machines_.script(block.text), at));
  lab::Program& program = *running_.emplace_back(std::move(running)).program;
  if (printed == nullptr) return {};
  std::string missing;
  const auto is_there = [&] {
    missing = missing_line(printed->text, program.out_so_far(), printed->is_exact);
    return missing.empty() || program.has_ended();
  };
  wait_until(is_there, patience);
  std::cout << "line " << block.line << " " << block.place << "\n" << program.out_so_far();
  return missing.empty() ? missing : not_printed(missing, program.out_so_far());
}

std::string Reader::said_at(const std::string& place) const {
  std::string said;
  for (const Running& each : running_) {
    if (each.place == place) said += each.program->out_so_far().substr(each.mark);
  }
  return said;
}

std::string Reader::wait_for_log(const Block& printed) {
  std::string missing;
  const auto is_there = [&] {
    missing = missing_line(printed.text, said_at(printed.place), printed.is_exact);
    return missing.empty();
  };
  wait_until(is_there, patience);
  std::cout << "line " << printed.line << " log of " << printed.place << "\n"
            << said_at(printed.place);
  return missing.empty() ? missing : not_printed(missing, said_at(printed.place));
}

std::string Reader::write(const Block& block) {
  const fs::path text = machines_.home().parent_path() / "written";
  std::ofstream(text) << block.text;
  const std::string name = "'" + block.file + "'", from = " '" + text.string() + "' ";
  const std::string folder = "mkdir -p \"$(dirname " + name + ")\"\n";
  Block copy{.kind = Kind::Commands, .line = block.line, .place = block.place};
  copy.text = folder + "cat" + from + (block.is_added ? ">> " : "> ") + name + "\n";
  return type(copy, nullptr);
}

std::string Reader::look_for_excerpt(const Block& block) const {
  const std::string whole = text_of(tree_ + "/" + block.file);
  if (whole.empty()) return block.file + " is not there";
  const std::string missing = missing_line(block.text, whole, /*is_exact=*/true);
  return missing.empty() ? missing : block.file + " has no line " + missing;
}

}  // namespace cw::docs
