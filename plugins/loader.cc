#include "plugins/loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "dataplane/base/fnv.h"
#include "plugins/check/elf_check.h"
#include "plugins/check/table_check.h"

namespace cw::plugins {
namespace {

constexpr size_t file_bytes_max = LoadedPolicy::file_bytes_max;
size_t resident_files = 0;

/// A file descriptor that is closed with its scope, unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::unexpected<Error> refuse(const std::string& path, const std::string& complaint) {
  return failure("plugin " + path + " " + complaint);
}

std::unexpected<Error> refuse_for_errno(const std::string& path, const std::string& complaint) {
  return refuse(path, complaint + ": " + std::strerror(errno));
}

/// The whole file. A regular one only: a pipe would make the reader wait.
Result<std::vector<char>> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts;
  if (!file.is_open() || ::fstat(file.number(), &facts) != 0) {
    return refuse_for_errno(path, "cannot be opened");
  }
  if (!S_ISREG(facts.st_mode)) return refuse(path, "is not a regular file");
  const auto bytes = static_cast<size_t>(facts.st_size);
  if (bytes > file_bytes_max) {
    return refuse(path, "has " + std::to_string(bytes) + " bytes where " +
                            std::to_string(file_bytes_max) + " are the most");
  }
  std::vector<char> content(bytes);
  for (size_t have = 0; have < bytes;) {
    const ssize_t count = ::read(file.number(), content.data() + have, bytes - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse_for_errno(path, "cannot be read");
    if (count == 0) return refuse(path, "became shorter while it was read");
    have += static_cast<size_t>(count);
  }
  return content;
}

bool write_all(int descriptor, const std::vector<char>& content) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t count = ::write(descriptor, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

/// A copy without a name, which debuggers and /proc/self/maps show under the file's.
Result<Descriptor> copy_of(const std::string& path, const std::vector<char>& content) {
  const std::string name = path.substr(path.rfind('/') + 1).substr(0, 200);
  Descriptor copy(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!copy.is_open() || !write_all(copy.number(), content)) {
    return refuse_for_errno(path, "cannot be copied into memory");
  }
  return copy;
}

std::string name_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// What the dynamic loader said, without the name of the copy.
std::string loader_error(int descriptor) {
  const char* const said = ::dlerror();
  const std::string text = said == nullptr ? "no reason given" : said;
  const std::string begin = name_of(descriptor) + ": ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

/// The copied and checked table; a sentence without its subject when there is none.
template <class Ops>
Result<Ops> table_in(const MappedFile& file) {
  const char* const symbol = DoorOf<Ops>::symbol;
  const auto function = reinterpret_cast<const Ops* (*)()>(file.function(symbol));
  if (function == nullptr) return failure(std::string("exports no function ") + symbol);
  const Ops* const foreign = function();
  if (foreign == nullptr) return failure(std::string("gives no table from ") + symbol);
  auto table = adopt_table(*foreign);
  if (!table) return table;
  if (const auto checked = check_table(*table); !checked) return std::unexpected(checked.error());
  return table;
}

}  // namespace

size_t resident_file_count() { return resident_files; }

// The descriptor stays open while the file is resident: the loader knows the file by the
// descriptor's name, and would take the next file under the same number for this one.
void MappedFile::Unmap::operator()(void* handle) const {
  ::dlclose(handle);
  if (void* const again = ::dlopen(name_of(descriptor).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    ::dlclose(again);
    return;
  }
  ::close(descriptor);
  --resident_files;
}

// A variable of that name would be called as code.
void (*MappedFile::function(const char* symbol) const)() {
  void* const address = ::dlsym(handle_.get(), symbol);
  if (address == nullptr) return nullptr;
  Dl_info info;
  void* entry = nullptr;
  const int found = ::dladdr1(address, &info, &entry, RTLD_DL_SYMENT);
  const bool is_function = found != 0 && entry != nullptr &&
                           ELF64_ST_TYPE(static_cast<const ElfW(Sym)*>(entry)->st_info) == STT_FUNC;
  return is_function ? reinterpret_cast<void (*)()>(address) : nullptr;
}

Result<MappedFile> MappedFile::map(const std::string& path) {
  if (resident_files >= files_resident_max) {
    return refuse(path, "is one too many: " + std::to_string(files_resident_max) +
                            " plugins are loaded; unload one that is not in use");
  }
  const auto content = read_file(path);
  if (!content) return std::unexpected(content.error());
  if (const auto fits = check_elf(*content); !fits) return refuse(path, fits.error().sentence);
  auto copy = copy_of(path, *content);
  if (!copy) return std::unexpected(copy.error());
  void* const handle = ::dlopen(name_of(copy->number()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refuse(path, "does not load: " + loader_error(copy->number()));
  ++resident_files;
  const uint64_t hash = fnv_1a({content->data(), content->size()});
  return MappedFile(Handle(handle, Unmap{copy->release()}), hash);
}

template <class Ops>
Result<Loaded<Ops>> Loaded<Ops>::load(const std::string& path) {
  auto file = MappedFile::map(path);
  if (!file) return std::unexpected(file.error());
  const auto table = table_in<Ops>(*file);
  if (!table) return refuse(path, table.error().sentence);
  return Loaded(path, std::move(*file), std::make_unique<const Ops>(*table));
}

template class Loaded<cw_policy_ops>;
template class Loaded<cw_codec_ops>;

}  // namespace cw::plugins
