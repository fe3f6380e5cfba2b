// Tracks threads and their names up to the current time of the merge, and writes them into the
// trace.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bpf/records.h"
#include "trace/logs/control_group_words.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/address_spaces.hpp"

namespace lagtrap::trace {

struct ThreadState {
    std::uint32_t pid = 0;
    std::uint32_t generation = 0;  // number of earlier threads with this tid
    bool exited = false;
    std::string name;  // printable
};

// Time stamps are monotonic (as in records); `boottime_offset_ns` converts them to the trace's.
class ThreadTable {
  public:
    // `containers` has the names of the containers that processes belong to. All arguments must
    // outlive this object.
    ThreadTable(const AddressSpaces& spaces, PacketWriter& writer, std::uint64_t boottime_offset_ns,
                const ContainerNames& containers)
        : spaces_(spaces),
          writer_(writer),
          boottime_offset_ns_(boottime_offset_ns),
          containers_(containers) {}

    // Writes the threads alive at the start, and their processes, as the first packets.
    void write_initial(const std::vector<lagtrap_thread>& threads, std::uint64_t at_ns);

    // Applies and writes a record of the rundown log at `at_ns`. A new thread's name and process
    // wait for write_pending().
    void take(const lagtrap_record* record, std::uint64_t at_ns);

    // Writes what is pending from before `at_ns`. It has to be later: at equal time stamps, readers
    // apply a process tree before the event that begins the thread, and so to the thread that had
    // the number before.
    void write_pending(std::uint64_t at_ns);

    // Returns the thread and makes sure it is in the trace: creates and writes it if no record
    // mentioned it, and writes it if it is pending, as is a thread that began before the first
    // record. `pid` is 0 if unknown.
    const ThreadState& at(std::uint32_t tid, std::uint32_t pid, std::uint64_t at_ns);
    // nullptr if unknown.
    [[nodiscard]] const ThreadState* find(std::uint32_t tid) const;

    // Name of a process: its first thread's name, otherwise its program's.
    [[nodiscard]] std::string process_name(std::uint32_t pid, std::uint64_t at_ns) const;

  private:
    void add_process(protozero::pbf_writer& tree, std::uint32_t pid, std::uint64_t at_ns);
    static void add_thread(protozero::pbf_writer& tree, std::uint32_t tid,
                           const ThreadState& thread);
    // Writes the unit or container of each process written since the last call, as labels.
    void write_labels(std::uint64_t at_ns);
    struct Pending {
        std::uint32_t tid = 0;
        std::uint64_t since_ns = 0;
        bool with_process = false;
    };
    void write(std::uint32_t tid, std::uint64_t at_ns, bool with_process);
    void write_new_task(const lagtrap_task_change& change, const ThreadState& state,
                        std::uint64_t at_ns);
    ThreadState& begin_thread(std::uint32_t tid, std::uint32_t pid);
    void take_fork(const lagtrap_task_change& change, std::uint64_t at_ns);
    void take_name(const lagtrap_name& name, std::uint64_t at_ns);

    const AddressSpaces& spaces_;
    PacketWriter& writer_;
    std::uint64_t boottime_offset_ns_;
    std::unordered_map<std::uint32_t, ThreadState> threads_;
    // listed, or seen without being listed
    std::unordered_set<std::uint32_t> reported_processes_;
    std::unordered_map<std::uint32_t, std::uint32_t> parents_;     // as first written, by pid
    std::unordered_map<std::uint32_t, std::uint64_t> started_ns_;  // of processes; CLOCK_BOOTTIME
    std::vector<Pending> pending_;
    const ContainerNames& containers_;
    std::unordered_map<std::uint32_t, std::string> labels_;         // as last written, by process
    std::vector<std::pair<std::uint32_t, GroupWords>> labels_due_;  // by process
    std::uint64_t label_tracks_ = 0;
};

// A comm field as printable text, up to its NUL.
[[nodiscard]] std::string comm_text(const char (&comm)[LAGTRAP_COMM_BYTES]);

}  // namespace lagtrap::trace
