// Kernel tracepoints by name. Uses a mounted tracefs where there is one, else a mount of its own that no path
// leads to (fsopen, fsmount; Linux 5.2), so nothing on the machine changes.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// A field of a tracepoint's record, as its `format` file gives it.
struct TracepointField {
    std::uint16_t offset = 0;
    std::uint16_t bytes = 0;
};

class TraceFs {
  public:
    [[nodiscard]] static Result<TraceFs> open();

    // The number that perf_event_open() knows the tracepoint by. ErrorKind::NotFound if the kernel has none.
    [[nodiscard]] Result<std::uint64_t> tracepoint_id(const std::string& category, const std::string& name) const;
    // ErrorKind::NotFound lists the fields there are; fields that are no plain integers of 1, 2, 4 or 8 bytes are refused.
    [[nodiscard]] Result<TracepointField> field(const std::string& category, const std::string& name,
                                                const std::string& field) const;

  private:
    explicit TraceFs(UniqueFd root) : root_(std::move(root)) {}
    [[nodiscard]] Result<std::string> read(const std::string& path) const;

    UniqueFd root_;
};

}  // namespace lagtrap::daemon
