#include "core/idle_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace lagtrap {

void use_idle_disk_time() {
    constexpr int who_process = 1;
    constexpr int class_idle = 3;
    constexpr int class_shift = 13;
    (void)::syscall(SYS_ioprio_set, who_process, 0, class_idle << class_shift);
}

}  // namespace lagtrap
