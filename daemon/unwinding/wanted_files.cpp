#include "daemon/unwinding/wanted_files.hpp"

#include <algorithm>

#include "daemon/processes/mapping_build_id.hpp"
#include "settings/package_files.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {

using settings::file_name_of;
using settings::ProgramName;

bool WantedFiles::set(const std::set<std::string>& names) {
    const bool some_new = !std::includes(names_.begin(), names_.end(), names.begin(), names.end());
    names_ = names;
    file_names_.clear();
    patterns_.clear();
    build_ids_.clear();
    for (const std::string& name : names) {
        const std::string file_name(file_name_of(name));
        if (settings::kind_of_program(name) == ProgramName::BuildId)
            build_ids_.insert(name.substr(settings::build_id_prefix.size()));
        else if (settings::kind_of_program(name) == ProgramName::Package)
            add_files_of(name.substr(settings::package_prefix.size()));
        else if (settings::kind_of_program(file_name) == ProgramName::Pattern)
            patterns_.push_back(name);
        else
            file_names_.insert(file_name);
    }
    return some_new;
}

// Other files with the same names are left out when they are inspected.
void WantedFiles::add_files_of(std::string_view package) {
    for (const std::string& path : *settings::files_of_package(package))
        file_names_.emplace(file_name_of(path));
}

bool WantedFiles::mean(const lagtrap_mapping& mapping, std::string_view path) const {
    if (!path.starts_with('/') || path.starts_with("//")) return false;
    if (has_file_name(path)) return true;
    if (std::any_of(patterns_.begin(), patterns_.end(),
                    [&](const auto& pattern) { return settings::matches_pattern(pattern, path); }))
        return true;
    return !build_ids_.empty() &&
           (mapping.build_id_bytes == 0 || build_ids_.contains(build_id_of(mapping)));
}

bool WantedFiles::has_file_name(std::string_view path) const {
    return file_names_.contains(file_name_of(path));
}

bool WantedFiles::may_be_of(std::string_view thread_name) const {
    if (thread_name.empty()) return false;
    const auto from = file_names_.lower_bound(thread_name);
    return from != file_names_.end() &&
           std::string_view(*from).substr(0, LAGTRAP_COMM_BYTES - 1) == thread_name;
}

}  // namespace lagtrap::daemon
