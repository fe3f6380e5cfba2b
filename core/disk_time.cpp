#include "core/disk_time.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace lagtrap {

namespace {

// include/uapi/linux/ioprio.h
constexpr int who_process = 1;
constexpr int class_best_effort = 2;
constexpr int class_idle = 3;
constexpr int class_shift = 13;
constexpr int lowest_level = 7;

void set_priority_of_this_thread(int priority) { (void)::syscall(SYS_ioprio_set, who_process, 0, priority); }

}  // namespace

void use_idle_disk_time() { set_priority_of_this_thread(class_idle << class_shift); }

void use_least_disk_time() { set_priority_of_this_thread(class_best_effort << class_shift | lowest_level); }

}  // namespace lagtrap
