// Finds the distribution package that owns a program, and its version, from dpkg's files (dpkg(1),
// "Files").
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/machine_root.hpp"

namespace lagtrap::trace {

// True if `path`, as this process sees it, is one of dpkg's records of installed packages: its
// status file or a package's file list.
[[nodiscard]] bool is_package_file(const std::filesystem::path& path);

// Reads nothing until the first query, and caches every answer. Not thread-safe.
class PackageVersions {
  public:
    // `machine` is the root folder for the machine's files.
    explicit PackageVersions(std::filesystem::path machine = machine_root())
        : machine_(std::move(machine)) {}

    // Version, such as "5:7.0.15-1~deb12u2", of the package that owns `program`, a path on the
    // machine without links. Empty if no package owns it, if the machine has no dpkg, or if the
    // file's build id is not `build_id` (hexadecimal): then the program is another one, most likely
    // a container's.
    [[nodiscard]] std::string version_of(const std::string& program, const std::string& build_id);

  private:
    struct Package {
        std::string list;  // name of its file list
        std::string version;
    };
    [[nodiscard]] std::string find(const std::string& program);
    void load();
    [[nodiscard]] bool owns(const Package& package, std::string_view program);

    std::filesystem::path machine_;
    std::optional<std::vector<Package>> packages_;  // nullopt until loaded
    std::uint64_t bytes_left_ = 256ULL << 20;       // for file lists
    std::map<std::pair<std::string, std::string>, std::string> known_;
};

}  // namespace lagtrap::trace
