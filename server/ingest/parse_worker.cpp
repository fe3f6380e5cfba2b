#include "server/ingest/parse_worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <new>

#include "core/child_process.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "core/unique_fd.hpp"
#include "formats/format_table.hpp"
#include "sandbox/confinement.hpp"
#include "server/ingest/confinement.hpp"
#include "server/ingest/parse_bundle.hpp"

namespace lagtrap::server {
namespace {

constexpr int bundle_descriptor = 3;
constexpr std::uint64_t life_ns = 120ULL * 1'000'000'000ULL;
constexpr std::size_t message_limit_bytes = 4096;
// The first byte of an answer.
constexpr char good = '+';
constexpr char bad = '-';

enum ExitCode { answered = 0, not_confined = 4, not_written = 5 };

std::string why(int status) {
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
            return "reading the bundle took more time than is allowed";
        return std::string("reading the bundle broke the parser (") + strsignal(WTERMSIG(status)) +
               ")";
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_confined)
        return "the parser could not be confined";
    return "the parser ended early";
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

Result<std::string> answer_of(const ParseTask& task) {
    switch (task.kind) {
        case ParseTask::Kind::SystemFile: return read_system_xml(bundle_descriptor);
        case ParseTask::Kind::Quality: return describe_quality(bundle_descriptor);
        case ParseTask::Kind::Timeline: return describe_timeline(bundle_descriptor, task.delay);
        case ParseTask::Kind::Machine:
            return describe_machine(bundle_descriptor, task.delay, task.window);
        case ParseTask::Kind::Export:
            return delay_in_form(bundle_descriptor, task.delay, task.format, task.time);
        default: return describe_bundle(bundle_descriptor);
    }
}

Status write_answer(const ParseTask& task) {
    const auto put = [](std::string_view piece) {
        return write_all(STDOUT_FILENO, piece.data(), piece.size());
    };
    if (task.kind == ParseTask::Kind::Trace) {
        bool begun = false;
        return stream_trace(bundle_descriptor, [&](std::string_view piece) -> Status {
            if (!begun) TRY(put({&good, 1}));
            begun = true;
            return put(piece);
        });
    }
    TRY_ASSIGN(const std::string answer, answer_of(task));
    TRY(put({&good, 1}));
    return put(answer);
}

}  // namespace

std::string ParseTask::text() const {
    switch (kind) {
        case Kind::Bundle: return "bundle";
        case Kind::SystemFile: return "system";
        case Kind::Quality: return "quality";
        case Kind::Trace: return "trace";
        case Kind::Timeline: break;
        case Kind::Machine:
            return "machine:" + std::to_string(delay) + ":" + std::to_string(window.from_ns) + ":" +
                   std::to_string(window.to_ns) + ":" + std::to_string(window.columns);
        case Kind::Export:
            return "export:" + std::to_string(delay) + ":" + format + ":" +
                   std::string(formats::word_of(time));
    }
    return "timeline:" + std::to_string(delay);
}

Result<ParseTask> ParseTask::parse(std::string_view text) {
    if (text == "bundle") return ParseTask{Kind::Bundle};
    if (text == "system") return ParseTask{Kind::SystemFile};
    if (text == "quality") return ParseTask{Kind::Quality};
    if (text == "trace") return ParseTask{Kind::Trace};
    ParseTask task;
    std::string_view rest = text;
    const auto part = [&] {
        const std::string_view first = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), first.size() + 1));
        return first;
    };
    const auto unknown = [&] {
        return make_error(ErrorKind::Invalid,
                          "the parser knows no task \"" + printable(text) + "\"");
    };
    const std::string_view kind = part();
    if (kind == "export")
        task.kind = Kind::Export;
    else if (kind == "machine")
        task.kind = Kind::Machine;
    else if (kind == "timeline")
        task.kind = Kind::Timeline;
    else
        return unknown();
    if (!read_number(part(), task.delay)) return unknown();
    if (task.kind == Kind::Machine) {
        analysis::MachineWindow& window = task.window;
        if (!read_number(part(), window.from_ns) || !read_number(part(), window.to_ns) ||
            !read_number(part(), window.columns) || window.from_ns >= window.to_ns ||
            window.columns == 0)
            return unknown();
    }
    if (task.kind == Kind::Export) {
        task.format = part();
        const auto time = formats::time_of_word(part());
        if (formats::find_format(task.format) == nullptr || !time) return unknown();
        task.time = *time;
    }
    if (task.text() != text) return unknown();
    return task;
}

