#include "offload/dpa/emulated_dpa.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr size_t memory_mebibytes_min =
    32;  // QEMU writes a device tree into the upper half of less
constexpr size_t memory_mebibytes_max = 2048;
constexpr auto patience = std::chrono::seconds(10);
constexpr auto look_every = std::chrono::microseconds(200);

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

uint32_t load(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint32_t* word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

Result<void> check(const EmulatedDpaOptions& it) {
  if (it.harts < 1 || it.harts > CW_DPA_HARTS_MAX) {
    return failure("emulated DPA: harts = " + std::to_string(it.harts) + "; 1 to " +
                   std::to_string(CW_DPA_HARTS_MAX) + " are possible");
  }
  if (it.counts_instructions && it.harts > 1) {
    return failure("emulated DPA: instructions are counted of one hart only, and there are " +
                   std::to_string(it.harts) + ": the emulator counts those of all harts in one");
  }
  if (it.memory_bytes % mebibyte != 0 || it.memory_bytes < memory_mebibytes_min * mebibyte ||
      it.memory_bytes > memory_mebibytes_max * mebibyte) {
    return failure("emulated DPA: memory of " + std::to_string(it.memory_bytes) +
                   " bytes; whole MiB, " + std::to_string(memory_mebibytes_min) + " to " +
                   std::to_string(memory_mebibytes_max) + ", are possible");
  }
  if (access(it.program.c_str(), R_OK) != 0) {
    return failure("emulated DPA: its program " + quoted(it.program) +
                   " cannot be read: install gcc-riscv64-linux-gnu, configure and build again");
  }
  return {};
}

std::vector<std::string> words_of(const EmulatedDpaOptions& it) {
  const std::string bytes = std::to_string(it.memory_bytes);
  std::vector<std::string> words = {it.emulator,
                                    "-nodefaults",
                                    "-no-user-config",
                                    "-nographic",
                                    "-display",
                                    "none",
                                    "-monitor",
                                    "none",
                                    "-serial",
                                    "none",
                                    "-object",
                                    std::string("memory-backend-file,id=ram,share=on,mem-path=") +
                                        EmulatorProcess::memory_path + ",size=" + bytes,
                                    "-machine",
                                    "virt,memory-backend=ram",
                                    "-m",
                                    std::to_string(it.memory_bytes / mebibyte) + "M",
                                    "-smp",
                                    std::to_string(it.harts),
                                    "-bios",
                                    "none",
                                    "-kernel",
                                    it.program,
                                    "-accel"};
  if (it.counts_instructions) {
    words.insert(words.end(), {"tcg,thread=single", "-icount", "shift=0"});
  } else {
    words.push_back("tcg,thread=multi");
  }
  return words;
}

}  // namespace

Result<std::unique_ptr<EmulatedDpa>> EmulatedDpa::make(const EmulatedDpaOptions& options) {
  if (const auto is_sound = check(options); !is_sound) {
    return std::unexpected(is_sound.error());
  }
  std::unique_ptr<EmulatedDpa> dpa(new EmulatedDpa(options));
  if (const auto is_up = dpa->start_machine(); !is_up) return std::unexpected(is_up.error());
  return dpa;
}

EmulatedDpa::~EmulatedDpa() {
  if (board_ != nullptr) store(&board_->order, CW_DPA_STOP);
  process_.end();  // before the memory goes
}

Result<void> EmulatedDpa::start_machine() {
  if (const auto has_memory = memory_.make(options_.memory_bytes); !has_memory) return has_memory;
  board_ = reinterpret_cast<cw_dpa_board*>(memory_.data() + CW_DPA_BOARD_OFFSET);
  board_->magic = CW_DPA_MAGIC;
  board_->version = CW_DPA_VERSION;
  board_->harts = options_.harts;
  board_->counts_instructions = options_.counts_instructions ? 1 : 0;
  if (const auto runs = process_.start(words_of(options_), memory_.file()); !runs) return runs;
  return await(CW_DPA_READY, options_.harts);
}

// Of the first `harts`. States in which a hart does not go on are larger than those it is in
// before.
Result<void> EmulatedDpa::await(uint32_t wanted, size_t harts) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (size_t hart = 0; hart < harts;) {
    if (const uint32_t seen = state(hart); seen >= wanted) {
      if (seen < CW_DPA_MISMATCH) {
        ++hart;
        continue;
      }
      const std::string who = "emulated DPA: hart " + std::to_string(hart);
      if (seen == CW_DPA_FAULTED) {
        return failure(who + " has met exception " + std::to_string(board_->lines[hart].cause));
      }
      return failure(who + " runs another version of the program than this: build " +
                     quoted(options_.program) + " again");
    }
    if (process_.has_ended()) {
      if (!process_.was_found()) {
        return failure("emulated DPA: the emulator " + quoted(options_.emulator) +
                       " cannot be run: install qemu-system-misc");
      }
      return failure("emulated DPA: the emulator has ended by itself: " + process_.last_words());
    }
    if (std::chrono::steady_clock::now() > end) {
      return failure("emulated DPA: after 10 s hart " + std::to_string(hart) + " of " +
                     std::to_string(options_.harts) + " has not reported in: is " +
                     quoted(options_.program) + " its program, and is the machine overloaded?");
    }
    std::this_thread::sleep_for(look_every);
  }
  return {};
}

void* EmulatedDpa::allocate(size_t bytes) {
  if (bytes > memory_.size() - next_) return nullptr;
  char* const memory = memory_.data() + next_;
  // The emulator has left a description of the machine somewhere.
  std::memset(memory, 0, bytes);
  const size_t end = next_ + bytes;
  next_ = std::min((end + CW_BITS_LINE - 1) / CW_BITS_LINE * CW_BITS_LINE, memory_.size());
  return memory;
}

Result<void> EmulatedDpa::start(std::span<cw_bits_row* const> rows) {
  CW_ASSERT(!is_started_);
  is_started_ = true;
  if (rows.size() > options_.harts) {
    return failure("emulated DPA: " + std::to_string(rows.size()) + " rows for " +
                   std::to_string(options_.harts) + " harts: give as many harts as rows");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const char* const row = reinterpret_cast<const char*>(rows[i]);
    const char* const first = memory_.data() + CW_DPA_ROWS_OFFSET;
    if (row < first || row >= memory_.data() + next_) {
      return failure("emulated DPA: row " + std::to_string(i) + " does not lie in its memory");
    }
    board_->lines[i].row_offset = row - reinterpret_cast<const char*>(board_);
  }
  store(&board_->order, CW_DPA_GO);
  return await(CW_DPA_RUNNING, rows.size());
}

void EmulatedDpa::ring(size_t) {}

void EmulatedDpa::set_halted(size_t hart, bool is_halted) {
  CW_ASSERT(hart < options_.harts);
  store(&board_->lines[hart].is_halted, is_halted ? 1 : 0);
}

uint32_t EmulatedDpa::state(size_t hart) const {
  CW_ASSERT(hart < options_.harts);
  return load(&board_->lines[hart].state);
}

uint32_t EmulatedDpa::beats(size_t hart) const {
  CW_ASSERT(hart < options_.harts);
  return load(&board_->lines[hart].beats);
}

}  // namespace cw
