// A writer waits for a reader that walks the whole table with the lock held.
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#include "program.hpp"

namespace {

std::shared_mutex table_lock;
std::binary_semaphore export_wanted(0);
std::binary_semaphore export_begun(0);
volatile int rows = 0;

PLANTED void export_table() { cases::compute_ms(400); }

void run_exporter() {
    cases::name_thread("exporter");
    export_wanted.acquire();
    const std::shared_lock lock(table_lock);
    export_begun.release();
    export_table();
}

PLANTED void insert_row() {
    const std::unique_lock lock(table_lock);
    rows = rows + 1;
}

}  // namespace

int main() {
    std::thread exporter(run_exporter);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            export_wanted.release();
            export_begun.acquire();
        }
        insert_row();
    });
    exporter.join();
    return status;
}
