// Shared by tests of traces: a made-up process whose files are all copies of one program.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon {

// Process 7. It has mapped a whole file once for each path: the first at 0x100000, the second at
// 0x200000, and so on. The files are the program of tests/unit/daemon/programs/deeply_inlined.cpp,
// except those in `programs`.
class MadeUpProcess : public DirectInspector {
  public:
    static constexpr std::uint32_t pid = 7;
    static constexpr std::uint64_t distance = 0x100000;

    explicit MadeUpProcess(std::vector<std::string> mapped) : paths(std::move(mapped)) {}
    Result<InspectedProcess> read(std::uint32_t process, Code, const InspectionLimits&) override {
        InspectedProcess found;
        for (std::size_t i = 0; process == pid && i < paths.size(); ++i) {
            lagtrap_mapping mapping{};
            mapping.header.type = LAGTRAP_RECORD_MAPPING;
            mapping.pid = pid;
            mapping.start = (i + 1) * distance;
            mapping.length = 0x10000;
            mapping.inode = inodes.empty() ? i + 1 : inodes.at(i);
            mapping.path_bytes = static_cast<std::uint16_t>(paths[i].size());
            found.records.append(&mapping, sizeof(mapping), paths[i]);
        }
        return found;
    }
    Result<OpenedFile> open(const NamedMapping& mapping) override {
        if (unreadable.contains(mapping.path)) return make_error(ErrorKind::Denied, "is locked");
        OpenedFile opened;
        const auto other = programs.find(mapping.path);
        opened.file =
            open_file(other == programs.end() ? program() : other->second, O_RDONLY | O_CLOEXEC)
                .value();
        return opened;
    }
    Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t, const std::vector<std::uint64_t>& addresses) override {
        return std::vector<std::uint64_t>(addresses.size());
    }
    static std::string program() {
        return build_folder() + "/daemon/daemon_deeply_inlined_program";
    }
    // The library of tests/unit/daemon/programs/own_allocator.cpp.
    static std::string own_allocator() {
        return build_folder() + "/daemon/libdaemon_own_allocator.so";
    }

    std::vector<std::string> paths;
    std::vector<std::uint64_t> inodes;            // of the paths; empty: they all differ
    std::map<std::string, std::string> programs;  // by path
    std::set<std::string> unreadable;
};

}  // namespace lagtrap::daemon
