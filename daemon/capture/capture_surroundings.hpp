// What recordings need of the rest of the daemon, and what that is told of them.
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

// Outlives the collector. All of it is called by the collector's thread, and waits for nothing.
class CaptureSurroundings {
  public:
    virtual ~CaptureSurroundings() = default;

    // A recording begins; with an empty id: it ended.
    virtual void session_changed(const std::string& session_id) = 0;
    // One bundle more, or a capture lacked something.
    virtual void spool_changed() = 0;
    // What the daemon has given up, a sentence each.
    [[nodiscard]] virtual std::vector<std::string> shed_now() = 0;

    // Traces for a recording, of calls, functions or objects; each ends when its lines are unwanted. Errors: no thread can be started.
    [[nodiscard]] virtual Status begin_calls(CallRequest request, std::shared_ptr<AnswerLines> lines) = 0;
    // As the event wants them.
    [[nodiscard]] virtual Status begin_functions(std::uint32_t event, std::uint32_t pid,
                                                 std::shared_ptr<AnswerLines> lines) = 0;
    [[nodiscard]] virtual Status begin_objects(ObjectRequest request, std::shared_ptr<AnswerLines> lines) = 0;
};

}  // namespace lagtrap::daemon
