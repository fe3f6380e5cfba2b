#include "cli/bundles/confined_decoding.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <new>
#include <system_error>

#include "core/file_access.hpp"
#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/confinement.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t answer_limit_bytes = 4ULL << 30;
// Prefix for names of open files. No such path exists, so a lookup of a name needs no rights.
constexpr const char* opened_folder = "/lagtrap:opened";
// First byte of an answer.
constexpr char good = '+';
constexpr char bad = '-';

// The files of a recording, opened with the caller's rights.
class OpenedFiles final : public FileAccess {
  public:
    [[nodiscard]] Status add(const fs::path& path) {
        // Do not block on a FIFO; the reader reports what is wrong with it.
        TRY_ASSIGN(UniqueFd file, open_file(path, O_RDONLY | O_NONBLOCK));
        files_[opened_folder + fs::absolute(path).string()] = std::move(file);
        return success();
    }
    Result<UniqueFd> open(const fs::path& path, int, unsigned) override {
        const auto found = files_.find(path.string());
        if (found == files_.end()) return system_error(path.string(), EPERM);
        UniqueFd file = std::move(found->second);
        files_.erase(found);
        return file;
    }
    Result<UniqueFd> make_temporary(std::string& name) override {
        return system_error(name, EPERM);
    }
    Status rename(const fs::path& from, const fs::path&) override {
        return system_error(from.string(), EPERM);
    }
    void remove(const fs::path&) override {}

  private:
    std::map<std::string, UniqueFd> files_;
};

// Opens the files that read_recording() reads; returns the name to read them by.
Result<fs::path> open_recording(const fs::path& path, OpenedFiles& files) {
    std::error_code unknown;
    const bool is_folder = fs::is_directory(path, unknown);
    const fs::path main = is_folder ? path / "trace.pftrace" : path;
    TRY(files.add(main));
    if (main.extension() == ".pftrace")
        TRY(files.add(fs::absolute(main).parent_path() / "system.xml"));
    return fs::path(opened_folder + fs::absolute(main).string());
}

std::string without_opened_folder(std::string text) {
    for (std::size_t at = text.find(opened_folder); at != std::string::npos;
         at = text.find(opened_folder, at))
        text.erase(at, std::strlen(opened_folder));
    return text;
}

Result<std::string> confine_and_make(
    const std::function<Result<std::string>(const fs::path&)>& make, const fs::path& opened) {
    TRY(drop_privileges());
    Confinement confinement;
    confinement.address_space_bytes = 0;  // lagtrap's own limit applies here too
    TRY(confine_process(confinement));
    try {
        return make(opened);
    } catch (const std::bad_alloc&) {
        return make_error(ErrorKind::TooLarge, "this takes more memory than allowed");
    } catch (const std::exception& error) {
        return make_error(ErrorKind::Invalid, error.what());
    }
}

[[noreturn]] void run_child(const std::function<Result<std::string>(const fs::path&)>& make,
                            const fs::path& opened, OpenedFiles& files, int answer) {
    use_file_access(&files);
    const auto made = confine_and_make(make, opened);
    const std::string& text = made ? *made : made.error().message;
    bool written = static_cast<bool>(write_all(answer, made ? &good : &bad, 1));
    written = written && write_all(answer, text.data(), text.size());
    // Exit without running or flushing anything of the parent's.
    ::_exit(written ? 0 : 1);
}

Result<std::string> answer_of(pid_t child, int pipe) {
    const auto answer = read_all(pipe, answer_limit_bytes);
    if (!answer) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return system_error("wait for the process that reads the recording");
    if (!answer) return answer.error();
    if (WIFSIGNALED(status))
        return make_error(ErrorKind::System,
                          std::string("reading the recording was ended by a signal: ") +
                              ::strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0 || answer->empty())
        return make_error(ErrorKind::System, "the process that reads the recording exited early");
    if (answer->front() == good) return answer->substr(1);
    return make_error(ErrorKind::Invalid, without_opened_folder(answer->substr(1)));
}

}  // namespace

Result<std::string> decode_confined(
    const fs::path& path, const std::function<Result<std::string>(const fs::path&)>& make) {
    OpenedFiles files;
    TRY_ASSIGN(const fs::path opened, open_recording(path, files));
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("read the recording");
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return system_error("read the recording");
    if (child == 0) run_child(make, opened, files, writing.get());
    writing = UniqueFd();
    return answer_of(child, reading.get());
}

}  // namespace lagtrap::cli