int run_parse_worker(std::string_view text) {
    become_first_oom_victim();
    const auto task = ParseTask::parse(text);
    if (!task || !confine_process()) return not_confined;
    std::string message;
    try {
        const Status status = write_answer(*task);
        if (status) return answered;
        message = status.error().message;
    } catch (const std::bad_alloc&) {
        message = "reading it takes more memory than is allowed";
    }
    // After part of a trace this text is appended to it; the exit code tells the reader that the
    // answer failed.
    message = bad + message.substr(0, message_limit_bytes);
    static_cast<void>(write_all(STDOUT_FILENO, message.data(), message.size()));
    return not_written;
}

Result<std::unique_ptr<ParseWorker>> ParseWorker::start(int bundle, const ParseTask& task,
                                                        const std::string& program) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("starting the parser");
    UniqueFd reading(ends[0]);
    const UniqueFd writing(ends[1]);
    ChildOptions options;
    options.arguments = {"lagtrap-server", "--parse-worker", task.text()};
    options.descriptors = {{STDIN_FILENO, -1},
                           {STDOUT_FILENO, writing.get()},
                           {STDERR_FILENO, -1},
                           {bundle_descriptor, bundle}};
    TRY_ASSIGN(const pid_t process,
               start_child(program.empty() ? "/proc/self/exe" : program, options));
    return std::unique_ptr<ParseWorker>(
        new ParseWorker(process, reading.release(), monotonic_ns() + life_ns));
}

ParseWorker::~ParseWorker() {
    ::close(pipe_);
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    static_cast<void>(::waitpid(process_, nullptr, 0));
}

Result<std::size_t> ParseWorker::read_some(char* into, std::size_t size) {
    for (;;) {
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns >= deadline_ns_)
            return make_error(ErrorKind::Timeout, "reading the bundle took too long");
        pollfd waiting{pipe_, POLLIN, 0};
        const int ready =
            ::poll(&waiting, 1, static_cast<int>((deadline_ns_ - now_ns) / 1'000'000) + 1);
        if (ready < 0 && errno != EINTR) return system_error("waiting for the parser");
        if (ready <= 0) continue;
        const ssize_t got = ::read(pipe_, into, size);
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return system_error("reading from the parser");
    }
}

// How the worker ended, after the end of its pipe.
Status ParseWorker::end() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0)
        if (errno != EINTR) return system_error("waiting for the parser");
    process_ = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == answered) return success();
    return make_error(ErrorKind::System, why(status));
}

Result<std::size_t> ParseWorker::read(char* into, std::size_t size) {
    if (!answer_begun_) {
        char first = 0;
        TRY_ASSIGN(const std::size_t got, read_some(&first, 1));
        if (got == 0) {
            TRY(end());
            return make_error(ErrorKind::System, "the parser gave no answer");
        }
        if (first != good) {
            std::array<char, message_limit_bytes> text;
            std::string message;
            for (;;) {
                TRY_ASSIGN(const std::size_t more, read_some(text.data(), text.size()));
                if (more == 0 || message.size() > message_limit_bytes) break;
                message.append(text.data(), more);
            }
            return make_error(ErrorKind::Invalid,
                              printable(message.substr(0, message_limit_bytes)));
        }
        answer_begun_ = true;
    }
    TRY_ASSIGN(const std::size_t got, read_some(into, size));
    if (got == 0) TRY(end());
    return got;
}

Result<std::string> ParseWorker::read_all(std::size_t limit_bytes) {
    std::string answer;
    std::array<char, 65536> piece;
    for (;;) {
        TRY_ASSIGN(const std::size_t got, read(piece.data(), piece.size()));
        if (got == 0) return answer;
        if (answer.size() + got > limit_bytes)
            return make_error(ErrorKind::TooLarge, "the parser gives more than " +
                                                       std::to_string(limit_bytes) + " bytes");
        answer.append(piece.data(), got);
    }
}

}  // namespace lagtrap::server
