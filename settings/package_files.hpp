// Lists the files that a Debian package installed on the machine, from dpkg's own lists (dpkg(1),
// "Files").
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

// Paths that may be programs or libraries, also with /usr prepended if the list still says /bin,
// /sbin or /lib. `package` as in dpkg, with or without architecture ("libssl3", "libssl3:amd64").
// Empty if it is not installed. Results are cached until dpkg changes any package. Thread-safe.
[[nodiscard]] std::shared_ptr<const PackageFiles> files_of_package(
    std::string_view package, const std::filesystem::path& lists_folder = on_machine(dpkg_lists));

// Whether it can be a package's name rather than a path or pattern.
[[nodiscard]] bool is_package_name(std::string_view text);

}  // namespace lagtrap::settings
