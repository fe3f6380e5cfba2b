// What machines sent, and what was found in it: what a person asks about.
#pragma once

#include "server/store/bundle_store.hpp"
#include "server/store/cause_store.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

// As for RunStore. A question with a filter heeds Filter::sight; those here are the questions without one, as somebody with
// a sight may have them answered.
class EvidenceStore : public RunStore, public BundleStore, public CauseStore {
  public:
    [[nodiscard]] virtual Result<Choices> choices_in(const Sight& sight, const std::string& event) = 0;
    // Causes of delays that are seen, counted by those delays.
    [[nodiscard]] virtual Result<std::vector<CauseRecord>> causes_in(const Sight& sight,
                                                                     const std::optional<std::string>& event,
                                                                     std::uint32_t limit) = 0;
    [[nodiscard]] virtual Result<std::optional<CauseLife>> find_cause_in(const Sight& sight, std::uint64_t id) = 0;
    // Makes event, process, number and longest of the delays of each bundle those of the delays that are seen; leaves out
    // bundles without one.
    [[nodiscard]] virtual Status limit_to_sight(const Sight& sight, std::vector<BundleRow>& rows) = 0;
};

}  // namespace lagtrap::server
