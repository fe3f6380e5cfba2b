#include "daemon/unwinding/watched_finder.hpp"

#include <pthread.h>

#include <utility>

#include "daemon/unwinding/watched_code.hpp"

namespace lagtrap::daemon {

WatchedFinder::WatchedFinder(FollowedCode& code, TableMakers& makers)
    : code_(code), makers_(makers), thread_([this] { work(); }) {}

WatchedFinder::~WatchedFinder() {
    { const std::scoped_lock lock(code_.mutex); }
    to_worker_.notify_all();
    thread_.join();
}

void WatchedFinder::watch(std::set<std::string> paths) {
    {
        const std::scoped_lock lock(code_.mutex);
        code_.spaces.set_watched(paths);
        wanted_ = std::move(paths);
    }
    to_worker_.notify_one();
}

void WatchedFinder::work() {
    (void)::pthread_setname_np(::pthread_self(), "finder");
    std::unique_lock lock(code_.mutex);
    while (!code_.stopping) {
        if (!wanted_) {
            to_worker_.wait(lock);
            continue;
        }
        const std::set<std::string> programs = *std::exchange(wanted_, std::nullopt);
        code_.modules.begin_watched();
        code_.spaces.add_watched();
        lock.unlock();
        find_watched_code(programs, code_.inspector, [this](const WatchedCode& found) {
            const std::scoped_lock state(code_.mutex);
            code_.modules.add_watched(found.identity, found.mapping, found.owner);
            makers_.notify();
            return !code_.stopping && !wanted_;
        });
        lock.lock();
        code_.modules.end_watched();
    }
}

}  // namespace lagtrap::daemon
