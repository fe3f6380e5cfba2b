#include "core/disk_time.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace lagtrap {

namespace {

// include/uapi/linux/ioprio.h
constexpr int who_process = 1;
constexpr int class_best_effort = 2;
constexpr int class_shift = 13;
constexpr int lowest_level = 7;

}  // namespace

void use_least_disk_time() {
    (void)::syscall(SYS_ioprio_set, who_process, 0,
                    class_best_effort << class_shift | lowest_level);
}

}  // namespace lagtrap
