// Checks tracepoints and their fields, where the daemon will look for them.
#pragma once

#include <optional>
#include <string>

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {

class TracepointCheck {
  public:
    // Calls `open` only when it checks the first tracepoint.
    TracepointCheck(OpenTraceFs open, Diagnostics& diagnostics)
        : open_(std::move(open)), diagnostics_(diagnostics) {}

    void check(const MarkerSource& source);

  private:
    void report_missing(const MarkerSource& source, const TraceFs& tracefs);
    void check_fields(const std::optional<ArgumentRef>& argument, const std::string& attribute,
                      Place place, const Marker& marker, const TraceFs& tracefs);
    void check_field(const std::string& field, const std::string& attribute, Place place,
                     const Marker& marker, const TraceFs& tracefs);
    // Reports why a tracepoint or one of its fields cannot be used.
    void refuse(Place place, const Marker& marker, const Error& error);

    OpenTraceFs open_;
    std::optional<Result<TraceFs>> tracefs_;
    Diagnostics& diagnostics_;
};

}  // namespace lagtrap::settings
