#include "settings/checked_files.hpp"

#include <fmt/core.h>

#include "core/text.hpp"
#include "sandbox/other_writers.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::settings {

const binaries::ProgramFile* CheckedFiles::open(const MarkerSource& source) {
    const std::string& path = source.marker.binary;
    auto found = files_.find(path);
    if (found == files_.end()) {
        found = files_.emplace(path, binaries::ProgramFile::open(path)).first;
        if (const std::string others = other_writers(path); !others.empty())
            diagnostics_.warn(source.binary_place,
                              others +
                                  "; expected only root and the owner: whoever can replace the "
                                  "file chooses what is watched");
    }
    if (found->second) return &*found->second;
    refuse(source, found->second.error());
    return nullptr;
}

void CheckedFiles::refuse(const MarkerSource& source, const Error& error) {
    const std::string& path = source.marker.binary;
    if (!refused_.emplace(source.binary_place, path).second) return;
    if (root_may_know(error)) return diagnostics_.note(source.binary_place, path, error);
    if (error.kind != ErrorKind::NotFound)
        return diagnostics_.add(source.binary_place, printable(error.message),
                                "expected a program or library (64-bit ELF)");
    const std::string pattern = "*/" + std::string(file_name_of(path));
    diagnostics_.warn(
        source.binary_place,
        fmt::format("{} does not exist yet; it will be watched once a process runs it, including "
                    "in a container (binary={} matches every file of that name)",
                    in_quotes(path), in_quotes(pattern)));
}

}  // namespace lagtrap::settings
