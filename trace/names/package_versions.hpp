// Which package of the distribution a program is from, and its version there: by dpkg's own files (dpkg(1), "Files").
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

// Whether it is what dpkg keeps of what is installed: its status, or a package's list of files. `path` as the process finds it.
[[nodiscard]] bool is_package_file(const std::filesystem::path& path);

// One thread's. Reads nothing before it is asked, and each answer is kept.
class PackageVersions {
  public:
    // `machine`: where the machine's files are found.
    explicit PackageVersions(std::filesystem::path machine = machine_root()) : machine_(std::move(machine)) {}

    // The version, as "5:7.0.15-1~deb12u2", of the package that owns `program`, a path without links on the machine. Empty: no
    // package does, the machine has no dpkg, or its file has another build id than `build_id` (hexadecimal) and so is not the
    // program that is meant; a container's, most likely.
    [[nodiscard]] std::string version_of(const std::string& program, const std::string& build_id);

  private:
    struct Package {
        std::string list;  // name of its list of files
        std::string version;
    };
    [[nodiscard]] std::string find(const std::string& program);
    void load();
    [[nodiscard]] bool owns(const Package& package, std::string_view program);

    std::filesystem::path machine_;
    std::optional<std::vector<Package>> packages_;  // once it was looked for
    std::uint64_t bytes_left_ = 256ULL << 20;       // of lists
    std::map<std::pair<std::string, std::string>, std::string> known_;
};

}  // namespace lagtrap::trace
