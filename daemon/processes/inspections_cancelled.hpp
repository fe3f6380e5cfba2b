// Ends the inspections of a thread early.
#pragma once

#include <atomic>

namespace lagtrap::daemon {

// While it exists, inspections that this thread requests from a pool end soon (Timeout) once
// `given_up` is set, which must outlive it. At most one per thread.
class InspectionsCancelled {
  public:
    explicit InspectionsCancelled(const std::atomic<bool>& given_up);
    ~InspectionsCancelled();
    InspectionsCancelled(const InspectionsCancelled&) = delete;
    InspectionsCancelled& operator=(const InspectionsCancelled&) = delete;
};

// True if the inspections of this thread end early now.
[[nodiscard]] bool inspections_are_cancelled();

}  // namespace lagtrap::daemon
