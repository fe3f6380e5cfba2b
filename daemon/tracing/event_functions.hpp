// The traces of functions that events want: those that stand all the time, and those of recordings. Decides which processes have
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/functions/function_recorder.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// One thread's, that of its context.
class EventFunctions {
  public:
    // Of one event, at once; together they cost what the settings allow.
    static constexpr std::size_t most_standing = 4;
    struct Options {
        std::function<void(const std::string&)> warn;
        // Runs a trace on a thread of its own. Errors: none can be started.
        std::function<Status(std::shared_ptr<FunctionRecorder> recorder)> start;
        // Processes that have the event's program mapped.
        std::function<std::set<std::uint32_t>(std::uint32_t event)> processes_of;
    };
    EventFunctions(boost::asio::io_context& context, Options options);

    // Other events from now on: standing traces end, and begin anew.
    void use(const std::vector<settings::Event>& events);
    // All traces end soon; no further one begins.
    void stop();
    // A recording of the event wants the functions of this process, which may be watched already, until `lines` are unwanted.
    // Errors: no thread can be started.
    [[nodiscard]] Status record(std::uint32_t event, std::uint32_t pid, const std::shared_ptr<AnswerLines>& lines);
    // Of an event that wants them: traces, and why there are none.
    [[nodiscard]] boost::json::value status(std::uint32_t event) const;

  private:
    struct Refused {
        std::set<std::uint32_t> pids;
        std::string reason;  // the last one
    };
    struct Wanted {
        std::set<std::string> programs;  // paths of the one that the event's scope names; empty: any
        std::vector<std::shared_ptr<FunctionRecorder>> standing;
        std::shared_ptr<std::atomic<std::size_t>> sharers;  // the number of standing ones
        std::shared_ptr<FunctionRecorder> recorder;         // of the recording that goes on, where none of those is
        std::shared_ptr<Refused> refused;
        std::size_t beyond = 0;  // processes
    };
    void look_regularly();
    void look(std::uint32_t event, Wanted& wanted);
    [[nodiscard]] std::set<std::uint32_t> processes_in_scope(std::uint32_t event) const;
    [[nodiscard]] std::shared_ptr<FunctionRecorder> make(std::uint32_t event, std::uint32_t pid, bool standing);
    void note_refused(const std::shared_ptr<Refused>& refused, const std::string& event, std::uint32_t pid,
                      const std::string& reason);

    boost::asio::io_context& context_;
    const Options options_;
    boost::asio::steady_timer timer_;
    std::vector<settings::Event> events_;
    std::map<std::uint32_t, Wanted> wanted_;              // by event, of those that want them
    std::set<std::pair<std::string, std::string>> told_;  // events, and why they have no trace
};

}  // namespace lagtrap::daemon
