// The kernel's tracepoints by name: the check of the settings, the commands and the daemon ask the same here. Uses a
// mounted tracefs where there is one, else a mount of its own that no path leads to (fsopen, fsmount; Linux 5.2), so
// nothing on the machine changes.
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

// A field of a tracepoint's record, as its `format` file gives it.
struct TracepointField {
    std::string name;          // arrays keep their brackets: "rwbs[10]"
    std::uint16_t offset = 0;  // bytes, in the record
    std::uint16_t bytes = 0;
    bool number = false;  // an integer or address of 1, 2, 4 or 8 bytes: neither array nor string
};

class TraceFs {
  public:
    // ErrorKind::Denied: it takes root. ErrorKind::System: the kernel has no tracefs.
    [[nodiscard]] static Result<TraceFs> open();
    // One that lies in this folder. Errors: ErrorKind::NotFound, Denied.
    [[nodiscard]] static Result<TraceFs> below(const std::filesystem::path& folder);

    // The number that perf_event_open() knows the tracepoint by. ErrorKind::NotFound if the kernel has none.
    [[nodiscard]] Result<std::uint64_t> tracepoint_id(const std::string& category, const std::string& name) const;
    // Its own fields in the order of the record, without those common to all.
    [[nodiscard]] Result<std::vector<TracepointField>> fields(const std::string& category,
                                                              const std::string& name) const;
    // One that is a number, or is common to all. ErrorKind::NotFound lists the fields there are; ErrorKind::Unsupported
    // for one that is no number.
    [[nodiscard]] Result<TracepointField> field(const std::string& category, const std::string& name,
                                                const std::string& field) const;
    // Sorted names; empty for an unknown category.
    [[nodiscard]] std::vector<std::string> categories() const;
    [[nodiscard]] std::vector<std::string> names(const std::string& category) const;

  private:
    explicit TraceFs(UniqueFd root) : root_(std::move(root)) {}
    [[nodiscard]] Result<std::string> read(const std::string& path) const;
    [[nodiscard]] std::vector<std::string> folders_in(const std::string& path) const;

    UniqueFd root_;
};

// How the tracepoints are reached.
using OpenTraceFs = std::function<Result<TraceFs>()>;

}  // namespace lagtrap::settings
