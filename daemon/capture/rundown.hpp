// The rundown of one capture: what was there when it began, and what programs tell of the code they made. Where code lies the
// unwinder knows. On a thread of its own, as a machine may have thousands of processes. It touches none of their files and
// none of their memory: that is done by helpers (inspector_pool.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>

#include "daemon/capture/code_rundown.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/process_scan.hpp"
#include "trace/logs/session.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Lets the program go over all threads of the machine, or of one process where `pid` is not 0.
void list_threads(const bpf_program* program, std::uint32_t pid);

class Rundown {
  public:
    // Begins at once. `threads` is the program that goes over all threads of the machine; the process `first_pid`, whose
    // run was slow, is read first, as it may end any moment (0: none). What programs tell of their code is copied up to
    // `code_limit_bytes`. `names` (may be null) is asked for the names of containers, and must outlive it.
    Rundown(bpf_program* threads, std::uint32_t first_pid, std::filesystem::path capture_directory,
            std::uint64_t code_limit_bytes, ContainerNames* names);
    ~Rundown();
    Rundown(const Rundown&) = delete;
    Rundown& operator=(const Rundown&) = delete;

    // What happened since: exec, mmap, exit.
    void add(const RecordBuffer& events);
    // The records of all processes, once they are complete; nothing before, and afterwards.
    [[nodiscard]] RecordBuffer take_records();
    // Ends it: afterwards take_records() has what is left, and counts() and containers() hold. Waits for finish_patience at
    // most; what has not been read by then is counted as lost.
    void finish();
    static constexpr std::chrono::milliseconds finish_patience{3'000};
    [[nodiscard]] const CodeRundownCounts& counts() const { return code_.counts(); }
    // Of all processes that were told of.
    [[nodiscard]] const trace::ContainerNames& containers() const { return containers_; }
    // What has been copied into the capture so far; at any time.
    [[nodiscard]] std::uint64_t copied_bytes() const { return copied_bytes_; }

  private:
    void work(bpf_program* threads, std::uint32_t first_pid);

    void name_container(const lagtrap_record* record);
    // Follows them, and says what the programs that were started say of themselves.
    void follow(const RecordBuffer& events, ProcessScan& scan);

    CodeRundown code_;
    ContainerNames* names_;
    trace::ContainerNames containers_;
    std::size_t started_ = 0;  // programs that were looked at since
    std::atomic<std::uint64_t> copied_bytes_{0};
    std::mutex mutex_;  // over what follows
    std::condition_variable more_;
    RecordBuffer events_;
    RecordBuffer records_;
    bool ending_ = false;
    bool ended_ = false;
    std::condition_variable end_;
    std::atomic<bool> given_up_{false};
    std::thread thread_;
};

}  // namespace lagtrap::daemon
