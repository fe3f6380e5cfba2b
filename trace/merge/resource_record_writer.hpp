// Writes the records about what threads wait for or use up: files and sockets, limits of disks, and
// the memory of control groups.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "bpf/records.h"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

// Not thread-safe.
class ResourceRecordWriter {
  public:
    // `writer` must outlive it. `offset_ns` is CLOCK_BOOTTIME - CLOCK_MONOTONIC, modulo 2^64.
    ResourceRecordWriter(PacketWriter& writer, std::uint64_t offset_ns)
        : writer_(writer), offset_ns_(offset_ns) {}

    // The records must be complete (record_check.hpp). Call in time order: only the first record of
    // a file has its path.
    void write(const lagtrap_wait_file& record);
    void write(const lagtrap_written& record);
    void write(const lagtrap_disk_limit& record);
    void write(const lagtrap_group_memory& record);

  private:
    PacketWriter& writer_;
    std::uint64_t offset_ns_;
    std::unordered_map<std::uint64_t, std::string> waited_files_;   // path by file number
    std::unordered_map<std::uint64_t, std::string> written_files_;  // path by number
};

}  // namespace lagtrap::trace
