#include "binaries/reader/file_reader.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "binaries/reader/call_messages.hpp"
#include "binaries/reader/name_messages.hpp"
#include "binaries/reader/place_messages.hpp"
#include "binaries/reader/reader_messages.hpp"
#include "binaries/reader/reader_process.hpp"
#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

using Clock = std::chrono::steady_clock;

FileReader* reader_of_process = nullptr;

constexpr std::uint32_t last_error_kind = static_cast<std::uint32_t>(ErrorKind::System);
constexpr std::size_t message_limit_bytes = 4096;
constexpr std::uint64_t small_answer_bytes = 1 << 20;
// for checking whether the answer is still wanted
constexpr auto look_interval = std::chrono::milliseconds(100);

int own_thread() { return static_cast<int>(::syscall(SYS_gettid)); }

Error cancelled() { return make_error(ErrorKind::Timeout, "reading the file was cancelled"); }

std::string name_of(const std::string& name) {
    WireWriter writer;
    writer.text(name);
    return writer.take();
}

}  // namespace

void read_files_by(FileReader* reader) { reader_of_process = reader; }

FileReader* file_reader() { return reader_of_process; }

std::string find_reader_program(const std::string& fallback) {
    std::error_code ignored;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const auto& candidate : {own / "lagtrap-reader", own / "../binaries/lagtrap-reader",
                                  own / "../libexec/lagtrap/lagtrap-reader"})
        if (std::filesystem::exists(candidate, ignored))
            return std::filesystem::weakly_canonical(candidate, ignored).string();
    return fallback;
}

FileReader::FileReader(FileReaderOptions options)
    : options_(std::move(options)),
      threads_(options_.nice),
      start_pauses_(options_.start_pause, options_.longest_start_pause) {}

FileReader::~FileReader() = default;

bool FileReader::is_given_up(const ReadBudget& budget) const {
    return stopped_.load() || (budget.given_up != nullptr && budget.given_up->load());
}

Result<std::unique_ptr<ReaderProcess>> FileReader::acquire(const ReadBudget& budget) {
    std::unique_lock lock(mutex_);
    if (const std::size_t stuck = left_.count(); stuck >= options_.max_stuck)
        return make_error(
            ErrorKind::Busy,
            std::to_string(stuck) +
                " file readers are blocked by unresponsive file systems; not starting another");
    const auto timeout_end = std::min(Clock::now() + options_.wall_time,
                                      budget.until.value_or(Clock::time_point::max()));
    const auto has_room = [this] { return busy_.size() + starting_ < options_.max_processes; };
    while (
        !freed_.wait_until(lock, std::min(timeout_end, Clock::now() + look_interval), has_room)) {
        if (is_given_up(budget)) return cancelled();
        if (Clock::now() >= timeout_end)
            return make_error(ErrorKind::Busy, "all " + std::to_string(options_.max_processes) +
                                                   " file readers are busy");
    }
    std::unique_ptr<ReaderProcess> process;
    while (!process && !idle_.empty()) {
        process = std::move(idle_.back());
        idle_.pop_back();
        if (!process->alive()) process.reset();
    }
    if (!process) {
        TRY_ASSIGN(process, start(lock));
    }
    busy_.push_back(process.get());
    const int thread = own_thread();
    process->read_for(thread);
    process->set_nice(threads_.nice_of(thread));
    return process;
}

// Releases the lock while the process starts.
Result<std::unique_ptr<ReaderProcess>> FileReader::start(std::unique_lock<std::mutex>& lock) {
    if (!start_pauses_.may_start(Clock::now()))
        return make_error(ErrorKind::Busy, counts_.start_problem);
    ++starting_;
    const int nice = threads_.nice_of(own_thread());
    lock.unlock();
    // Started by a permanent thread: the caller's thread may end before others use the process.
    auto started =
        starter_.run([this, nice] { return ReaderProcess::start(options_.program, nice); });
    lock.lock();
    --starting_;
    if (started) {
        ++counts_.started;
        counts_.start_problem.clear();
        counts_.user = (*started)->user();
        start_pauses_.note_success();
        return started;
    }
    ++counts_.not_started;
    counts_.start_problem = "files cannot be read: " + started.error().message;
    start_pauses_.note_failure(Clock::now());
    freed_.notify_one();
    return Error{ErrorKind::Busy, started.error().system_errno, counts_.start_problem};
}

