// Another thread of the same process, with real-time priority, takes the only CPU that the process
// may use.
#include <sched.h>

#include <semaphore>
#include <thread>

#include "program.hpp"

namespace {

std::binary_semaphore frame_wanted(0);

PLANTED void decode_frame() { cases::compute_ms(300); }

void run_video() {
    cases::name_thread("video");
    sched_param priority{};
    priority.sched_priority = 20;
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) cases::give_up("sched_setscheduler");
    frame_wanted.acquire();
    decode_frame();
}

PLANTED void handle_request(bool slow) {
    cases::compute_ms(1);
    if (slow) frame_wanted.release();
    cases::compute_ms(1);
}

}  // namespace

int main() {
    cases::stay_on_last_cpu();
    std::thread video(run_video);
    const int status = cases::serve(handle_request);
    video.join();
    return status;
}
