// The batch that is being collected.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "daemon/runs/gathered_batch.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Its size is approximate. Use it on one thread.
class OpenBatch {
  public:
    // `now_ns` is when the run was reported; only that of the first run counts.
    void add(std::uint32_t event, trace::RecordedRun run, std::uint64_t now_ns);
    // Returns the stack's number, for runs of this batch.
    std::uint32_t add_stack(trace::RunStack stack);
    void add_module(const trace::RecordedModule& module) { gathered_.modules.push_back(module); }
    // The same, unless a module with this path and build id was added.
    void add_module_once(const trace::RecordedModule& module);
    // Lets the last run of the event represent `runs` more. False if there is no such run, or its
    // weight would exceed 32 bits.
    [[nodiscard]] bool add_weight(std::uint32_t event, std::uint64_t runs);
    // Counts runs without any details.
    void lose(std::uint64_t runs) { gathered_.batch.runs_lost += runs; }
    // The numbers of events have changed: their last runs get no more weight.
    void forget_events() { last_of_event_.clear(); }

    // Runs so far, including those that are only counted.
    [[nodiscard]] std::uint64_t runs() const;
    [[nodiscard]] bool full(const settings::Runs& limits) const;
    // When its age demands to close it; nullopt while it has no run.
    [[nodiscard]] std::optional<std::uint64_t> due_ns(const settings::Runs& limits) const;
    // Returns the batch, without the fields that say whose it is, and begins an empty one.
    [[nodiscard]] GatheredBatch close();

  private:
    GatheredBatch gathered_;
    std::uint64_t bytes_ = 0;
    std::uint64_t first_ns_ = 0;
    std::size_t frames_ = 0;
    std::unordered_map<std::uint32_t, std::size_t> last_of_event_;  // index in the batch
};

}  // namespace lagtrap::daemon
