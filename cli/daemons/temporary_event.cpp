#include "cli/daemons/temporary_event.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include <boost/json.hpp>

#include "cli/daemons/temporary_daemon.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto arming_limit = 120s;  // as for a temporary daemon
constexpr auto answer_limit = 60s;
constexpr auto end_limit = 10s;
constexpr auto arming_pause = 50ms;

// The caller may lack the right to open the file itself, which reading it in another process takes.
Result<UniqueFd> copy_of(const UniqueFd& file) {
    UniqueFd copy(::memfd_create("lagtrap-bundle", MFD_CLOEXEC));
    if (!copy.valid()) return system_error("read the recording");
    std::string buffer(1 << 20, '\0');
    for (;;) {
        const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return system_error("read the recording");
        if (size == 0) return copy;
        TRY(write_all(copy.get(), buffer.data(), static_cast<std::size_t>(size)));
    }
}

}  // namespace

Status TemporaryEvent::start(const std::string& element, const std::filesystem::path& socket) {
    TRY_ASSIGN(auto link, DaemonLink::open(socket));
    link_.emplace(std::move(link));
    const auto end = std::chrono::steady_clock::now() + arming_limit;
    TRY(link_->ask({{"command", "watch"}, {"event", element}}, answer_limit, stop_));
    is_accepted_ = true;
    for (;; std::this_thread::sleep_for(arming_pause)) {
        TRY_ASSIGN(const auto answer, link_->ask({{"command", "status"}}, arming_limit, stop_));
        if (is_armed(answer.object)) return success();
        if (std::chrono::steady_clock::now() > end)
            return make_error(ErrorKind::Timeout,
                              "the event could not be armed: this machine is too busy");
    }
}

Result<boost::json::object> TemporaryEvent::ask(const boost::json::object& request) {
    TRY_ASSIGN(auto answer, link_->ask(request, answer_limit, stop_));
    return std::move(answer.object);
}

Result<std::filesystem::path> TemporaryEvent::bundle() {
    TRY_ASSIGN(const auto answer, link_->ask({{"command", "bundle"}}, answer_limit, stop_));
    if (!answer.file.valid()) return make_error(ErrorKind::Invalid, "lagtrapd sent no recording");
    TRY_ASSIGN(bundle_, copy_of(answer.file));
    return std::filesystem::path("/proc/self/fd/" + std::to_string(bundle_.get()));
}

void TemporaryEvent::end() {
    if (link_) link_->end(end_limit, stop_);
    link_.reset();
}

}  // namespace lagtrap::cli
