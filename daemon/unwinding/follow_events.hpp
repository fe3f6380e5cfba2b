// How the unwinder follows the kernel's events: in which order, which of them a capture keeps, and
// how long it pauses. Uses no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// The rings of the CPUs are read one after the other, but processes move between CPUs. Only records
// from before the start of reading are complete; later ones wait for the next time.
class EventOrder {
  public:
    void add(const lagtrap_record* record) { unordered_.append(record, record->size_bytes, {}); }
    // Returns the records from before this time in order of time; those of one time as they came.
    [[nodiscard]] RecordBuffer take_before(std::uint64_t complete_until_ns);

  private:
    RecordBuffer unordered_;
};

// The events of a capture, up to a limit.
class CaptureEvents {
  public:
    static constexpr std::size_t limit_bytes = 64 << 20;

    void add(const lagtrap_record* record);
    void add(const RecordBuffer& records) { kept_.append(records); }
    [[nodiscard]] RecordBuffer take();
    // Events that found no room, since the start.
    [[nodiscard]] std::uint64_t not_kept() const { return not_kept_; }

  private:
    RecordBuffer kept_;
    std::uint64_t not_kept_ = 0;
};

// How long to wait for the next look.
class FollowPauses {
  public:
    // Without events, pauses double up to a maximum.
    void note(bool has_events);
    // `making`: tables are being made. `wants_files`: watched files must be found as soon as they
    // are mapped.
    [[nodiscard]] std::chrono::milliseconds next(bool capturing, bool making,
                                                 bool wants_files) const;

    static constexpr std::chrono::milliseconds idle{1'000}, making_tables{50};
    static constexpr std::chrono::milliseconds min_capture{1}, max_capture{4};
    static constexpr std::chrono::milliseconds min_mapping{20}, max_mapping{400};

  private:
    std::chrono::milliseconds capture_ = min_capture;
    std::chrono::milliseconds mapping_ = min_mapping;
};

// The priorities of those who make tables, as nice values.
class TablePriority {
  public:
    static constexpr int normal = 0, lowest = 19;
    // For late tables of users who had their share. On a busy machine it gets a tenth of the time
    // of others; the lowest priority gets almost nothing.
    static constexpr int low = 10;
    // At low priority, while somebody waits for a table.
    static constexpr std::chrono::milliseconds making_timeout{200};

    // True if the table is made at the lowest priority at first. `working_for`: without a pause.
    [[nodiscard]] static bool is_patient(std::chrono::nanoseconds working_for, bool watched,
                                         bool capturing, bool user_had_much) {
        return (working_for < making_timeout && !watched && !capturing) || user_had_much;
    }
    // A busy machine would never run the lowest priority, and stacks would end early without
    // tables.
    [[nodiscard]] static bool is_late(std::chrono::nanoseconds working_for) {
        return working_for >= making_timeout;
    }
    // Of a table that is late. `cpu_time`: used for it so far. With wall-clock time, every file
    // would seem slow on a busy machine.
    [[nodiscard]] static int of_late(bool user_had_much, std::chrono::nanoseconds cpu_time) {
        return user_had_much || cpu_time >= max_cpu_time ? low : normal;
    }

  private:
    // A file that takes more is not worth it.
    static constexpr std::chrono::seconds max_cpu_time{1};
};

}  // namespace lagtrap::daemon
