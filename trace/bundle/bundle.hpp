// Writes and reads bundles: `<session id>-<first 16 digits of digest>.lagtrap.tar.zst` with
// trace.pftrace, system.xml and settings.xml.
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
    std::string digest;  // SHA-256 of the whole file; identifies the bundle everywhere
    std::uint64_t size_bytes = 0;
};

// A complete, synced bundle that does not have its final name yet. Rename `beside`, a hidden file
// in the same folder, to `info.path` to publish it.
struct PackedBundle {
    std::filesystem::path beside;
    BundleInfo info;
};
// Packs like write_bundle(), but leaves the rename to the caller.
[[nodiscard]] Result<PackedBundle> pack_bundle(const std::filesystem::path& directory,
                                               const std::string& session_id,
                                               const std::filesystem::path& output_directory);

// Packs the three files of `directory` (settings.xml may be missing) into `output_directory`. The
// bundle is written to a temporary file and renamed once it is complete and synced. The same three
// files always give the same bytes.
[[nodiscard]] Result<BundleInfo> write_bundle(const std::filesystem::path& directory,
                                              const std::string& session_id,
                                              const std::filesystem::path& output_directory);

// The contents of a bundle in memory. Reading accepts only the three known regular files, each at
// most once. Any other entry, or a link, is ErrorKind::Invalid; more than `trace_limit_bytes` of
// trace is ErrorKind::TooLarge.
struct BundleContent {
    std::string trace;
    std::string system_xml;
    std::string settings_xml;
};
[[nodiscard]] Result<BundleContent> read_bundle(const std::filesystem::path& path,
                                                std::uint64_t trace_limit_bytes = 2ULL << 30);
// Reads only the system file, which comes first in the archive, and skips the trace.
[[nodiscard]] Result<std::string> read_bundle_system_file(const std::filesystem::path& path);

// The same two functions for a bundle that is already open. They read from the current position of
// `fd`; their errors do not name the file. They open nothing else, so a process that may not open
// files can use them.
[[nodiscard]] Result<BundleContent> read_open_bundle(int fd, std::uint64_t trace_limit_bytes);
[[nodiscard]] Result<std::string> read_open_bundle_system_file(int fd);
// Passes the merged trace to `take` piece by piece, without holding it in memory. Stops at, and
// returns, an error of `take`.
[[nodiscard]] Status read_open_bundle_trace(int fd, std::uint64_t trace_limit_bytes,
                                            const std::function<Status(std::string_view)>& take);

}  // namespace lagtrap::trace
