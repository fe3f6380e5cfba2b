// The interface between recordings and the rest of the daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/calls/call_trace.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/objects/object_trace.hpp"

namespace lagtrap::daemon {

// Must outlive the capture controller. The capture controller calls all methods on its thread; they
// must not block.
class CaptureSurroundings {
  public:
    virtual ~CaptureSurroundings() = default;

    // A recording began, or ended if the id is empty.
    virtual void session_changed(const std::string& session_id) = 0;
    // A delay of this event, by number, begins a recording.
    virtual void capture_begun(std::uint32_t event) = 0;
    // There is a new bundle, or a capture lacked space.
    virtual void spool_changed() = 0;
    // One sentence for each feature that the daemon has disabled.
    [[nodiscard]] virtual std::vector<std::string> disabled_now() = 0;

    // Start a trace of calls, functions or objects for a recording. It ends when its lines are
    // unwanted. Errors: no thread can be started.
    [[nodiscard]] virtual Status begin_calls(CallRequest request,
                                             std::shared_ptr<AnswerLines> lines) = 0;
    // With the options of the event.
    [[nodiscard]] virtual Status begin_functions(std::uint32_t event, std::uint32_t pid,
                                                 std::shared_ptr<AnswerLines> lines) = 0;
    [[nodiscard]] virtual Status begin_objects(ObjectRequest request,
                                               std::shared_ptr<AnswerLines> lines) = 0;
};

}  // namespace lagtrap::daemon