Status FileReader::try_start() {
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(idle_, [](const auto& process) { return !process->alive(); });
        if (!idle_.empty() || !busy_.empty() || starting_ != 0) return success();
    }
    TRY_ASSIGN(auto process, acquire({}));
    release(std::move(process));
    return success();
}

bool FileReader::may_start() const {
    const std::scoped_lock lock(mutex_);
    return start_pauses_.may_start(Clock::now());
}

void FileReader::release(std::unique_ptr<ReaderProcess> process) {
    const std::scoped_lock lock(mutex_);
    std::erase(busy_, process.get());
    threads_.add_cpu_time(process->reads_for(), process->cpu_time_for_it());
    idle_.push_back(std::move(process));
    freed_.notify_one();
}

void FileReader::drop(std::unique_ptr<ReaderProcess> process) {
    const auto stuck = process->end();
    const std::scoped_lock lock(mutex_);
    std::erase(busy_, process.get());
    if (stuck) left_.add(*stuck);
    freed_.notify_one();
}

template <typename Value>
Result<Value> FileReader::checked(Result<Value> decoded) {
    if (!decoded) count_failure(decoded.error(), true);
    return decoded;
}

void FileReader::count_failure(const Error& error, bool stopped) {
    const std::scoped_lock lock(mutex_);
    ++(stopped ? counts_.stopped : counts_.ended);
    counts_.last_problem = error.message;
}

FileReaderCounts FileReader::counts() const {
    const std::scoped_lock lock(mutex_);
    FileReaderCounts counts = counts_;
    counts.stuck = left_.count();
    return counts;
}

std::chrono::nanoseconds FileReader::cpu_time_for(int thread) {
    const std::scoped_lock lock(mutex_);
    std::chrono::nanoseconds time = threads_.cpu_time_of(thread);
    for (const ReaderProcess* process : busy_)
        if (process->reads_for() == thread) time += process->cpu_time_for_it();
    return time;
}

void FileReader::set_nice(int thread, int nice) {
    const std::scoped_lock lock(mutex_);
    threads_.set_nice(thread, nice);
    for (ReaderProcess* process : busy_)
        if (process->reads_for() == thread) process->set_nice(nice);
}

Result<std::string> FileReader::ask(ReaderTask task, int file, const std::string& body,
                                    const std::filesystem::path& program, const ReadBudget& budget,
                                    const OpenDebugFile& open_debug_file) {
    if (is_given_up(budget)) {
        count_failure(cancelled(), true);
        return cancelled();
    }
    TRY_ASSIGN(std::unique_ptr<ReaderProcess> process, acquire(budget));
    ReaderProcess::Limits limits{options_.cpu_time, options_.wall_time, max_answer_bytes,
                                 [&] { return is_given_up(budget); }, open_debug_file};
    if (budget.until) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*budget.until - Clock::now());
        limits.wall_time = std::clamp(left, std::chrono::milliseconds(0), limits.wall_time);
        limits.cpu_time = std::min(limits.cpu_time, limits.wall_time);
    }
    const bool small =
        task == ReaderTask::BuildId || task == ReaderTask::Program || task == ReaderTask::Code;
    if (small) limits.answer_bytes = small_answer_bytes;
    auto answer = process->ask(task, file, body, program, limits);
    if (answer && answer->task_or_error > 1 + last_error_kind)
        answer = make_error(ErrorKind::System, "the file reader returned an unknown error");
    if (!answer) {
        count_failure(answer.error(), !process->ended_by_itself());
        drop(std::move(process));
        return answer.error();
    }
    release(std::move(process));
    if (answer->task_or_error == 0) return std::move(answer->body);
    return make_error(static_cast<ErrorKind>(answer->task_or_error - 1),
                      printable(std::string_view(answer->body).substr(0, message_limit_bytes)));
}

