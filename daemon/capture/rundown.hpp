// The rundown of one capture: the processes when it began, and what programs report about generated
// code. The unwinder knows where code is mapped. It runs on its own thread, because a machine may
// have thousands of processes. Helpers (inspector_pool.hpp) access the processes' files and memory;
// this code never does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>

#include "daemon/capture/code_rundown.hpp"
#include "daemon/capture/group_memory.hpp"
#include "daemon/capture/record_exchange.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/process_scan.hpp"
#include "trace/logs/session.hpp"

struct bpf_program;

namespace lagtrap::daemon {

class Rundown {
  public:
    // Starts at once. `threads` is the program that iterates over all threads. Process `first_pid`,
    // whose run was slow, is read first, because it may end at any moment; 0 if there is none.
    // Copies code descriptions of programs up to `code_limit_bytes`. `names` looks up the names of
    // containers; it may be null, and must outlive this object.
    Rundown(bpf_program* threads, std::uint32_t first_pid, std::filesystem::path capture_directory,
            std::uint64_t code_limit_bytes, ContainerNames* names);
    ~Rundown();
    Rundown(const Rundown&) = delete;
    Rundown& operator=(const Rundown&) = delete;

    // Adds later events: exec, mmap, exit.
    void add(const RecordBuffer& events) { exchange_.add(events); }
    // Returns new records. The records of all processes that existed at the start come together,
    // once they are complete.
    [[nodiscard]] RecordBuffer take_records() { return exchange_.take_records(); }
    // Ends the rundown. Afterwards take_records() has the rest, and counts() and containers() are
    // final. Waits up to finish_timeout; whatever has not been read by then counts as lost.
    void finish();
    static constexpr std::chrono::milliseconds finish_timeout{3'000};
    [[nodiscard]] const CodeRundownCounts& counts() const { return code_.counts(); }
    // The memory group of process `first_pid`, as from read_group_memory(). Call after finish().
    [[nodiscard]] const std::optional<GroupMemory>& group_memory() const { return group_memory_; }
    // Names of the containers of all recorded processes.
    [[nodiscard]] const trace::ContainerNames& containers() const { return containers_; }
    // Bytes copied into the capture so far. Can be called at any time.
    [[nodiscard]] std::uint64_t copied_bytes() const { return copied_bytes_; }

  private:
    void work(bpf_program* threads, std::uint32_t first_pid);

    void name_container(const lagtrap_record* record);
    // Follows the events, and reads what newly started programs report about themselves.
    void follow(const RecordBuffer& events, ProcessScan& scan);

    CodeRundown code_;
    ContainerNames* names_;
    trace::ContainerNames containers_;
    std::optional<GroupMemory> group_memory_;
    std::size_t started_ = 0;  // started programs that were read
    std::atomic<std::uint64_t> copied_bytes_{0};
    RecordExchange exchange_;
    std::atomic<bool> given_up_{false};
    std::thread thread_;
};

}  // namespace lagtrap::daemon
