// Finds whose data a disk wrote while a thread waited for the disk. For analysis/ only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct WrittenData {
    std::uint64_t bytes = 0;  // of all files; 0 if too little to mention
    std::uint32_t files = 0;
    std::string disk;
    std::string path;  // of the file with most bytes, within its file system; empty if unknown
    std::uint64_t path_bytes = 0;
    // has that file open for writing, or wrote that much and has ended; 0 if unknown
    std::uint32_t writer_pid = 0;
    std::string writer;              // name of that process
    std::uint64_t writer_bytes = 0;  // if it has ended: all that it wrote
    std::uint32_t writers = 0;       // other processes with that name that have the file open
    bool writer_ended = false;
};

// `disk` is the disk that was waited for; if empty, all disks count.
[[nodiscard]] WrittenData written_in(const Recording& recording, Window window,
                                     std::string_view disk);

}  // namespace lagtrap::analysis
