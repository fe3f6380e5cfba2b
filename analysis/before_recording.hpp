// Puts what the kernel's own counts know of a delay in place of the time that was not recorded.
#pragma once

#include <vector>

#include "analysis/thread_name.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Replaces the intervals of Gap::Outside that lie before the recording, of the delay's own thread. Its longest waits stand where they
// were; the one that went on when the recording began is one interval with the recorded rest, and has its stack. What lies
// between them has the right sums, in an order of its own: nobody knows the moments.
void fill_in_before(const Recording& recording, const trace::Delay& delay, std::vector<Interval>& intervals);

// Who the thread is: as recorded, or else as it was called when it ended a wait of the delay before the recording, which may have
// missed it or seen only its end. Without its unit.
[[nodiscard]] ThreadName name_thread(const Recording& recording, const trace::Delay& delay, std::uint32_t tid);

// What the thread waited for, as block_reason.hpp says it where there is a stack.
[[nodiscard]] std::string_view reason_of_class(std::uint32_t wait_class);
// How many classes there are.
[[nodiscard]] std::uint32_t wait_classes();

}  // namespace lagtrap::analysis
