// Which files a Debian package has installed on the machine: by dpkg's own lists (dpkg(1), "Files").
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "sandbox/dpkg_files.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::settings {

using PackageFiles = std::set<std::string, std::less<>>;

// Paths of what may be a program or library, under /usr too where the list still says /bin, /sbin or /lib. `package` is as dpkg has it,
// with or without its architecture ("libssl3", "libssl3:amd64"). Empty where the machine has no such package. What was read is
// kept until dpkg changes any package. Any thread.
[[nodiscard]] std::shared_ptr<const PackageFiles> files_of_package(
    std::string_view package, const std::filesystem::path& lists_folder = on_machine(dpkg_lists));

// Whether it can be the name of a package: no path, no pattern.
[[nodiscard]] bool is_package_name(std::string_view text);

}  // namespace lagtrap::settings
