// A capture whose records come from the input. Each has a byte for the log, one for the type, one
// for the number of words after the record's header, four for its time after the start in
// microseconds, and the words.
#include "trace/merge/merge.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "trace/logs/log.hpp"
#include "trace/logs/session.hpp"

namespace {

using namespace lagtrap::trace;

constexpr std::uint64_t start_ns = 1'000'000'000'000;

Session session() {
    Session session;
    session.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    session.clocks = {start_ns, start_ns, 1'795'000'000'000'000'000};
    session.started_ns = start_ns;
    session.ended_ns = start_ns + 4'000'000'000;
    session.planned_length_ns = 4'000'000'000;
    session.cpu_count = 2;
    session.stack_method = "eh-frame";
    session.events = {
        {"request", 50'000'000, 4'000'000'000, {"parse", "execute"}, "/usr/bin/server"}};
    session.finished = true;
    return session;
}

struct Input {
    const std::uint8_t* data;
    std::size_t left;

    bool take(void* into, std::size_t size) {
        if (left < size) return false;
        std::memcpy(into, data, size);
        data += size;
        left -= size;
        return true;
    }
};

void write_records(Input input, std::vector<LogWriter>& logs) {
    struct {
        std::uint8_t log, type, words, cpu;
        std::uint32_t at_us;
    } head{};
    while (input.take(&head, sizeof head)) {
        std::vector<std::uint64_t> record(2 + head.words);
        if (!input.take(record.data() + 2, std::size_t{head.words} * 8)) return;
        const lagtrap_record header{static_cast<__u32>(record.size() * 8), head.type, head.cpu,
                                    start_ns + std::uint64_t{head.at_us} * 1000};
        std::memcpy(record.data(), &header, sizeof header);
        (void)logs[head.log % logs.size()].append(
            reinterpret_cast<const lagtrap_record*>(record.data()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::filesystem::path directory =
        "/dev/shm/lagtrap-fuzz-merge-" + std::to_string(::getpid());
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    const Session one = session();
    if (!write_session(directory, one)) std::abort();
    std::vector<LogWriter> logs;
    for (const LogKind kind : {LogKind::User, LogKind::Kernel, LogKind::Rundown}) {
        auto log = LogWriter::create(directory, kind, one.id, one.clocks);
        if (!log) std::abort();
        logs.push_back(std::move(*log));
    }
    write_records({data, size}, logs);
    for (LogWriter& log : logs)
        if (!log.flush()) std::abort();
    logs.clear();
    MergeOptions options;
    options.reorder_window_records = 16;
    options.callstacks_limit = 8;
    // the running kernel's symbols would take longer than everything else
    options.symbols.this_boot = false;
    (void)merge_capture(directory, options);
    std::filesystem::remove_all(directory);
    return 0;
}
