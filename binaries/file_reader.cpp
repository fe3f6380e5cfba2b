#include "binaries/file_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "binaries/reader_messages.hpp"
#include "binaries/reader_process.hpp"
#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

using Clock = std::chrono::steady_clock;

FileReader* reader_of_process = nullptr;

constexpr std::uint32_t last_error_kind = static_cast<std::uint32_t>(ErrorKind::System);
constexpr std::size_t message_limit_bytes = 4096;
constexpr std::uint64_t small_answer_bytes = 1 << 20;

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
    for (const auto& candidate :
         {own / "lagtrap-reader", own / "../binaries/lagtrap-reader", own / "../libexec/lagtrap/lagtrap-reader"})
        if (std::filesystem::exists(candidate, ignored))
            return std::filesystem::weakly_canonical(candidate, ignored).string();
    return fallback;
}

FileReader::FileReader(FileReaderOptions options) : options_(std::move(options)) {}

FileReader::~FileReader() = default;

Result<std::unique_ptr<ReaderProcess>> FileReader::acquire() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return busy_.size() + starting_ < options_.most_processes; });
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
    return process;
}

// The lock is let go meanwhile.
Result<std::unique_ptr<ReaderProcess>> FileReader::start(std::unique_lock<std::mutex>& lock) {
    if (Clock::now() < next_start_) return make_error(ErrorKind::Busy, counts_.start_problem);
    ++starting_;
    const int nice = options_.nice;
    lock.unlock();
    auto started = ReaderProcess::start(options_.program, nice);
    lock.lock();
    --starting_;
    if (started) {
        ++counts_.started;
        counts_.start_problem.clear();
        counts_.user = (*started)->user();
        start_pause_ = {};
        if (options_.nice != nice) (*started)->set_nice(options_.nice);
        return started;
    }
    ++counts_.not_started;
    counts_.start_problem = "files can not be read: " + started.error().message;
    start_pause_ = std::min(std::max(2 * start_pause_, options_.start_pause), options_.longest_start_pause);
    next_start_ = Clock::now() + start_pause_;
    freed_.notify_one();
    return Error{ErrorKind::Busy, started.error().system_errno, counts_.start_problem};
}

Status FileReader::try_start() {
    TRY_ASSIGN(auto process, acquire());
    release(std::move(process));
    return success();
}

bool FileReader::may_start() const {
    const std::scoped_lock lock(mutex_);
    return Clock::now() >= next_start_;
}

void FileReader::release(std::unique_ptr<ReaderProcess> process) {
    const std::scoped_lock lock(mutex_);
    std::erase(busy_, process.get());
    idle_.push_back(std::move(process));
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
    return counts_;
}

void FileReader::set_nice(int nice) {
    const std::scoped_lock lock(mutex_);
    options_.nice = nice;
    for (ReaderProcess* process : busy_) process->set_nice(nice);
    for (const auto& process : idle_) process->set_nice(nice);
}

Result<std::string> FileReader::ask(ReaderTask task, int file, const std::string& body,
                                    const std::filesystem::path& program) {
    TRY_ASSIGN(std::unique_ptr<ReaderProcess> process, acquire());
    ReaderProcess::Limits limits{options_.cpu_time, options_.wall_time, kMaxAnswerBytes};
    const bool small = task == ReaderTask::BuildId || task == ReaderTask::Program || task == ReaderTask::Code;
    if (small) limits.answer_bytes = small_answer_bytes;
    auto answer = process->ask(task, file, body, program, limits);
    if (answer && answer->task_or_error > 1 + last_error_kind)
        answer = make_error(ErrorKind::System, "the reader of the file gave an error that there is not");
    if (!answer) {
        count_failure(answer.error(), !process->ended_by_itself());
        {
            const std::scoped_lock lock(mutex_);
            std::erase(busy_, process.get());
        }
        freed_.notify_one();
        return answer.error();
    }
    release(std::move(process));
    if (answer->task_or_error == 0) return std::move(answer->body);
    return make_error(static_cast<ErrorKind>(answer->task_or_error - 1),
                      printable(std::string_view(answer->body).substr(0, message_limit_bytes)));
}

Result<std::string> FileReader::build_id(int file) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::BuildId, file, {}, {}));
    return checked(decode_build_id(body));
}

Result<UnwindTable> FileReader::unwind_table(int file, const std::string& name, const std::string& wanted_build_id) {
    WireWriter request;
    request.text(name);
    request.text(wanted_build_id);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Table, file, request.take(), {}));
    return checked(decode_table(body));
}

Result<ProgramFacts> FileReader::program(int file, const std::string& name) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Program, file, name_of(name), {}));
    return checked(decode_program(body));
}

Result<std::vector<UsdtProbe>> FileReader::probes(int file, const std::string& name) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Probes, file, name_of(name), {}));
    return checked(decode_probes(body));
}

Result<std::vector<Function>> FileReader::functions(int file, const std::string& name, const std::string& wanted) {
    WireWriter request;
    request.text(name);
    request.text(wanted);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Functions, file, request.take(), {}));
    return checked(decode_functions(body));
}

Result<std::string> FileReader::code(int file, const std::string& name, std::uint64_t file_offset) {
    WireWriter request;
    request.text(name);
    request.number(file_offset);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Code, file, request.take(), {}));
    return checked(decode_code(body));
}

Result<FunctionExits> FileReader::exits(int file, const std::string& name, const Function& function) {
    WireWriter request;
    request.text(name);
    encode_function(request, function);
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Exits, file, request.take(), {}));
    return checked(decode_exits(body));
}

Result<std::vector<Result<FunctionPlaces>>> FileReader::places(int file, const std::string& name,
                                                               const std::vector<FunctionQuery>& queries) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Places, file, encode_places_request(name, queries), {}));
    return checked(decode_places(body, queries.size()));
}

Result<PlaceNames> FileReader::names(int file, const PlaceNamesRequest& request) {
    TRY_ASSIGN(const std::string body, ask(ReaderTask::Names, file, encode_names_request(request), request.path));
    return checked(decode_names(body, request.offsets.size()));
}

}  // namespace lagtrap::binaries
