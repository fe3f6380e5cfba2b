// Traces of calls, functions and objects that are part of a recording.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/capture/capture_lines.hpp"
#include "daemon/capture/capture_surroundings.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// For the io_context's only thread. All arguments must outlive it.
class CaptureTraces {
  public:
    CaptureTraces(boost::asio::io_context& context, CaptureSurroundings& surroundings, Log log)
        : context_(context), surroundings_(surroundings), log_(std::move(log)) {}

    [[nodiscard]] static bool are_wanted(const settings::Event& event);
    // Starts the traces that the event wants, of process `pid`; 0: there is none to trace. Warns
    // about those that cannot start. `number` is the event's in the settings.
    void begin(const settings::Event& event, std::uint32_t number, std::uint32_t pid,
               const std::filesystem::path& capture);
    // Ends them and calls `written` once they have written everything: at once if there are none.
    void end(const std::filesystem::path& capture, const std::string& event,
             std::function<void()> written);
    // Ends them without waiting.
    void drop() { traces_.clear(); }
    // Ends those that run as the daemon exits.
    void note_over();
    // True between end() and `written`.
    [[nodiscard]] bool are_written_to(const std::filesystem::path& capture) const {
        return ending_.contains(capture);
    }

  private:
    using Traces = std::vector<std::shared_ptr<CaptureLines>>;

    void await(Traces traces, const std::filesystem::path& capture, const std::string& event,
               std::function<void()> written);

    boost::asio::io_context& context_;
    CaptureSurroundings& surroundings_;
    Log log_;
    Traces traces_;                           // of the recording
    std::set<std::filesystem::path> ending_;  // captures whose traces have not written everything
};

}  // namespace lagtrap::daemon
