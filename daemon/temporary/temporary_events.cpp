#include "daemon/temporary/temporary_events.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "core/child_process.hpp"
#include "core/files.hpp"
#include "daemon/control/client_link.hpp"
#include "daemon/control/control_server.hpp"
#include "daemon/temporary/temporary_limits.hpp"
#include "daemon/temporary/temporary_log.hpp"
#include "daemon/temporary/temporary_settings.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// How soon an event ends after its client has disconnected.
constexpr auto look_interval = 100ms;
constexpr auto end_grace = 5s;   // for a child that was asked to end
constexpr auto kill_grace = 2s;  // for one that was killed; afterwards it hangs in the kernel
constexpr std::uint64_t log_limit_bytes = 1 << 20;

void remove_folder(const fs::path& folder) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

Result<UniqueFd> copy_of(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return system_error("keep a client's connection");
    return copy;
}

// Clients do not wait, so a client that does not read misses the line.
void tell(int client, const boost::json::object& answer) {
    const std::string line = boost::json::serialize(answer) + "\n";
    (void)::send(client, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool is_gone(int client) {
    pollfd waiting{client, POLLRDHUP, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Result<fs::path> make_folder(const fs::path& in) {
    TRY(make_directories(in, 0700));
    std::string name = (in / "watch-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return system_error("make a folder in " + in.string());
    return fs::path(name);
}

}  // namespace

TemporaryEvents::TemporaryEvents(boost::asio::io_context& context, Options options)
    : options_(std::move(options)), timer_(context) {}

TemporaryEvents::~TemporaryEvents() { stop(); }

Status TemporaryEvents::begin(const std::string& text, const Caller& caller, int client,
                              const settings::Settings& service, std::uint64_t used_ppm) {
    Watch watch;
    TRY_ASSIGN(watch.event, name_of_temporary_event(text));
    std::vector<Party> owners;
    std::uint64_t reserved_ppm = 0;
    for (const Watch& other : watches_) {
        owners.push_back(other.owner.party);
        reserved_ppm += other.share_ppm;
    }
    TRY(room_for_temporary_event(owners, caller.party));
    watch.share_ppm = temporary_share_ppm(service.budget.share_ppm, used_ppm, reserved_ppm);
    watch.owner = caller;
    TRY_ASSIGN(watch.client, copy_of(client));
    TRY_ASSIGN(watch.folder, make_folder(options_.folder));
    if (const Status started = start(watch, text, service); !started) {
        remove_folder(watch.folder);
        return started;
    }
    options_.log.inform(
        fmt::format("watching the temporary event {} for user {}", watch.event, caller.uid));
    tell(client, {{"ok", true}, {"event", watch.event}});
    watches_.push_back(std::move(watch));
    if (watches_.size() == 1) await_look();
    return success();
}

Status TemporaryEvents::start(Watch& watch, const std::string& text,
                              const settings::Settings& service) {
    const fs::path file = watch.folder / "settings.xml", log = watch.folder / "log";
    TRY(write_file(file, temporary_settings(text, watch.folder, service, watch.share_ppm), 0600));
    TRY_ASSIGN(const UniqueFd output,
               open_file(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return system_error("socketpair");
    watch.child = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    ChildOptions child;
    child.arguments = {"lagtrapd", for_client_option, "--settings", file.string()};
    child.arguments.insert(child.arguments.end(), options_.helpers.begin(), options_.helpers.end());
    child.descriptors = {{STDIN_FILENO, -1},
                         {STDOUT_FILENO, output.get()},
                         {STDERR_FILENO, output.get()},
                         {ClientLink::client_fd, watch.client.get()},
                         {ClientLink::service_fd, theirs.get()}};
    child.with_environment = true;
    child.own_group = true;
    TRY_ASSIGN(watch.pid, start_child(options_.program, child));
    watch.began = Clock::now();
    return success();
}

void TemporaryEvents::end_unless(const std::function<bool(const Caller&)>& may_stay) {
    for (Watch& watch : watches_)
        if (!may_stay(watch.owner)) ask_to_end(watch);
}

void TemporaryEvents::ask_to_end(Watch& watch) {
    if (watch.kill_at != Clock::time_point::max()) return;
    watch.kill_at = Clock::now() + end_grace;
    (void)::kill(watch.pid, SIGTERM);
}

void TemporaryEvents::await_look() {
    timer_.expires_after(look_interval);
    timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        look();
        if (!watches_.empty()) await_look();
    });
}

void TemporaryEvents::look() {
    std::erase_if(watches_, [this](Watch& watch) { return has_ended(watch); });
}

bool TemporaryEvents::has_ended(Watch& watch) {
    std::uint64_t used_ppm = 0;
    while (::recv(watch.child.get(), &used_ppm, sizeof used_ppm, MSG_DONTWAIT) == sizeof used_ppm)
        watch.used_ppm = used_ppm;
    if (is_gone(watch.client.get())) ask_to_end(watch);
    if (Clock::now() > watch.kill_at) (void)::kill(-watch.pid, SIGKILL);
    int wait_status = 0;
    if (::waitpid(watch.pid, &wait_status, WNOHANG) != watch.pid) return false;
    settle(watch, wait_status);
    return true;
}

void TemporaryEvents::settle(const Watch& watch, int wait_status) {
    const bool failed = watch.kill_at == Clock::time_point::max() &&
                        !(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) &&
                        !is_gone(watch.client.get());
    if (failed) {
        const auto log = read_file(watch.folder / "log", log_limit_bytes);
        const std::string why = reason_in_log(log ? *log : std::string(), watch.folder);
        options_.log.warn(fmt::format("the temporary event {} of user {} failed: {}", watch.event,
                                      watch.owner.uid, why));
        tell(watch.client.get(), refusal(why));
    } else {
        options_.log.inform(fmt::format("the temporary event {} of user {} has ended", watch.event,
                                        watch.owner.uid));
    }
    remove_folder(watch.folder);
}

boost::json::array TemporaryEvents::report() const {
    boost::json::array list;
    for (const Watch& watch : watches_) {
        const auto since = std::chrono::duration<double>(Clock::now() - watch.began).count();
        list.push_back({{"event", watch.event},
                        {"user", watch.owner.uid},
                        {"pid", watch.pid},
                        {"seconds", since},
                        {"used_ppm", watch.used_ppm},
                        {"share_ppm", watch.share_ppm}});
    }
    return list;
}

void TemporaryEvents::stop() {
    timer_.cancel();
    for (Watch& watch : watches_) ask_to_end(watch);
    const auto end = Clock::now() + end_grace;
    while (!watches_.empty()) {
        look();
        if (watches_.empty()) return;
        std::this_thread::sleep_for(look_interval / 2);
        if (Clock::now() > end + kill_grace) break;
    }
}

}  // namespace lagtrap::daemon
