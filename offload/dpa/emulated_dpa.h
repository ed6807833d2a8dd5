// A DPA that is emulated: harts of a RISC-V machine under QEMU run the same kernel as a DPA's
// threads would, compiled for RV64 (program.c), over memory that this process shares with them. It
// shows that the code is right and how many instructions it takes, and nothing of speed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "offload/dpa/board.h"
#include "offload/dpa/emulator_process.h"
#include "offload/stage/row_runner.h"

namespace cw {

struct EmulatedDpaOptions {
  uint32_t harts = 1;                            ///< 1 to CW_DPA_HARTS_MAX; hart h runs row h
  size_t memory_bytes = size_t{64} << 20;        ///< of the machine, whole MiB, 32 to 2048
  bool counts_instructions = false;              ///< into cw_bits_row::instructions; one hart only
  std::string program;                           ///< the ELF file of program.c
  std::string emulator = "qemu-system-riscv64";  ///< a path, or a name to be found in PATH
};

/// Each hart has a thread of the emulator's, so that harts race; where instructions are counted
/// there is one, and the same records always give the same count. A hart that finds nothing for
/// some hundred microseconds looks every 50 us, and after ten milliseconds every 500 us.
///
/// Memory of rows and arenas is the runner's and ends with it. The emulator ends with it too, and
/// with this process however that ends; it leaves no file. Should the emulator end before, harts
/// stand still: rows just do not go on.
///
/// Thread: one for all calls, which outlives the runner, since the emulator ends with the thread
/// that has started it.
class EmulatedDpa final : public RowRunner {
 public:
  /// Starts the machine and waits until all harts are ready, 10 s at most. Errors: an option out of
  /// its range; emulator or program missing, and what to install; what the emulator has said when
  /// it ended by itself.
  static Result<std::unique_ptr<EmulatedDpa>> make(const EmulatedDpaOptions& options);
  /// Bounded by some seconds, whatever the emulator does.
  ~EmulatedDpa() override;

  void* allocate(size_t bytes) override;
  /// Returns when each row has its hart running, after 10 s at most. Errors also: more rows than
  /// harts, a row that is not of allocate().
  Result<void> start(std::span<cw_bits_row* const> rows) override;
  /// Nothing: harts look by themselves.
  void ring(size_t partition) override;

  // For tests and measurements.

  /// The emulator's process; 0 once it is known to have ended.
  pid_t pid() const { return process_.pid(); }
  /// From the next burst on the hart serves none, or does again.
  void set_halted(size_t hart, bool is_halted);
  /// What it does, as CW_DPA_ABSENT and so on.
  uint32_t state(size_t hart) const;
  /// Counts on with each look; after two more than when records_head was seen, the instructions of
  /// what lies behind it are counted.
  uint32_t beats(size_t hart) const;

 private:
  explicit EmulatedDpa(const EmulatedDpaOptions& options) : options_(options) {}
  Result<void> start_machine();
  Result<void> await(uint32_t state, size_t harts);

  const EmulatedDpaOptions options_;
  SharedMemory memory_;
  EmulatorProcess process_;
  cw_dpa_board* board_ = nullptr;
  size_t next_ = CW_DPA_ROWS_OFFSET;  // offset of what is not handed out
  bool is_started_ = false;
};

}  // namespace cw
