// Signals between the breach watch and the event monitor's programs, in a page that both map
// (lagtrap_watch).
#pragma once

#include <atomic>
#include <cstdint>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {

// Thread-safe.
class WatchSignals {
  public:
    enum class Recorded { No, Early, Yes };

    // The page belongs to the programs, which must outlive this object.
    explicit WatchSignals(lagtrap_watch& page) : page_(page) {}

    // Whether the programs report the next delay.
    void want_breach(bool wanted) {
        breach_wanted_.store(wanted);
        __atomic_store_n(&page_.breach_wanted, wanted ? 1U : 0U, __ATOMIC_RELEASE);
    }
    [[nodiscard]] bool wants_breach() const { return breach_wanted_.load(); }
    // True if a breach is wanted; from then on, none is. The programs stop on their own after a
    // report. For a breach from elsewhere, call stop_reports() too.
    [[nodiscard]] bool take_wanted() { return breach_wanted_.exchange(false); }
    void stop_reports() { __atomic_store_n(&page_.breach_wanted, 0, __ATOMIC_RELEASE); }

    // Whether the programs write every run that ends.
    void record_runs(Recorded recorded) {
        recorded_.store(recorded);
        __atomic_store_n(&page_.recording, recorded == Recorded::No ? 0U : 1U, __ATOMIC_RELEASE);
    }
    [[nodiscard]] Recorded recorded() const { return recorded_.load(); }

    // Whether a run began since the last call of take_begun().
    [[nodiscard]] bool take_begun() {
        return __atomic_exchange_n(&page_.begun_since_look, 0, __ATOMIC_ACQ_REL) != 0;
    }
    [[nodiscard]] bool has_begun() const {
        return __atomic_load_n(&page_.begun_since_look, __ATOMIC_SEQ_CST) != 0;
    }
    // Whether the next check must cover all open runs, once.
    void want_look_at_all() { __atomic_store_n(&page_.look_at_all, 1, __ATOMIC_RELEASE); }
    [[nodiscard]] bool take_look_at_all() {
        return __atomic_exchange_n(&page_.look_at_all, 0, __ATOMIC_ACQ_REL) != 0;
    }
    // When the next check comes (CLOCK_MONOTONIC), or LAGTRAP_NEVER_NS: only when a run begins.
    void publish_next_look(std::uint64_t at_ns) {
        __atomic_store_n(&page_.next_look_ns, at_ns, __ATOMIC_SEQ_CST);
    }

  private:
    lagtrap_watch& page_;
    std::atomic<bool> breach_wanted_{false};
    std::atomic<Recorded> recorded_{Recorded::No};
};

}  // namespace lagtrap::daemon
