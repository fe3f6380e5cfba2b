// Whose data a disk wrote while something waited for it. Used inside analysis/ alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct WrittenData {
    std::uint64_t bytes = 0;  // of all files; 0: too little to tell of
    std::uint32_t files = 0;
    std::string disk;
    std::string path;  // of the file with most of it, within its file system; empty: not known
    std::uint64_t path_bytes = 0;
    std::uint32_t writer_pid = 0;    // who has that file open for writing, or wrote as much and has ended; 0: not known
    std::string writer;              // name of that process
    std::uint64_t writer_bytes = 0;  // of one that has ended: what it wrote in its life
    std::uint32_t writers = 0;       // others of that name that have the file open
    bool writer_ended = false;
};

// `disk`: on which the waits were; empty: not known, so all count.
[[nodiscard]] WrittenData written_in(const Recording& recording, Window window, std::string_view disk);

}  // namespace lagtrap::analysis
