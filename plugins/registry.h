// Policies by name, and codecs: tables that are linked into this program, and files loaded while it
// runs.
//
// The newest of a name is the one that is found. Older ones stay as long as somebody uses
// them: a new version is a new file, new streams take it, old ones drain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/codec.h"
#include "dataplane/policy.h"

namespace cw::plugins {

template <class Ops>
struct RegistryEntry;
template <class Ops>
class BasicRegistry;

/// A counted use of a policy or codec: its table stays valid while this lives, and every instance
/// must be destroyed before. Thread: any; giving it up never unmaps anything.
template <class Ops>
class TableRef {
 public:
  TableRef(TableRef&& other) noexcept;
  TableRef& operator=(TableRef other) noexcept;
  ~TableRef();

  const Ops& table() const;

 private:
  friend class BasicRegistry<Ops>;
  explicit TableRef(RegistryEntry<Ops>* entry);
  RegistryEntry<Ops>* entry_;
};

/// Thread: one, the slow one. Outlives every reference.
template <class Ops>
class BasicRegistry {
 public:
  using Ref = TableRef<Ops>;

  BasicRegistry();
  ~BasicRegistry();
  BasicRegistry(const BasicRegistry&) = delete;
  BasicRegistry& operator=(const BasicRegistry&) = delete;

  /// Adds what is linked in. Errors: a table that would be refused from a file; a name
  /// that is taken.
  Result<void> add(const Ops& table);

  /// Loads a file; from now on its name finds it. Errors: those of Loaded::load().
  Result<Ref> load(const std::string& path);

  /// Errors: no such name; the sentence names the nearest that is known.
  Result<Ref> find(std::string_view name);

  /// Forgets the newest policy of this name and unmaps its file; an older one of the name is found
  /// again. Errors: no such name; built in; in use, with the count of users.
  Result<void> unload(std::string_view name);

  /// Unmaps all files that newer ones have replaced and nobody uses. Returns how many.
  size_t unload_replaced();

  /// Where a table has come from; nothing: it is linked in, or not here any more.
  struct File {
    std::string path;
    uint64_t hash = 0;  ///< of what the file held then
  };
  std::optional<File> file_of(const Ops& table) const;

  /// Every name once, in the order in which they came.
  std::vector<std::string_view> names() const;
  /// What find() gives for each of them, in that order.
  std::vector<Ref> all();

 private:
  using Entries = std::vector<std::unique_ptr<RegistryEntry<Ops>>>;
  typename Entries::iterator newest(std::string_view name);
  std::unexpected<Error> unknown(std::string_view name) const;

  Entries entries_;
};

using PolicyRef = TableRef<cw_policy_ops>;
using Registry = BasicRegistry<cw_policy_ops>;
using CodecRef = TableRef<cw_codec_ops>;
using CodecRegistry = BasicRegistry<cw_codec_ops>;

}  // namespace cw::plugins
