// A machine running the event monitor's programs: events, threads, and hits of markers.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf/native_programs.h"

namespace lagtrap::native {

constexpr std::uint64_t no_call = ~0ULL;
constexpr std::uint32_t interruptible = 1;  // a state in which a thread leaves its CPU

// The values that come with a marker hit.
struct Hit {
    std::uint64_t key = 0;
    std::uint64_t stack_pointer = 0x7000;
    std::uint64_t site = 0x400000;
    std::uint64_t begin_ns = 0;      // 0: the time of the hit
    std::uint64_t text_address = 0;  // of a trace id
};

// How an event's markers are probed. `frame`: a function whose calls are identified by their
// frames.
enum class Probe { usdt, function, frame, usdt_without_arguments };

class Machine {
  public:
    Machine();

    // `flags`: enum lagtrap_event_flags.
    lagtrap_event_config& add_event(std::uint32_t event, std::uint32_t flags = 0,
                                    std::uint32_t nesting = LAGTRAP_NESTING_EACH,
                                    Probe probe = Probe::usdt);
    // The reference stays valid. Each hundred is a process: thread 203 belongs to process 200.
    native_thread& thread(std::uint32_t tid);

    void begin(std::uint32_t event, const native_thread& thread, const Hit& hit = {});
    void stage(std::uint32_t event, const native_thread& thread, std::uint16_t stage,
               const Hit& hit = {});
    void end(std::uint32_t event, const native_thread& thread, const Hit& hit = {});
    void exec(const native_thread& thread);
    // The CPU switches from one thread to another.
    void preempt(const native_thread& prev, const native_thread& next);
    void block(const native_thread& prev, const native_thread& next,
               std::uint32_t state = interruptible);
    void wake(const native_thread& wakee, const native_thread& waker);
    void pass(std::uint64_t elapsed_ns) { kernel.now_ns += elapsed_ns; }
    // Runs `deed` as if on another CPU, before the next exchange of the program that runs then.
    void meanwhile(std::function<void()> deed);

    [[nodiscard]] lagtrap_event_counters& counters(std::uint32_t event);
    [[nodiscard]] std::uint64_t runs(std::uint32_t event);
    [[nodiscard]] std::uint64_t unmatched(std::uint32_t event, std::uint32_t place);
    // Tags in the table of open runs.
    [[nodiscard]] std::size_t open_runs();
    // Runs counted by buckets as stored in another bucket.
    [[nodiscard]] std::uint64_t spilled_runs();
    // The slot of a run, or NULL.
    [[nodiscard]] lagtrap_slot* slot_of(std::uint64_t tag);
    [[nodiscard]] lagtrap_bucket& bucket(std::uint32_t index);
    [[nodiscard]] lagtrap_thread_times& times_of(std::uint32_t tid);
    // Runs that ended since the last call, of events with LAGTRAP_EVENT_RECORD_RUNS: the reported
    // slots.
    [[nodiscard]] std::vector<lagtrap_slot> take_reports();
    template <typename T>
    [[nodiscard]] std::vector<T> take_records(const void* ring, std::uint16_t type);

    Kernel& kernel;

  private:
    void reach(std::uint32_t event, std::uint32_t marker, const native_thread& thread,
               const Hit& hit);

    std::deque<native_thread> threads_;
    std::vector<Probe> probes_;
};

class EventMonitor : public testing::Test, public Machine {};

template <typename T>
std::vector<T> Machine::take_records(const void* ring, std::uint16_t type) {
    std::vector<T> found;
    for (const Bytes& bytes : kernel.take_records(ring)) {
        lagtrap_record header{};
        std::memcpy(&header, bytes.data(), sizeof(header));
        EXPECT_EQ(header.size_bytes, bytes.size());
        if (header.type != type) continue;
        T& record = found.emplace_back();
        std::memset(static_cast<void*>(&record), 0, sizeof(record));
        std::memcpy(static_cast<void*>(&record), bytes.data(),
                    std::min(bytes.size(), sizeof(record)));
    }
    return found;
}

// The thread of a CPU on which nothing else runs.
native_thread idle_thread();

// The sum of all parts. Throttled time is part of runnable time.
std::uint64_t sum_of(const lagtrap_time_parts& parts);

}  // namespace lagtrap::native
