// Stacks of markers in the batch that is being collected, each once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/marker_places.hpp"
#include "daemon/runs/marker_stacks.hpp"
#include "daemon/runs/open_batch.hpp"

namespace lagtrap::daemon {

struct EventMarker {
    std::uint32_t event = 0;
    lagtrap_marker_role role = LAGTRAP_ROLE_BEGIN;
    std::uint16_t stage = 0;  // of LAGTRAP_ROLE_STAGE
};

// Use it on one thread.
class BatchStacks {
  public:
    explicit BatchStacks(std::filesystem::path proc_root) : stacks_(std::move(proc_root)) {}

    // From now on, numbers of events belong to these; `without_stacks` by number. `places` may be
    // nullptr. Drops all stacks.
    void use(std::vector<bool> without_stacks, std::shared_ptr<const MarkerPlaces> places);
    void take(const lagtrap_stack& stack) { stacks_.take(stack); }
    // The stack's number in the batch, to which it is added if it is new; 0 if it is unknown. For
    // id 0, which events without stacks have, the only frame is the marker, if that has a single
    // address.
    [[nodiscard]] std::uint32_t number_of(std::uint64_t stack_id, const EventMarker& marker,
                                          OpenBatch& batch);
    // The batch was closed.
    void begin_batch();
    // True if the programs should send all stacks again; all are dropped then.
    [[nodiscard]] bool forget_if_full();
    // See MarkerStacks. Thread-safe.
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const {
        return stacks_.limited();
    }

  private:
    [[nodiscard]] std::optional<SolePlace> sole_place(const EventMarker& marker) const;
    [[nodiscard]] trace::RunStack stack_of(const std::vector<MarkerPlace>& places,
                                           OpenBatch& batch);

    MarkerStacks stacks_;
    std::vector<bool> without_stacks_;
    std::shared_ptr<const MarkerPlaces> places_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::unordered_map<trace::ModuleId, bool> modules_taken_;
};

}  // namespace lagtrap::daemon
