// Bundles: `<session id>-<first 16 digits of digest>.lagtrap.tar.zst` with trace.pftrace, system.xml, settings.xml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::trace {

struct BundleInfo {
    std::filesystem::path path;
    std::string digest;  // SHA-256 of the whole file, its identity everywhere
    std::uint64_t size_bytes = 0;
};

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

}  // namespace lagtrap::trace
