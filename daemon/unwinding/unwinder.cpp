#include "daemon/unwinding/unwinder.hpp"

#include <utility>

#include "core/clock.hpp"

namespace lagtrap::daemon {

Unwinder::Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events, Wakeup wakeup,
                   std::optional<binaries::UnwindCache> cache, std::string cache_problem,
                   ProcessInspector& inspector, MappedFiles& mapped_files)
    : cache_problem_(std::move(cache_problem)),
      wakeup_(std::move(wakeup)),
      events_(std::move(events)),
      code_(std::move(store), TableMakers::count, inspector, mapped_files),
      makers_(code_, events_, wakeup_, std::move(cache)),
      identifier_(code_, wakeup_),
      finder_(code_, makers_),
      follower_(code_, events_, makers_, identifier_, wakeup_) {}

Result<std::unique_ptr<Unwinder>> Unwinder::create(const Options& options,
                                                   ProcessInspector& inspector,
                                                   MappedFiles& mapped_files) {
    TRY_ASSIGN(auto store, UnwindStore::create(options.memory_bytes));
    TRY_ASSIGN(TaskEvents events, TaskEvents::open());
    Wakeup wakeup;
    if (!wakeup.valid()) return system_error("create the event that wakes the follower");
    std::optional<binaries::UnwindCache> cache;
    std::string cache_problem;
    if (!options.cache_folder.empty()) {
        auto opened = binaries::UnwindCache::open(options.cache_folder, options.cache_limit_bytes);
        if (opened)
            cache.emplace(std::move(opened).value());
        else
            cache_problem = opened.error().message;
    }
    return std::unique_ptr<Unwinder>(
        new Unwinder(std::move(store), std::move(events), std::move(wakeup), std::move(cache),
                     std::move(cache_problem), inspector, mapped_files));
}

// All threads end at once; then each part waits for its own.
Unwinder::~Unwinder() {
    code_.stopping.store(true);
    wakeup_.notify();
}

void Unwinder::begin_capture() {
    events_.begin_capture();
    look_soon();
}

void Unwinder::hold_memory(bool held) {
    const std::scoped_lock lock(code_.mutex);
    code_.store->hold(held);
    code_.spaces.hold_memory(held);
}

void Unwinder::want_files(const std::set<std::string>& names) {
    if (code_.mapped_files.want(names)) {
        RecordBuffer known;
        const std::scoped_lock lock(code_.mutex);
        (void)code_.spaces.describe(monotonic_ns(), known);
        known.for_each([this](const lagtrap_record* record) { code_.mapped_files.take(record); });
        follower_.scan();
    }
    code_.mapped_files.done();
    look_soon();
}

std::optional<std::size_t> Unwinder::prepare(std::uint32_t pid, std::chrono::milliseconds timeout,
                                             const std::function<bool()>& enough) {
    constexpr std::chrono::milliseconds look_interval{20};
    const auto until = std::chrono::steady_clock::now() + timeout;
    std::unique_lock lock(code_.mutex);
    code_.spaces.prioritize(pid);
    for (;;) {
        const auto missing = code_.spaces.files_to_come(pid);
        if (missing == 0 || std::chrono::steady_clock::now() >= until || enough()) {
            code_.spaces.forget_priority(pid);
            return missing;
        }
        look_soon();
        (void)code_.has_published.wait_for(lock, look_interval);
    }
}

UnwinderStatus Unwinder::status() const {
    UnwinderStatus status = follower_.status();
    status.events_lost = events_.lost();
    return status;
}

}  // namespace lagtrap::daemon
