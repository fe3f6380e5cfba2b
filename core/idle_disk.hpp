// Disk time for work that may wait.
#pragma once

namespace lagtrap {

// From now on this thread, and what it starts, reads and writes only while nobody else does (ioprio_set(2), idle class). A
// kernel or container that refuses changes nothing about the result.
void use_idle_disk_time();

}  // namespace lagtrap
