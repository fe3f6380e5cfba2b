#include "cli/daemons/watch_source.hpp"

#include <unistd.h>

#include "cli/daemons/daemon_program.hpp"

namespace lagtrap::cli {

Result<std::unique_ptr<WatchSource>> WatchSource::start(const std::string& element,
                                                        const std::filesystem::path& socket,
                                                        const volatile std::sig_atomic_t& stop) {
    std::unique_ptr<WatchSource> source(new WatchSource);
    source->event_.emplace(stop);
    const Status started = source->event_->start(element, socket);
    if (started) return source;
    if (stop != 0) return started.error();
    if (::geteuid() != 0 && source->event_->is_accepted()) return started.error();
    source->event_.reset();
    if (started.error().kind != ErrorKind::NotFound)
        source->why_temporary_ = started.error().message;
    if (::geteuid() != 0)
        return make_error(
            ErrorKind::Denied,
            source->why_temporary_.empty()
                ? "watching needs root; try sudo"
                : "watching needs root, or the running lagtrapd: " + source->why_temporary_);
    TRY_ASSIGN(source->own_,
               TemporaryDaemon::start(find_daemon(), element, stop, DaemonPurpose::Watching));
    return source;
}

void WatchSource::end() {
    if (event_) event_->end();
    own_.reset();
}

Result<boost::json::object> WatchSource::status() {
    if (event_) return event_->ask({{"command", "status"}});
    TRY(own_->alive());
    return own_->status();
}

Result<std::filesystem::path> WatchSource::bundle(const std::filesystem::path& path) {
    return event_ ? event_->bundle() : path;
}

}  // namespace lagtrap::cli
