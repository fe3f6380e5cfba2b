// Disk time for work that may wait.
#pragma once

namespace lagtrap {

// From now on this thread, and what it starts, has the smallest share of a busy disk (ioprio_set(2), best-effort class, lowest
// priority), yet a share: a disk that is always busy has no idle time, and just then recordings are wanted. A kernel or container that
// refuses changes nothing about the result.
void use_least_disk_time();

}  // namespace lagtrap
