// Shared by tests of address spaces and modules: processes that map, fork and end, and what the
// kernel side would see.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/unwinding/process_spaces.hpp"

namespace lagtrap::daemon {

// Keeps what the kernel side would see.
class Memory : public UnwindMemory {
  public:
    std::map<std::uint32_t, lagtrap_unwind_table_state> states;
    std::map<std::uint32_t, std::vector<lagtrap_unwind_mapping>> spaces;  // by first block
    std::map<std::uint32_t, std::uint32_t> processes;                     // first block by process
    std::uint32_t next_block = 0, next_table = LAGTRAP_UNWIND_FIRST_FILE;
    std::size_t room_for_spaces = 1000;
    std::uint64_t table_room_bytes = 64 << 20;
    std::uint64_t table_bytes = 0;
    std::map<std::uint32_t, std::uint64_t> bytes_of_table;

    std::optional<std::uint32_t> new_table() override { return next_table++; }
    void set_state(std::uint32_t table, lagtrap_unwind_table_state state) override {
        states[table] = state;
    }
    bool fill(std::uint32_t table, const binaries::UnwindTable& content) override {
        if (table_bytes + content.size_bytes() > table_room_bytes) return false;
        table_bytes += bytes_of_table[table] = content.size_bytes();
        states[table] = LAGTRAP_UNWIND_TABLE_READY;
        return true;
    }
    void drop_table(std::uint32_t table) override {
        table_bytes -= bytes_of_table[table];
        states.erase(table);
    }
    std::optional<lagtrap_unwind_space> add_space(
        std::span<const lagtrap_unwind_mapping> mappings) override {
        if (spaces.size() >= room_for_spaces) return std::nullopt;
        spaces[next_block].assign(mappings.begin(), mappings.end());
        return lagtrap_unwind_space{next_block++, static_cast<std::uint32_t>(mappings.size())};
    }
    void drop_space(lagtrap_unwind_space space) override { spaces.erase(space.first_block); }
    bool set_process(std::uint32_t pid, lagtrap_unwind_space space) override {
        processes[pid] = space.first_block;
        return true;
    }
    void drop_process(std::uint32_t pid) override { processes.erase(pid); }
    void drop_all_processes() override { processes.clear(); }
    std::uint64_t used_bytes() const override { return table_bytes; }
    std::uint64_t budget_bytes() const override { return table_room_bytes; }

    // The mappings of a process as "1000-3000 5000-6000".
    std::string seen(std::uint32_t pid) const {
        const auto process = processes.find(pid);
        if (process == processes.end()) return "unknown";
        std::string text;
        char piece[64];
        for (const auto& mapping : spaces.at(process->second)) {
            std::snprintf(piece, sizeof(piece), "%s%llx-%llx", text.empty() ? "" : " ",
                          mapping.start, mapping.start + mapping.length);
            text += piece;
        }
        return text;
    }
};

class SpacesFixture : public ::testing::Test {
  protected:
    Memory memory;
    CodeModules modules{memory};
    DirectInspector inspector;
    std::map<std::uint32_t, std::uint32_t> users;  // by process; the others belong to root
    SpaceLimits limits;
    std::optional<ProcessSpaces> made_spaces;
    ProcessSpaces& spaces = made_spaces.emplace(
        memory, modules, [this](std::uint32_t pid) { return user_of(pid); }, limits);

    std::optional<std::uint32_t> user_of(std::uint32_t pid) const {
        const auto user = users.find(pid);
        return user == users.end() ? 0 : user->second;
    }
    void set_limits(const SpaceLimits& wanted) {
        made_spaces.emplace(
            memory, modules, [this](std::uint32_t pid) { return user_of(pid); }, wanted);
    }
    // As the unwinder does it.
    void publish(ProcessSpaces::Clock::time_point now = ProcessSpaces::Clock::now()) {
        for (const auto& mappings : spaces.unidentified(1000, now))
            spaces.identify(mappings, inspector.identify(mappings), now);
        spaces.publish();
    }
    // The next job whose file could be opened.
    std::optional<TableJob> next_job() {
        while (auto job = modules.next_job()) {
            auto failed = open_for(*job, inspector);
            if (!failed) return job;
            modules.take(std::move(*failed));
        }
        return std::nullopt;
    }
    std::size_t make_all() {
        std::size_t done = 0;
        for (; auto job = next_job(); ++done) modules.take(make_table(std::move(*job), nullptr));
        return done;
    }
    void take_scan_of(std::uint32_t pid) {
        const auto process = inspector.read(pid, ProcessInspector::Code::Read, {});
        ASSERT_TRUE(process);
        spaces.begin_scan();
        spaces.take(*process);
        spaces.end_scan();
    }

    void map(std::uint32_t pid, std::uint64_t start, std::uint64_t end,
             const std::string& path = "//anon", std::uint64_t file_offset = 0,
             std::uint64_t inode = 0, const std::string& build_id = "") {
        std::vector<char> bytes(sizeof(lagtrap_mapping) + path.size());
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.header.size_bytes = static_cast<std::uint32_t>(bytes.size());
        mapping.pid = pid;
        mapping.start = start;
        mapping.length = end - start;
        mapping.file_offset = file_offset;
        mapping.inode = inode;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        set_build_id(mapping, build_id);
        std::memcpy(bytes.data(), &mapping, sizeof(mapping));
        std::memcpy(bytes.data() + sizeof(mapping), path.data(), path.size());
        spaces.take(reinterpret_cast<const lagtrap_record*>(bytes.data()));
    }
    void change(lagtrap_record_type type, std::uint32_t pid, std::uint32_t parent_pid,
                std::uint32_t tid = 0) {
        lagtrap_task_change record{};
        record.header.type = static_cast<std::uint16_t>(type);
        record.header.size_bytes = sizeof(record);
        record.pid = pid;
        record.tid = tid != 0 ? tid : pid;
        record.parent_pid = parent_pid;
        record.header.at_ns = 50;
        spaces.take(&record.header);
    }
    void fork(std::uint32_t pid, std::uint32_t parent_pid) {
        change(LAGTRAP_RECORD_FORK, pid, parent_pid);
    }
    void exit(std::uint32_t pid) { change(LAGTRAP_RECORD_EXIT, pid, pid); }
    void exec(std::uint32_t pid) {
        lagtrap_name name{};
        name.header.type = LAGTRAP_RECORD_NAME;
        name.header.size_bytes = sizeof(name);
        name.pid = name.tid = pid;
        name.by_exec = 1;
        spaces.take(&name.header);
    }
};

}  // namespace lagtrap::daemon
