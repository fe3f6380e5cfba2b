// Decides which programs, libraries and debug files a merge may open: only those the capture names.
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

// Names are those the kernel reports, with all links resolved.
class NamedFiles {
  public:
    // Reads the rundown log of a capture; its end may be torn, and if it is missing, nothing is
    // named. Held roots are used only if process `holder` holds them (0: nobody does). Fails if the
    // log cannot be read.
    [[nodiscard]] static Result<NamedFiles> of_capture(const std::filesystem::path& capture,
                                                       pid_t holder = 0);

    void add(const lagtrap_mapping& mapping, std::string_view path);
    // Call after the last add().
    void close();

    // What a FileBroker may do with a normalized, absolute path. It may open:
    // - a mapped file by its own name, here or in the root of a process that had code mapped;
    //   without following links on the way;
    // - the same in a root that the daemon, the parent of this process, holds open for the merge;
    // - what such a process runs and has mapped for code, through the kernel's links in /proc;
    // - a debug file (NAME.debug or NAME.dbg) in a mapped file's folder, or in .debug or .dwz
    //   there; without following links;
    // - everything below /usr/lib/debug, which belongs to root.
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
    std::vector<Range> ranges_;  // sorted by close()
    HeldRoots held_;             // by `holder`
};

}  // namespace lagtrap::trace