Result<std::string> FileReader::build_id(int file) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::BuildId, file, {}, {}, {}));
    return checked(decode_build_id(body));
}

Result<ContainerFacts> FileReader::container(int file, ContainerFile kind, const std::string& id) {
    WireWriter request;
    request.number(static_cast<std::uint32_t>(kind));
    request.text(id);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Container, file, request.take(), {}, {}));
    return checked(decode_container(body));
}

Result<ThreadVariable> FileReader::thread_variable(int file, const std::string& variable) {
    WireWriter request;
    request.text(variable);
    TRY_ASSIGN(const std::string body,
               ask(ReaderTask::ThreadVariable, file, request.take(), {}, {}));
    return checked(decode_thread_variable(body));
}

Result<lagtrap_python> FileReader::python_layout(int file) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::PythonLayout, file, {}, {}, {}));
    return checked(decode_python_layout(body));
}

Result<UnwindTable> FileReader::unwind_table(int file, const std::string& name,
                                             const std::string& wanted_build_id) {
    WireWriter request;
    request.text(name);
    request.text(wanted_build_id);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Table, file, request.take(), {}, {}));
    return checked(decode_table(body));
}

Result<ProgramFacts> FileReader::program(int file, const std::string& name,
                                         const ReadBudget& budget) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Program, file, name_of(name), {}, budget));
    return checked(decode_program(body));
}

Result<std::vector<UsdtProbe>> FileReader::probes(int file, const std::string& name,
                                                  const ReadBudget& budget) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Probes, file, name_of(name), {}, budget));
    return checked(decode_probes(body));
}

Result<std::vector<Function>> FileReader::functions(int file, const std::string& name,
                                                    const std::string& wanted,
                                                    const ReadBudget& budget) {
    WireWriter request;
    request.text(name);
    request.text(wanted);
    TRY_ASSIGN(const std::string body,
               ask(ReaderTask::Functions, file, request.take(), {}, budget));
    return checked(decode_functions(body));
}

Result<std::string> FileReader::code(int file, const std::string& name, std::uint64_t file_offset,
                                     const ReadBudget& budget) {
    WireWriter request;
    request.text(name);
    request.number(file_offset);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Code, file, request.take(), {}, budget));
    return checked(decode_code(body));
}

Result<FunctionExits> FileReader::exits(int file, const std::string& name, const Function& function,
                                        const ReadBudget& budget) {
    WireWriter request;
    request.text(name);
    encode_function(request, function);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Exits, file, request.take(), {}, budget));
    return checked(decode_exits(body));
}

Result<std::vector<Result<FunctionPlaces>>> FileReader::places(
    int file, const std::string& name, const std::vector<FunctionQuery>& queries,
    const ReadBudget& budget) {
    TRY_ASSIGN(const std::string body,
               ask(ReaderTask::Places, file, encode_places_request(name, queries), {}, budget));
    return checked(decode_places(body, queries.size()));
}

Result<std::vector<FunctionCalls>> FileReader::calls(int file, const std::string& name,
                                                     const std::vector<std::uint64_t>& functions,
                                                     const ReadBudget& budget) {
    WireWriter request;
    request.text(name);
    request.items(functions);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Calls, file, request.take(), {}, budget));
    return checked(decode_calls(body, functions.size()));
}

Result<PlaceNames> FileReader::names(int file, const PlaceNamesRequest& request) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Names, file, encode_names_request(request),
                                           request.path, {}, request.open_debug_file));
    return checked(decode_names(body, request.offsets.size()));
}

}  // namespace lagtrap::binaries
