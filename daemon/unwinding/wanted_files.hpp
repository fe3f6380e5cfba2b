// Which mapped files may be programs that the settings name: by the last component of a path, a
// pattern, a build id or a package.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::daemon {

class WantedFiles {
  public:
    // Sets the names, as in the settings. True if some are new.
    bool set(const std::set<std::string>& names);
    // `path` as in the file system of the process.
    [[nodiscard]] bool mean(const lagtrap_mapping& mapping, std::string_view path) const;
    // True if some name ends with the last component of that path.
    [[nodiscard]] bool has_file_name(std::string_view path) const;
    // Compares the name that exec gives a process, which the kernel truncates.
    [[nodiscard]] bool may_be_of(std::string_view thread_name) const;

  private:
    void add_files_of(std::string_view package);

    std::set<std::string> names_;
    std::set<std::string, std::less<>> file_names_;  // last components of names without * and ?
    std::vector<std::string> patterns_;              // names whose last component has some
    std::set<std::string, std::less<>> build_ids_;   // lower-case hexadecimal
};

}  // namespace lagtrap::daemon
