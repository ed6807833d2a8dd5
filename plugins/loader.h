// A policy's or a codec's file in memory.
//
// The file is copied before it is loaded. The dynamic loader knows files by name and inode, so a
// file that was overwritten would come back as the old one, and writing into a mapped file changes
// running code. A private copy makes every load a new one, and the file may be replaced at any
// time.
//
// A plugin is trusted code: it runs in this process, and its constructors (it should have none) run
// inside load(). What is checked here is that it fits, not that it is harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/base/result.h"
#include "dataplane/codec.h"
#include "dataplane/policy.h"

namespace cw::plugins {

/// One file that the dynamic loader has mapped. Its destruction unmaps the code.
class MappedFile {
 public:
  /// Errors: as Loaded::load(), as far as they concern no table.
  static Result<MappedFile> map(const std::string& path);
  /// The exported function of this name; null when there is none.
  void (*function(const char* symbol) const)();
  /// A hash of what it held: it tells files apart, and proves nothing.
  uint64_t hash() const { return hash_; }

 private:
  struct Unmap {
    int descriptor = -1;
    void operator()(void* handle) const;
  };
  using Handle = std::unique_ptr<void, Unmap>;

  MappedFile(Handle handle, uint64_t hash) : handle_(std::move(handle)), hash_(hash) {}

  Handle handle_;
  uint64_t hash_ = 0;
};

/// Files of this process that may be resident at once. The dynamic loader's static TLS block and
/// its tables are shared by the whole process and do not grow.
inline constexpr size_t files_resident_max = 64;

/// Files resident now. One that cannot be unmapped (linked with -z nodelete) counts for ever.
size_t resident_file_count();

/// One loaded file, a policy's or a codec's. Its destruction unmaps the code, so nothing made from
/// its table may be left, and never runs on a worker: the registry counts the users.
///
/// Thread: one, the slow one. Cost: loading and unloading take milliseconds and allocate.
template <class Ops>
class Loaded {
 public:
  static constexpr size_t files_max = files_resident_max;
  static constexpr size_t file_bytes_max = size_t{64} << 20;

  /// Errors, each in one sentence that names the file: not there; not a shared object for this
  /// machine, or cut short; undefined symbols; no function of the door's name; another ABI; a table
  /// that check_table() refuses; too many files.
  static Result<Loaded> load(const std::string& path);

  /// The table as this program knows it (adopt_table). Lives as long as the file, wherever this
  /// object moves.
  const Ops& table() const { return *table_; }
  const std::string& path() const { return path_; }
  uint64_t hash() const { return file_.hash(); }

  static size_t resident_count() { return resident_file_count(); }

 private:
  Loaded(std::string path, MappedFile file, std::unique_ptr<const Ops> table)
      : path_(std::move(path)), file_(std::move(file)), table_(std::move(table)) {}

  std::string path_;
  MappedFile file_;
  std::unique_ptr<const Ops> table_;
};

using LoadedPolicy = Loaded<cw_policy_ops>;
using LoadedCodec = Loaded<cw_codec_ops>;

}  // namespace cw::plugins
