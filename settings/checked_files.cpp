#include "settings/checked_files.hpp"

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::settings {

const binaries::ProgramFile* CheckedFiles::open(const MarkerSource& source) {
    const std::string& path = source.marker.binary;
    auto found = files_.find(path);
    if (found == files_.end()) found = files_.emplace(path, binaries::ProgramFile::open(path)).first;
    if (found->second) return &*found->second;
    refuse(source, found->second.error());
    return nullptr;
}

void CheckedFiles::refuse(const MarkerSource& source, const Error& error) {
    const std::string& path = source.marker.binary;
    if (!refused_.emplace(source.binary_place, path).second) return;
    if (root_may_know(error)) return diagnostics_.note(source.binary_place, path, error);
    diagnostics_.add(source.binary_place,
                     error.kind == ErrorKind::NotFound ? fmt::format("there is no file {}", in_quotes(path))
                                                       : printable(error.message),
                     "expected a program or library (64-bit ELF)");
}

}  // namespace lagtrap::settings
