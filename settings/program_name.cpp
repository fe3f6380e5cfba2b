#include "settings/program_name.hpp"

#include "settings/package_files.hpp"

namespace lagtrap::settings {

ProgramName kind_of_program(std::string_view name) {
    if (name.starts_with(build_id_prefix)) return ProgramName::BuildId;
    if (name.starts_with(package_prefix)) return ProgramName::Package;
    return name.find_first_of("*?") == std::string_view::npos ? ProgramName::Path
                                                              : ProgramName::Pattern;
}

// At a mismatch, the last * takes one more character. Earlier ones need no retry.
bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t at = 0, star = std::string_view::npos, star_took_to = 0, here = 0;
    while (here < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_took_to = here;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[here])) {
            ++at;
            ++here;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            here = ++star_took_to;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') ++at;
    return at == pattern.size();
}

bool means_file(std::string_view name, std::string_view path, std::string_view build_id) {
    switch (kind_of_program(name)) {
        case ProgramName::Path: return name == path;
        case ProgramName::Pattern: return matches_pattern(name, path);
        case ProgramName::BuildId:
            return !build_id.empty() && name.substr(build_id_prefix.size()) == build_id;
        case ProgramName::Package:
            return files_of_package(name.substr(package_prefix.size()))->contains(path);
    }
    return false;
}

std::string_view file_name_of(std::string_view name) {
    const ProgramName kind = kind_of_program(name);
    if (kind == ProgramName::BuildId || kind == ProgramName::Package) return {};
    return name.substr(name.rfind('/') + 1);
}

}  // namespace lagtrap::settings
