// The data that machines sent and the findings in it: everything that people query.
#pragma once

#include "server/store/bundle_store.hpp"
#include "server/store/cause_store.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

// The rules of RunStore apply. Functions with a filter respect Filter::sight; the functions here
// are for queries without a filter, limited to a sight.
class EvidenceStore : public RunStore, public BundleStore, public CauseStore {
  public:
    [[nodiscard]] virtual Result<Choices> choices_in(const Sight& sight, const std::string& event) = 0;
    // Causes of visible delays, with counts of those delays only.
    [[nodiscard]] virtual Result<std::vector<CauseRecord>> causes_in(const Sight& sight,
                                                                     const std::optional<std::string>& event,
                                                                     std::uint32_t limit) = 0;
    [[nodiscard]] virtual Result<std::optional<CauseLife>> find_cause_in(const Sight& sight, std::uint64_t id) = 0;
    // Replaces event, process, count and longest delay of each bundle by those of its visible
    // delays. Removes bundles without any.
    [[nodiscard]] virtual Status limit_to_sight(const Sight& sight, std::vector<BundleRow>& rows) = 0;
};

}  // namespace lagtrap::server
