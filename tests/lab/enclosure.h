// A process of which nothing is left, however it ends: Ctrl-C, kill, kill -9.
//
// The work is done by the first process of a process namespace. When that process ends, the kernel
// kills everything in the namespace; and it is told to end with its parent, the process that the
// user sees. Network namespaces without names, held open only in there, end with their holders.
// Files are written to a file system in memory that is mounted for these processes alone.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace cw::lab {

/// Where files go inside an enclosure.
inline constexpr const char* enclosure_folder = "/mnt";

/// Runs `work` inside and returns its exit status; 128 and more: ended by that signal. SIGINT,
/// SIGTERM and SIGHUP end the work at once. Before any thread has been made. Throws when the kernel
/// refuses.
int run_enclosed(const std::function<int()>& work);

/// For the main() of a measurement between namespaces: runs it inside, with the folder in which its
/// program and the others lie. Returns what it does; 3 where there can be no namespaces, 1 where it
/// throws, which are told as `name`'s.
int run_measurement(const std::string& name,
                    const std::function<int(const std::filesystem::path& programs)>& work);

}  // namespace cw::lab
