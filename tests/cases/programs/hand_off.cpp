// Jobs are queued by one thread and done by another; the number of the job pairs the markers. The
// slow job is a large image.
#include <lagtrap.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "program.hpp"

namespace {

struct Job {
    std::uint64_t number = 0;  // 0: no more jobs
    bool large = false;
};

std::mutex lock_of_jobs;
std::condition_variable jobs_changed;
std::deque<Job> jobs;
std::uint64_t done = 0;

PLANTED void resize_image(bool large) {
    if (large) cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

Job next_job() {
    std::unique_lock lock(lock_of_jobs);
    jobs_changed.wait(lock, [] { return !jobs.empty(); });
    const Job job = jobs.front();
    jobs.pop_front();
    return job;
}

void run_resizer() {
    cases::name_thread("resizer");
    for (Job job = next_job(); job.number != 0; job = next_job()) {
        resize_image(job.large);
        LAGTRAP_END_KEY("job", job.number);
        const std::lock_guard lock(lock_of_jobs);
        done = job.number;
        jobs_changed.notify_all();
    }
}

void add_job(const Job& job) {
    if (job.number != 0) LAGTRAP_BEGIN_KEY("job", job.number);
    const std::lock_guard lock(lock_of_jobs);
    jobs.push_back(job);
    jobs_changed.notify_all();
}

void wait_for_job(std::uint64_t number) {
    std::unique_lock lock(lock_of_jobs);
    jobs_changed.wait(lock, [number] { return done >= number; });
}

}  // namespace

int main() {
    std::thread resizer(run_resizer);
    std::uint64_t number = 0;
    const int status = cases::serve([&number](bool slow) {
        add_job({++number, slow});
        wait_for_job(number);
    });
    add_job({});
    resizer.join();
    return status;
}
