// Bundles: `<session id>-<first 16 digits of digest>.lagtrap.tar.zst` with trace.pftrace, system.xml, settings.xml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::trace {

struct BundleInfo {
    std::filesystem::path path;
    std::string digest;  // SHA-256 of the whole file, its identity everywhere
    std::uint64_t size_bytes = 0;
};

// A bundle that is whole and synced but has its name still to get: `info.path`, by renaming `beside`, a hidden file in the
// same folder.
struct PackedBundle {
    std::filesystem::path beside;
    BundleInfo info;
};
[[nodiscard]] Result<PackedBundle> pack_bundle(const std::filesystem::path& directory, const std::string& session_id,
                                               const std::filesystem::path& output_directory);

// Packs the three files of `directory` (settings.xml may be missing) into `output_directory`, written beside and
// renamed when complete and synced. The same three files always give the same bytes.
[[nodiscard]] Result<BundleInfo> write_bundle(const std::filesystem::path& directory, const std::string& session_id,
                                              const std::filesystem::path& output_directory);

// What a bundle holds, read into memory within limits: only the three known plain files, each at most once;
// anything else, a link, or more than `trace_limit_bytes` of trace is an error and nothing is kept.
struct BundleContent {
    std::string trace;
    std::string system_xml;
    std::string settings_xml;
};
[[nodiscard]] Result<BundleContent> read_bundle(const std::filesystem::path& path,
                                                std::uint64_t trace_limit_bytes = 2ULL << 30);
// The system file alone, without reading the trace (it comes first in the archive).
[[nodiscard]] Result<std::string> read_bundle_system_file(const std::filesystem::path& path);

// The same two for a bundle that is open already, from the place where `fd` stands; errors do not name it. Nothing else
// is opened, so that a process that may open nothing can use them.
[[nodiscard]] Result<BundleContent> read_open_bundle(int fd, std::uint64_t trace_limit_bytes);
[[nodiscard]] Result<std::string> read_open_bundle_system_file(int fd);
// Hands the merged trace to `take` piece by piece and holds none of it; an error of `take` ends it.
[[nodiscard]] Status read_open_bundle_trace(int fd, std::uint64_t trace_limit_bytes,
                                            const std::function<Status(std::string_view)>& take);

}  // namespace lagtrap::trace
