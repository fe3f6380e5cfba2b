// Looks up the kernel's tracepoints by name, for the settings check, the commands and the daemon.
// Uses a mounted tracefs if there is one, otherwise a detached mount of its own (fsopen, fsmount;
// Linux 5.2), which changes nothing on the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::settings {

// A field of a tracepoint's record, from its `format` file.
struct TracepointField {
    std::string name;          // arrays keep their brackets: "rwbs[10]"
    std::uint16_t offset = 0;  // in bytes, within the record
    std::uint16_t bytes = 0;
    bool number = false;  // an integer or address of 1, 2, 4 or 8 bytes, not an array or string
};

class TraceFs {
  public:
    // ErrorKind::Denied if it needs root, ErrorKind::System if the kernel has no tracefs.
    [[nodiscard]] static Result<TraceFs> open();
    // Uses the tracefs in this folder. ErrorKind::NotFound, Denied.
    [[nodiscard]] static Result<TraceFs> below(const std::filesystem::path& folder);

    // The tracepoint's number for perf_event_open(). ErrorKind::NotFound if the kernel does not
    // have it.
    [[nodiscard]] Result<std::uint64_t> tracepoint_id(const std::string& category,
                                                      const std::string& name) const;
    // Its own fields in the order of the record, without those common to all tracepoints.
    [[nodiscard]] Result<std::vector<TracepointField>> fields(const std::string& category,
                                                              const std::string& name) const;
    // A field that is a number; may be one common to all tracepoints. ErrorKind::NotFound, with a
    // list of the fields, if there is no such field; ErrorKind::Unsupported if it is not a number.
    [[nodiscard]] Result<TracepointField> field(const std::string& category,
                                                const std::string& name,
                                                const std::string& field) const;
    // Sorted names; names() is empty for an unknown category.
    [[nodiscard]] std::vector<std::string> categories() const;
    [[nodiscard]] std::vector<std::string> names(const std::string& category) const;

  private:
    explicit TraceFs(UniqueFd root) : root_(std::move(root)) {}
    [[nodiscard]] Result<std::string> read(const std::string& path) const;
    [[nodiscard]] std::vector<std::string> folders_in(const std::string& path) const;

    UniqueFd root_;
};

// Opens the tracefs.
using OpenTraceFs = std::function<Result<TraceFs>()>;

}  // namespace lagtrap::settings
