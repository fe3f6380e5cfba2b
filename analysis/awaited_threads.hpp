// Finds for which threads others waited if not those that woke them: workers of the kernel, owners
// of locks that nobody released. For analysis/ only.
#pragma once

#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Makes waits count as ended by the threads that they were for:
// - one that a worker of the kernel ended, by whoever gave it that work;
// - one for a full listener, by the thread that should have accepted;
// - sleeps between attempts to get a lock on a file, by its holder (refused_locks.hpp);
// - one for a child process, by the thread that ended it (child_ends.hpp);
// - one that nobody ended, since it timed out or outlasted the recording, by whoever should have
//   (Interval::outlasting): the owner of a lock, the thread whose end is awaited, the only child
//   process if its end or a signal is awaited, the only one that may be in vfork(), or the only
//   thread of the process at the other end of a pipe or socket.
// For a thread that is `in_run`, and not perhaps idle, also by whoever likely should have: a signal
// may come from any thread of the process, and an answer from any thread at the other end, but if
// only one worked meanwhile, it counts (Interval::likely).
void find_awaited(const Recording& recording, std::vector<Interval>& intervals, bool in_run);

// For waits of one kind: if it is known for whom any of them was, nobody is guessed for the others.
void forget_needless_guesses(std::vector<Interval>& waits);

}  // namespace lagtrap::analysis
