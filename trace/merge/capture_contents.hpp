// What the two passes of a merge share: the capture's session, and what its logs contain.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.hpp"
#include "trace/logs/log.hpp"
#include "trace/logs/record_stream.hpp"
#include "trace/logs/session.hpp"
#include "trace/merge/calls_in_trace.hpp"
#include "trace/merge/functions_in_trace.hpp"
#include "trace/merge/listed_threads.hpp"
#include "trace/merge/merge.hpp"
#include "trace/merge/run_details.hpp"
#include "trace/merge/run_sorter.hpp"
#include "trace/merge/thread_contexts.hpp"
#include "trace/merge/thread_ends.hpp"
#include "trace/names/python_names.hpp"
#include "trace/processes/address_spaces.hpp"
#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

struct CaptureContents {
    CaptureContents(const std::filesystem::path& capture_directory,
                    const MergeOptions& merge_options, Session capture_session);

    // nullopt if the log is missing or torn within its header. The capture is then what the other
    // logs contain.
    [[nodiscard]] Result<std::optional<LogReader>> open_log(LogKind kind);
    // The same, in order of time; empty if there is no log.
    [[nodiscard]] Result<RecordStream> open_stream(LogKind kind);
    [[nodiscard]] std::uint64_t to_boottime(std::uint64_t monotonic_ns) const {
        return monotonic_ns + offset_ns;
    }

    const std::filesystem::path directory;
    MergeOptions options;
    const Session session;
    const std::uint64_t offset_ns;  // boottime - monotonic, modulo 2^64
    ModuleTable modules;
    AddressSpaces spaces{modules};
    StackTable stacks;
    RunSorter sorter;
    RunDetails run_details;
    ListedThreads listed;
    ThreadContexts thread_contexts;
    ThreadEnds thread_ends;
    CallsInTrace calls;
    FunctionsInTrace functions;
    PythonNames python;
    NamingQuality naming;
    SystemFile file;       // as far as it is known
    bool partial = false;  // the capture was cut short, or a log is torn or missing
};

}  // namespace lagtrap::trace
