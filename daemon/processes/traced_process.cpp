#include "daemon/processes/traced_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {

Result<TracedProcess> TracedProcess::open(std::uint32_t pid) {
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process.valid())
        return make_error(ErrorKind::NotFound,
                          fmt::format("no process {} (thread ids are not accepted)", pid));
    return TracedProcess(pid, std::move(process));
}

bool TracedProcess::has_ended() const {
    pollfd waiting{process_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
}

std::string TracedProcess::name() const {
    auto name = read_file(fmt::format("/proc/{}/comm", pid_), 64);
    if (!name) return {};
    if (name->ends_with('\n')) name->pop_back();
    return printable(*name);
}

}  // namespace lagtrap::daemon
