// The title of a cause: a short sentence for people, which names a function or a thread. Internal
// to server/reports/.
#pragma once

#include <optional>
#include <string>

#include "analysis/run_profile.hpp"
#include "analysis/wait_kind.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::server::reports {

// What a title can name. Empty texts are unknown.
struct CauseParts {
    analysis::TimeKind state = analysis::TimeKind::OnCpu;  // of the run's own thread
    analysis::WaitKind wait = analysis::WaitKind::Other;   // of its wait
    std::string reason;                                    // of its wait
    CauseFrame function;                                   // where the extra time is
    std::string caller;                                    // of the function, if only one matters
    bool of_kernel = false;                                // the function is the kernel's
    bool awaited = false;     // another thread is in the function, and the run waits for it
    std::string thread;       // that the run waits for
    std::string last_thread;  // that `thread` waits for in turn
    CauseFrame waiter;        // function in which the run waits, if `awaited`
};

// "Waits for a lock held by price-refresher in parse_price_list", "Computes in sort, called by
// query"; nullopt for a wait of which neither the reason nor the place is known.
[[nodiscard]] std::optional<std::string> title_of(const CauseParts& parts);

// The thread that the title names as holding what the run waits for, or as waited for; empty if
// none.
[[nodiscard]] std::string holder_of(const CauseParts& parts);

}  // namespace lagtrap::server::reports
