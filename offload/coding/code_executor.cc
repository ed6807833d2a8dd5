#include "offload/coding/code_executor.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace cw {
namespace {

// Empty looks at the ring before a thread sleeps: some microseconds.
constexpr unsigned spin_looks = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void pin(pthread_t thread, size_t number, std::span<const int> cores) {
  if (cores.empty()) return;
  const int core = cores[number % cores.size()];
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(thread, sizeof(set), &set);
}

}  // namespace

struct CodeExecutor::Worker {
  CodeExecutor* executor;
  Bench bench;
  SpscRing<CodeJob> jobs;
  SpscRing<CodeDone> done;  ///< never full: no more jobs are under way than it holds
  size_t under_way = 0;     ///< the owner's: submitted, not polled
  pthread_t thread{};
  bool has_thread = false;
  /// Counts the reasons to look again: jobs came, or the end. Alone on its line.
  alignas(64) std::atomic<uint32_t> doorbell{0};

  Worker(CodeExecutor* e, size_t jobs_max)
      : executor(e), bench(e->coders_), jobs(jobs_max), done(jobs_max) {}

  void ring() {
    doorbell.fetch_add(1, std::memory_order_release);
    doorbell.notify_one();  // a system call only when the thread sleeps
  }
};

CodeExecutor::Bench::Bench(std::span<const Coder* const> coders) {
  for (const Coder* coder : coders) {
    const size_t bytes = coder->scratch_bytes() + 1;
    std::memset(scratch.emplace_back(1, bytes).at(0), 0, bytes);
    versions.push_back(coder->version());
  }
}

void* CodeExecutor::Bench::scratch_for(const Coder& coder, size_t index) {
  uint8_t* const bytes = scratch[index].at(0);
  if (versions[index] != coder.version()) std::memset(bytes, 0, coder.scratch_bytes());
  versions[index] = coder.version();
  return bytes;
}

CodeExecutor::CodeExecutor(std::span<const Coder* const> coders, const CodeExecutorOptions& options)
    : options_(options),
      coders_(coders.begin(), coders.end()),
      own_(coders),
      own_done_(options.jobs_max) {}

Result<std::unique_ptr<CodeExecutor>> CodeExecutor::make(std::span<const Coder* const> coders,
                                                         const CodeExecutorOptions& options) {
  std::unique_ptr<CodeExecutor> executor(new CodeExecutor(coders, options));
  for (size_t n = 0; n < options.threads; ++n) {
    Worker& worker = *executor->workers_.emplace_back(
        std::make_unique<Worker>(executor.get(), options.jobs_max));
    if (const int code = pthread_create(&worker.thread, nullptr, worker_main, &worker); code != 0) {
      return failure("code executor: thread " + std::to_string(n + 1) + " of " +
                     std::to_string(options.threads) + " was refused: " + std::strerror(code));
    }
    worker.has_thread = true;
    pin(worker.thread, n, options.cores);
  }
  return executor;
}

CodeExecutor::~CodeExecutor() {
  is_stopping_.store(true, std::memory_order_release);
  for (const auto& worker : workers_) {
    if (!worker->has_thread) continue;
    worker->ring();
    pthread_join(worker->thread, nullptr);
  }
}

uint64_t CodeExecutor::work_of(const CodeJob& job) const {
  CW_ASSERT(job.coder < coders_.size());
  const uint64_t bytes = coders_[job.coder]->shape().shard_bytes;
  return std::max<uint64_t>(1, bytes * job.inputs.size() * job.outputs.size());
}

uint32_t CodeExecutor::outputs_max(const CodeShape& shape) const {
  if (!workers_.empty()) return shape.m;
  const uint64_t fits = options_.turn_work_max / (uint64_t{shape.k} * shape.shard_bytes);
  return static_cast<uint32_t>(std::clamp<uint64_t>(fits, 1, shape.m));
}

CodeDone CodeExecutor::run(const CodeJob& job, Bench& bench) const {
  const Coder& coder = *coders_[job.coder];
  void* const scratch = bench.scratch_for(coder, job.coder);
  return {job.cookie, job.is_decode ? coder.decode(job.inputs, job.outputs, scratch)
                                    : coder.encode(job.inputs, job.outputs, scratch)};
}

bool CodeExecutor::try_inline(const CodeJob& job) {
  const uint64_t work = work_of(job);
  // Without threads, a job larger than any budget takes a whole turn's.
  const bool is_alone = workers_.empty() && work_left_ == options_.turn_work_max;
  if ((work > work_left_ && !is_alone) || own_done_.is_full()) return false;
  work_left_ -= std::min(work, work_left_);
  turn_work_ += work;
  turn_work_highest_ = std::max(turn_work_highest_, turn_work_);
  own_done_.try_push(run(job, own_));
  ++inline_count_;
  return true;
}

bool CodeExecutor::try_hand_over(const CodeJob& job) {
  for (size_t tries = 0; tries < workers_.size(); ++tries) {
    Worker& worker = *workers_[next_worker_];
    next_worker_ = (next_worker_ + 1) % workers_.size();
    if (worker.under_way == worker.done.capacity()) continue;
    const bool is_taken = worker.jobs.try_push(job);
    CW_ASSERT(is_taken);  // the rings are equal, and fewer are under way
    ++worker.under_way;
    ++handed_count_;
    worker.ring();
    return true;
  }
  return false;
}

size_t CodeExecutor::submit(std::span<const CodeJob> jobs) {
  size_t taken = 0;
  while (taken < jobs.size() && (try_inline(jobs[taken]) || try_hand_over(jobs[taken]))) ++taken;
  return taken;
}

size_t CodeExecutor::poll(std::span<CodeDone> out) {
  size_t count = 0;
  while (count < out.size() && !own_done_.is_empty()) out[count++] = own_done_.pop();
  for (const auto& worker : workers_) {
    const size_t found = worker->done.pop_burst(out.subspan(count));
    worker->under_way -= found;
    count += found;
  }
  return count;
}

void* CodeExecutor::worker_main(void* worker) {
  Worker& own = *static_cast<Worker*>(worker);
  own.executor->run_worker(own);
  return nullptr;
}

void CodeExecutor::run_worker(Worker& worker) {
  for (unsigned looks = 0;;) {
    // Both are read before the ring is, so that what is pushed after the look changes them.
    const uint32_t rings_seen = worker.doorbell.load(std::memory_order_acquire);
    const bool is_last = is_stopping_.load(std::memory_order_acquire);
    CodeJob job;
    if (worker.jobs.try_pop(job)) {
      const bool is_told = worker.done.try_push(run(job, worker.bench));
      CW_ASSERT(is_told);
      looks = 0;
    } else if (is_last) {
      return;
    } else if (++looks < spin_looks) {
      relax();
    } else {
      worker.doorbell.wait(rings_seen, std::memory_order_acquire);
      looks = 0;
    }
  }
}

}  // namespace cw
