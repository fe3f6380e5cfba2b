// The function traces that events need, standing ones and those for recordings. Decides which
// processes to trace.
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

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/functions/function_recorder.hpp"
#include "daemon/tracing/function_threads.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Use it only on the context's thread.
class EventFunctions {
  public:
    // Standing traces per event; they share the event's budget.
    static constexpr std::size_t max_standing = 4;
    // Processes that map the event's program.
    using ProcessesOf = std::function<std::set<std::uint32_t>(std::uint32_t event)>;
    // `threads` must outlive it.
    EventFunctions(boost::asio::io_context& context, FunctionThreads& threads,
                   ProcessesOf processes_of, Log log)
        : context_(context),
          threads_(threads),
          processes_of_(std::move(processes_of)),
          log_(std::move(log)),
          timer_(context) {}

    // Replaces the events. Standing traces end and begin again.
    void use(const std::vector<settings::Event>& events);
    // Ends all traces soon and starts no others.
    void stop();
    // Writes the functions of a process into `lines` for a recording of the event, until they are
    // unwanted. Uses the standing trace of the process if there is one. Errors: no thread can be
    // started.
    [[nodiscard]] Status record(std::uint32_t event, std::uint32_t pid,
                                const std::shared_ptr<AnswerLines>& lines);
    // The traces of an event, and why processes have none. null if the event wants no traces.
    [[nodiscard]] boost::json::value status(std::uint32_t event) const;

  private:
    struct Refused {
        std::set<std::uint32_t> pids;
        std::string reason;  // the last one
    };
    struct Wanted {
        // paths of the program in the event's scope; empty: any program
        std::set<std::string> programs;
        std::vector<std::shared_ptr<FunctionRecorder>> standing;
        std::shared_ptr<std::atomic<std::size_t>> sharers;  // number of standing traces
        // for the current recording, if no standing trace serves it
        std::shared_ptr<FunctionRecorder> recorder;
        std::shared_ptr<Refused> refused;
        std::size_t beyond = 0;  // processes beyond max_standing
    };
    void look_regularly();
    void look(std::uint32_t event, Wanted& wanted);
    [[nodiscard]] std::set<std::uint32_t> processes_in_scope(std::uint32_t event) const;
    [[nodiscard]] std::shared_ptr<FunctionRecorder> make(std::uint32_t event, std::uint32_t pid,
                                                         bool standing);
    void note_refused(const std::shared_ptr<Refused>& refused, const std::string& event,
                      std::uint32_t pid, const std::string& reason);

    boost::asio::io_context& context_;
    FunctionThreads& threads_;
    const ProcessesOf processes_of_;
    const Log log_;
    boost::asio::steady_timer timer_;
    std::vector<settings::Event> events_;
    // by event, for those that want traces
    std::map<std::uint32_t, Wanted> wanted_;
    std::set<std::pair<std::string, std::string>> reported_;  // reported events and reasons
};

}  // namespace lagtrap::daemon
