// late_stacks CAPTURE_DIRECTORY: stacks of a capture that the kernel side could not walk
// completely, as a merge walks them. Prints a line of JSON for each, {"id", "inner", "end",
// "frames"}; frames are those beyond the inner stack's.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <unordered_map>

#include "trace/logs/log.hpp"
#include "trace/logs/record_stream.hpp"
#include "trace/processes/address_spaces.hpp"
#include "trace/processes/modules.hpp"
#include "trace/stacks/copied_stack.hpp"
#include "trace/stacks/late_tables.hpp"

namespace {

using namespace lagtrap;

template <typename Take>
Status for_each_record(const std::filesystem::path& log, Take take) {
    TRY_ASSIGN(auto reader, trace::LogReader::open(log));
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader.next());
        if (record == nullptr) return success();
        take(record);
    }
}

Status print_late_stacks(const std::filesystem::path& capture) {
    trace::ModuleTable modules;
    trace::AddressSpaces spaces(modules);
    TRY_ASSIGN(auto rundown, trace::RecordStream::open(
                                 capture / trace::log_file_name(trace::LogKind::Rundown), 65536));
    TRY(spaces.load(rundown));
    trace::LateTables tables(modules, {});
    const auto user_log = capture / trace::log_file_name(trace::LogKind::User);
    std::unordered_map<std::uint64_t, std::size_t> frame_counts;
    TRY(for_each_record(user_log, [&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_STACK) return;
        const auto& stack = *reinterpret_cast<const lagtrap_stack*>(record);
        frame_counts.emplace(stack.stack_id, stack.frame_count);
    }));
    return for_each_record(user_log, [&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_STACK_COPY) return;
        const auto& copy = *reinterpret_cast<const lagtrap_stack_copy*>(record);
        const auto stack =
            trace::continue_stack(copy, frame_counts[copy.inner_id], [&](std::uint64_t address) {
                return tables.rule_at(spaces.find(copy.pid, address, copy.header.at_ns));
            });
        std::printf("{\"id\":%" PRIu64 ",\"inner\":%" PRIu64 ",\"end\":%u,\"frames\":[",
                    static_cast<std::uint64_t>(copy.stack_id),
                    static_cast<std::uint64_t>(copy.inner_id), stack.end);
        for (std::size_t i = 0; i < stack.frames.size(); ++i)
            std::printf("%s%" PRIu64, i == 0 ? "" : ",", stack.frames[i]);
        std::puts("]}");
    });
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::fputs("usage: late_stacks CAPTURE_DIRECTORY\n", stderr);
        return 2;
    }
    const auto printed = print_late_stacks(words[1]);
    if (!printed) std::fprintf(stderr, "late_stacks: %s\n", printed.error().message.c_str());
    return printed ? 0 : 1;
}
