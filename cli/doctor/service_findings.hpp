// What `lagtrap doctor` concludes about the service, from what it has read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/doctor/doctor_findings.hpp"
#include "core/result.hpp"
#include "settings/parser.hpp"

namespace lagtrap::cli {

// `outcome` is what parsing `file` gave. If it has errors, looks whether the file can be read.
[[nodiscard]] Finding settings_finding(const std::string& file,
                                       const settings::ParseOutcome& outcome);
// Whether others can change the files that are watched.
[[nodiscard]] Finding files_finding(const settings::ParseOutcome& outcome);
// `place` is an existing folder on the spool's disk.
[[nodiscard]] Finding room_finding(const std::filesystem::path& place, std::uint64_t free_bytes,
                                   std::uint64_t limit_bytes);

// The entries of one folder of the spool.
struct FolderCount {
    std::size_t entries = 0;
    std::optional<std::filesystem::file_time_type> newest;
    bool readable = false;
};
[[nodiscard]] Finding sending_finding(const FolderCount& ready, const FolderCount& sent,
                                      const FolderCount& rejected,
                                      std::filesystem::file_time_type now);
// The same if the settings have no <upload>.
[[nodiscard]] Finding not_sending();

// From the daemon's status.
[[nodiscard]] Finding daemon_finding(const Result<boost::json::object>& answer);
// The unprivileged processes that read other users' files for the daemon.
[[nodiscard]] Finding reader_finding(const boost::json::object& answer);

// The port that a URL names, or the usual one of its protocol.
[[nodiscard]] std::string port_of(const std::string& address);

}  // namespace lagtrap::cli
