#include "daemon/merges/spool_keeper.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "core/disk_time.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::chrono::minutes look_interval{1};

}  // namespace

SpoolKeeper::SpoolKeeper(spool::Spool spool, spool::RetentionLimits limits, Log log, Now now)
    : spool_(std::move(spool)), log_(std::move(log)), now_(std::move(now)), limits_(limits) {
    thread_ = std::thread([this] { work(); });
}

SpoolKeeper::~SpoolKeeper() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void SpoolKeeper::look() {
    {
        const std::lock_guard lock(mutex_);
        looking_ = true;
    }
    more_.notify_one();
}

void SpoolKeeper::set_limits(spool::RetentionLimits limits) {
    {
        const std::lock_guard lock(mutex_);
        limits_ = limits;
    }
    look();
}

SpoolKept SpoolKeeper::kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
}

void SpoolKeeper::work() {
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    use_least_disk_time();
    for (;;) {
        spool::RetentionLimits limits;
        {
            std::unique_lock lock(mutex_);
            more_.wait_for(lock, look_interval, [this] { return ending_ || looking_; });
            if (ending_) return;
            looking_ = false;
            limits = limits_;
        }
        keep(limits);
    }
}

void SpoolKeeper::keep(const spool::RetentionLimits& limits) {
    const auto outcome = spool_.apply_retention(limits, std::chrono::system_clock::now());
    std::string problem = outcome ? std::string() : outcome.error().message;
    const bool is_held = outcome && lock_.note(outcome->left_to_another, now_());
    if (is_held) problem = spool_.who_holds_retention() + ", for more than a minute";
    bool is_new = false;
    {
        const std::lock_guard lock(mutex_);
        // The lock's holder is read after the lock was found held, so the text differs if it was
        // released in between.
        is_new = !problem.empty() && kept_.problem != problem && !(is_held && was_held_);
        kept_.problem = problem;
        if (outcome) kept_.removed.add(*outcome);
    }
    was_held_ = is_held;
    if (is_new) log_.warn("cannot enforce the limits of the spool: " + problem);
    if (outcome && !outcome->describe().empty()) log_.warn(outcome->describe());
}

}  // namespace lagtrap::daemon
