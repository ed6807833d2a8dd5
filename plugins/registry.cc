#include "plugins/registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/base/assert.h"
#include "plugins/check/table_check.h"
#include "plugins/loader.h"
#include "plugins/nearest.h"

namespace cw::plugins {

template <class Ops>
struct RegistryEntry {
  /// Linked in; or the file's.
  explicit RegistryEntry(const Ops& linked_table) : table(&linked_table) {}
  explicit RegistryEntry(Loaded<Ops> loaded) : file(std::move(loaded)), table(&file->table()) {}

  std::optional<Loaded<Ops>> file;
  const Ops* table;
  std::atomic<uint32_t> users{0};

  std::string_view name() const { return table->name; }
  // Pairs with the release in ~TableRef: what the last user did happened before the unmapping.
  uint32_t user_count() const { return users.load(std::memory_order_acquire); }
};

template <class Ops>
TableRef<Ops>::TableRef(RegistryEntry<Ops>* entry) : entry_(entry) {
  entry_->users.fetch_add(1, std::memory_order_relaxed);
}

template <class Ops>
TableRef<Ops>::TableRef(TableRef&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

template <class Ops>
TableRef<Ops>& TableRef<Ops>::operator=(TableRef other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

template <class Ops>
TableRef<Ops>::~TableRef() {
  if (entry_ != nullptr) entry_->users.fetch_sub(1, std::memory_order_release);
}

template <class Ops>
const Ops& TableRef<Ops>::table() const {
  CW_ASSERT(entry_ != nullptr);
  return *entry_->table;
}

template <class Ops>
BasicRegistry<Ops>::BasicRegistry() = default;

template <class Ops>
BasicRegistry<Ops>::~BasicRegistry() {
  for (const auto& entry : entries_) CW_ASSERT(entry->user_count() == 0);
}

template <class Ops>
Result<void> BasicRegistry<Ops>::add(const Ops& table) {
  const std::string subject =
      DoorOf<Ops>::kind + std::string(" ") + (table.name == nullptr ? "?" : table.name);
  if (const auto checked = check_table(table); !checked) {
    return failure(subject + " " + checked.error().sentence);
  }
  if (newest(table.name) != entries_.end()) return failure(subject + " is there already");
  entries_.push_back(std::make_unique<RegistryEntry<Ops>>(table));
  return {};
}

template <class Ops>
Result<TableRef<Ops>> BasicRegistry<Ops>::load(const std::string& path) {
  auto loaded = Loaded<Ops>::load(path);
  if (!loaded) return std::unexpected(loaded.error());
  entries_.push_back(std::make_unique<RegistryEntry<Ops>>(std::move(*loaded)));
  return Ref(entries_.back().get());
}

template <class Ops>
Result<TableRef<Ops>> BasicRegistry<Ops>::find(std::string_view name) {
  const auto entry = newest(name);
  if (entry == entries_.end()) return unknown(name);
  return Ref(entry->get());
}

template <class Ops>
Result<void> BasicRegistry<Ops>::unload(std::string_view name) {
  const auto entry = newest(name);
  if (entry == entries_.end()) return unknown(name);
  const std::string subject = DoorOf<Ops>::kind + (" " + std::string(name));
  if (!(*entry)->file) return failure(subject + " is built in and cannot be unloaded");
  if (const uint32_t users = (*entry)->user_count(); users > 0) {
    return failure(subject + " from " + (*entry)->file->path() + " has " + std::to_string(users) +
                   (users == 1 ? " user" : " users") + " and cannot be unloaded");
  }
  entries_.erase(entry);
  return {};
}

template <class Ops>
size_t BasicRegistry<Ops>::unload_replaced() {
  const auto is_replaced = [this](const std::unique_ptr<RegistryEntry<Ops>>& entry) {
    return entry->file && entry->user_count() == 0 && newest(entry->name())->get() != entry.get();
  };
  // One at a time: newest() must see a whole list.
  size_t count = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool goes = is_replaced(*entry);
    entry = goes ? entries_.erase(entry) : entry + 1;
    count += goes;
  }
  return count;
}

template <class Ops>
std::optional<typename BasicRegistry<Ops>::File> BasicRegistry<Ops>::file_of(
    const Ops& table) const {
  const auto found =
      std::ranges::find(entries_, &table, [](const auto& each) { return each->table; });
  if (found == entries_.end() || !(*found)->file) return std::nullopt;
  return File{(*found)->file->path(), (*found)->file->hash()};
}

template <class Ops>
std::vector<std::string_view> BasicRegistry<Ops>::names() const {
  std::vector<std::string_view> names;
  for (const auto& entry : entries_) {
    if (std::ranges::find(names, entry->name()) == names.end()) names.push_back(entry->name());
  }
  return names;
}

template <class Ops>
std::vector<TableRef<Ops>> BasicRegistry<Ops>::all() {
  std::vector<Ref> all;
  for (const std::string_view name : names()) all.push_back(Ref(newest(name)->get()));
  return all;
}

template <class Ops>
typename BasicRegistry<Ops>::Entries::iterator BasicRegistry<Ops>::newest(std::string_view name) {
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(),
                                 [name](const auto& entry) { return entry->name() == name; });
  return last == entries_.rend() ? entries_.end() : std::prev(last.base());
}

template <class Ops>
std::unexpected<Error> BasicRegistry<Ops>::unknown(std::string_view name) const {
  const std::string begin =
      std::string("no ") + DoorOf<Ops>::kind + " is named \"" + std::string(name) + "\": ";
  if (entries_.empty()) return failure(begin + "none is known");
  return failure(begin + advice(name, names()));
}

template class TableRef<cw_policy_ops>;
template class TableRef<cw_codec_ops>;
template class BasicRegistry<cw_policy_ops>;
template class BasicRegistry<cw_codec_ops>;

}  // namespace cw::plugins
