#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/why/child_command.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr int pause_ms = 1'000;
// How long a command that only tells may take, and how long any may take to end once its time is
// over.
constexpr std::chrono::seconds telling_time = 30s, ending_time = 2s;
constexpr std::size_t sessions_known = 1'000;

std::string sentence_of(const json::object& question, const AskOptions& options) {
    std::string sentence = fmt::format("lagtrap: {} was too slow in {}. ", text(question, "event"),
                                       text(question, "process"));
    sentence += options.tell
                    ? "\"lagtrap approve\" keeps the recording, \"lagtrap decline\" discards it. "
                    : "Keep the recording? ";
    return sentence + "Without an answer, it is kept in " + seconds_text(question, "seconds_left") +
           ".";
}

// Ends the command when its time is over; returns its exit code, or 128 and more if a signal ended
// it.
Result<int> run_command(const std::string& sentence, std::chrono::nanoseconds time,
                        const AskOptions& options) {
    std::vector<std::string> words = options.command;
    words.push_back(sentence);
    TRY_ASSIGN(ChildCommand command, ChildCommand::prepare(words));
    TRY(command.go());
    if (!command.ends_within(time)) {
        ::kill(command.pid(), SIGTERM);
        if (!command.ends_within(ending_time)) ::kill(command.pid(), SIGKILL);
        command.wait();
    }
    return command.exit_code();
}

std::string answer(const json::object& question, const char* command, const AskOptions& options) {
    const auto answered =
        ask_daemon(options.socket, {{"command", command}, {"session", text(question, "session")}});
    if (!answered) return answered.error().message;
    return std::string(command) == "approve" ? "kept" : "discarded";
}

void ask_about(const json::object& question, const AskOptions& options, Console& console) {
    const std::chrono::nanoseconds left(
        static_cast<std::int64_t>(real(question, "seconds_left") * 1e9));
    const auto code = run_command(
        sentence_of(question, options),
        options.tell ? std::min<std::chrono::nanoseconds>(left, telling_time) : left, options);
    std::string outcome = "no answer";
    if (!code) {
        outcome = code.error().message;
    } else if (options.tell) {
        outcome = *code == 0
                      ? "notified"
                      : fmt::format("{} ended with {}", printable(options.command.front()), *code);
    } else if (*code == 0 || *code == 1) {
        outcome = answer(question, *code == 0 ? "approve" : "decline", options);
    }
    console.out << text(question, "event") << ": " << outcome << "\n" << std::flush;
}

}  // namespace

int ask_person(const AskOptions& options, Console& console) {
    note_interrupts_while_waiting();
    std::set<std::string> asked;
    for (bool answered = false, waits = false; interrupted == 0;) {
        // The daemon may start later, or restart.
        const auto status = ask_daemon(options.socket, {{"command", "status"}});
        if (!status && !answered) {
            if (status.error().kind != ErrorKind::NotFound)
                return console.fail(status.error().message);
            if (!std::exchange(waits, true))
                console.err << "lagtrap: waiting for lagtrapd at " << options.socket << "\n";
        }
        answered = answered || status;
        const json::object question = status ? part(*status, "pending") : json::object();
        if (!question.empty() && asked.insert(text(question, "session")).second) {
            if (asked.size() > sessions_known) asked = {text(question, "session")};
            ask_about(question, options, console);
        }
        if (interrupted == 0) ::poll(nullptr, 0, pause_ms);
    }
    return exit_done;
}

}  // namespace lagtrap::cli
