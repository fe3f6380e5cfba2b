// Disk time for work that may wait: for as long as the disk is busy, or only behind others.
#pragma once

namespace lagtrap {

// From now on this thread, and what it starts, reads and writes only while nobody else does (ioprio_set(2), idle class). A
// kernel or container that refuses changes nothing about the result.
void use_idle_disk_time();

// From now on this thread, and what it starts, has the smallest share of a busy disk, yet a share (best-effort class, lowest
// priority). As above.
void use_least_disk_time();

}  // namespace lagtrap
