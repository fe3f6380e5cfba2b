// Which programs, libraries and debug files the merge of a capture may look for: those that the capture names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/result.hpp"
#include "sandbox/file_broker.hpp"
#include "trace/logs/held_roots.hpp"

struct lagtrap_mapping;

namespace lagtrap::trace {

// Names are those of the kernel, which has followed every link in them.
class NamedFiles {
  public:
    // By the rundown log of a capture, whose end may be torn; without one nothing is named. Roots count that process `holder`
    // holds (0: none does). Errors: it cannot be read.
    [[nodiscard]] static Result<NamedFiles> of_capture(const std::filesystem::path& capture, pid_t holder = 0);

    void add(const lagtrap_mapping& mapping, std::string_view path);
    // To be called when all are added.
    void close();

    // Of a normal, absolute path, what a FileBroker may do about it:
    // - a mapped file by its own name, here or in the root of a process that had code mapped; no link on the way is followed;
    // - the same in a root that the daemon, whose child asks, holds open for the merge;
    // - what such a process runs and has mapped for code, by the kernel's links in /proc;
    // - a debug file (NAME.debug or NAME.dbg) in the folder of a mapped file, or in .debug or .dwz there; no link is followed;
    // - all below /usr/lib/debug, which is root's.
    [[nodiscard]] ProgramAccess access(const std::filesystem::path& path) const;

  private:
    struct Range {
        std::uint32_t pid = 0;
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        auto operator<=>(const Range&) const = default;
    };
    [[nodiscard]] bool names(const std::filesystem::path& path) const;
    [[nodiscard]] bool has_process(std::uint32_t pid) const;
    [[nodiscard]] ProgramAccess access_to_held(std::string_view rest) const;

    std::unordered_set<std::string> paths_;
    std::unordered_set<std::string> folders_;
    std::vector<Range> ranges_;  // sorted, once closed
    HeldRoots held_;             // by the holder
};

}  // namespace lagtrap::trace
