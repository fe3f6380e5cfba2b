#include "daemon/capture/capture_move.hpp"

#include <system_error>

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* session_file = "session.json";

// Copies a capture into another file system. Without the session file, which comes last, the next
// daemon removes it.
Status copy_capture(const fs::path& from, const fs::path& to) {
    std::error_code failure;
    fs::create_directory(to, from, failure);
    fs::directory_iterator entry;
    if (!failure) entry = fs::directory_iterator(from, failure);
    while (!failure && entry != fs::directory_iterator()) {
        const fs::path name = entry->path().filename();
        if (name != session_file)
            fs::copy(from / name, to / name, fs::copy_options::recursive, failure);
        if (!failure) entry.increment(failure);
    }
    if (!failure) fs::copy_file(from / session_file, to / session_file, failure);
    if (!failure) return success();
    const Status failed = system_error("copy the recording to " + to.string(), failure.value());
    fs::remove_all(to, failure);
    return failed;
}

}  // namespace

Status move_capture(const fs::path& from, const fs::path& to) {
    std::error_code failure;
    fs::rename(from, to, failure);
    if (!failure) return success();
    if (failure != std::errc::cross_device_link)
        return system_error("move the recording to " + to.string(), failure.value());
    const Status copied = copy_capture(from, to);
    fs::remove_all(from, failure);
    return copied;
}

}  // namespace lagtrap::daemon
