// Formats call trees as text, for people.
#pragma once

#include <string>
#include <vector>

#include "calls/call_stream.hpp"
#include "calls/call_summary.hpp"
#include "calls/call_tree.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct CallsLook {
    Paint paint;
    std::size_t columns = 80;
    bool all = false;  // leave nothing out
    bool cut = false;  // cut lines at the last column
};

// What is watched, and what is not.
[[nodiscard]] std::string started_text(const calls::Started& started, const std::string& function,
                                       const CallsLook& look);
// Functions found by observing calls through pointers.
[[nodiscard]] std::string more_text(const std::vector<calls::Function>& more,
                                    const CallsLook& look);
// One call of the function. Calls shorter than a hundredth of it are summed in one line, unless
// `look.all`. Calls that took at least half of their caller's time are highlighted.
[[nodiscard]] std::string tree_text(const calls::Tree& tree,
                                    const std::vector<calls::Function>& functions,
                                    const CallsLook& look);
// As tree_text(), for a recording with known times, without the line of time and thread. No line is
// longer than the screen.
[[nodiscard]] std::string tree_rows(const calls::Tree& tree, const std::vector<calls::Times>& times,
                                    const std::vector<calls::Function>& functions,
                                    const CallsLook& look);
[[nodiscard]] std::string summary_text(const calls::Summary& summary,
                                       const std::vector<calls::Function>& functions,
                                       const CallsLook& look);
[[nodiscard]] std::string detached_text(const std::vector<calls::DetachedFunction>& detached,
                                        const std::vector<calls::Function>& functions,
                                        const CallsLook& look);
// `told` is the number of trees shown.
[[nodiscard]] std::string ended_text(const calls::Ended& ended, const std::string& function,
                                     std::uint64_t reported);

}  // namespace lagtrap::cli
