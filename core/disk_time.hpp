// Lowers the disk priority of background work.
#pragma once

namespace lagtrap {

// Gives this thread and its children the lowest priority of the best-effort class (ioprio_set(2)).
// The idle class would not do: a disk that is always busy has no idle time, and recordings matter
// most just then. Does nothing if the kernel or container refuses.
void use_least_disk_time();

}  // namespace lagtrap
