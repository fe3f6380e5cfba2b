// Connects recordings with the other parts of the daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/capture/capture_surroundings.hpp"
#include "daemon/daemon_parts.hpp"

namespace lagtrap::daemon {

class RecordingSurroundings : public CaptureSurroundings {
  public:
    // Uses `parts` once they are created.
    explicit RecordingSurroundings(DaemonParts& parts) : parts_(parts) {}

    void session_changed(const std::string& session_id) override {
        parts_.reporter->note_session(session_id);
    }
    void capture_begun(std::uint32_t event) override { parts_.thresholds->note_capture(event); }
    void spool_changed() override { parts_.keeper->look(); }
    [[nodiscard]] std::vector<std::string> disabled_now() override {
        return parts_.budgets->disabled_now();
    }
    [[nodiscard]] Status begin_calls(CallRequest request,
                                     std::shared_ptr<AnswerLines> lines) override {
        return parts_.call_traces->begin_recorded(std::move(request), std::move(lines));
    }
    [[nodiscard]] Status begin_functions(std::uint32_t event, std::uint32_t pid,
                                         std::shared_ptr<AnswerLines> lines) override {
        return parts_.functions->record(event, pid, lines);
    }
    [[nodiscard]] Status begin_objects(ObjectRequest request,
                                       std::shared_ptr<AnswerLines> lines) override {
        return parts_.call_traces->begin_recorded(std::move(request), std::move(lines));
    }

  private:
    DaemonParts& parts_;
};

}  // namespace lagtrap::daemon
