#include "daemon/processes/process_scan.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::daemon::process_scan_test {
namespace {

std::string text_of(const lagtrap_process* process) {
    return {reinterpret_cast<const char*>(process + 1), process->text_bytes};
}

std::string path_of(const lagtrap_mapping* mapping) {
    return {reinterpret_cast<const char*>(mapping + 1), mapping->path_bytes};
}

std::string build_id_of(const lagtrap_mapping* mapping) {
    std::string hexadecimal;
    for (int i = 0; i < mapping->build_id_bytes; ++i)
        hexadecimal += fmt::format("{:02x}", mapping->build_id[i]);
    return hexadecimal;
}

TEST(ProcessScan, FindsThisProcessItsProgramAndItsCode) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    bool found_process = false;
    bool found_code = false;
    ProcessScan scan;
    scan.add_others();
    scan.records().for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_PROCESS) {
            const auto* process = reinterpret_cast<const lagtrap_process*>(record);
            if (process->pid != static_cast<std::uint32_t>(::getpid())) return;
            found_process = true;
            EXPECT_EQ(process->parent_pid, static_cast<std::uint32_t>(::getppid()));
            EXPECT_EQ(process->uid, ::getuid());
            EXPECT_EQ(text_of(process).substr(0, program.size() + 1), program + '\0');
            EXPECT_EQ(record->size_bytes, sizeof(*process) + process->text_bytes);
        } else if (record->type == LAGTRAP_RECORD_MAPPING) {
            const auto* mapping = reinterpret_cast<const lagtrap_mapping*>(record);
            if (mapping->pid != static_cast<std::uint32_t>(::getpid()) ||
                path_of(mapping) != program)
                return;
            found_code = true;
            EXPECT_EQ(build_id_of(mapping),
                      binaries::ProgramFile::open(program).value().build_id());
            EXPECT_FALSE(build_id_of(mapping).empty());
            EXPECT_GT(mapping->length, 0U);
        }
    });
    EXPECT_TRUE(found_process);
    EXPECT_TRUE(found_code);
}

TEST(ProcessScan, ReadsOddTextsAndPassesOverWhatIsNoProcess) {
    const std::filesystem::path proc =
        std::filesystem::path(::testing::TempDir()) / fmt::format("proc-{}", ::getpid());
    std::filesystem::create_directories(proc / "77");
    std::filesystem::create_directories(proc / "self");
    std::filesystem::create_directories(proc / "78x");
    std::ofstream(proc / "77/status") << "Name:\tx\nPPid:\t5\nUid:\t1000\t0\t0\t0\n";
    std::ofstream(proc / "77/cmdline") << std::string("a\0b \n\x1b[31m\0", 11);
    std::filesystem::create_symlink("/opt/some program (deleted)", proc / "77/exe");
    std::ofstream(proc / "77/maps")
        << "400000-401000 r-xp 00001000 08:01 42 /opt/some program (deleted)\n"
           "500000-501000 rw-p 00000000 00:00 0 \n"
           "not a line at all\n"
           "7f00000000-7f00001000 r-xp 00000000 00:00 0 [vdso]\n";
    std::vector<std::string> paths;
    std::string text;
    ProcessScan scan(proc);
    scan.add(77);
    scan.add_others();
    scan.records().for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_MAPPING)
            paths.push_back(path_of(reinterpret_cast<const lagtrap_mapping*>(record)));
        if (record->type == LAGTRAP_RECORD_PROCESS) {
            const auto* process = reinterpret_cast<const lagtrap_process*>(record);
            EXPECT_EQ(process->pid, 77U);
            EXPECT_EQ(process->parent_pid, 5U);
            EXPECT_EQ(process->uid, 1000U);
            text = text_of(process);
        }
    });
    std::filesystem::remove_all(proc);
    EXPECT_EQ(text, std::string("/opt/some program (deleted)\0a b \n\x1b[31m\0", 39));
    EXPECT_EQ(paths, (std::vector<std::string>{"/opt/some program (deleted)", "[vdso]"}));
}

TEST(ProcessScan, TellsByWhichNameAProgramWasStarted) {
    const std::filesystem::path proc =
        std::filesystem::path(::testing::TempDir()) / fmt::format("names-{}", ::getpid());
    std::filesystem::create_directories(proc / "77");
    std::filesystem::create_directories(proc / "root/usr/bin");
    std::ofstream(proc / "root/usr/bin/check") << "a program";
    std::filesystem::create_symlink("check", proc / "root/usr/bin/server");
    std::filesystem::create_symlink(proc / "root", proc / "77/root");
    std::filesystem::create_symlink(proc / "root/usr/bin/check", proc / "77/exe");
    std::ofstream(proc / "77/status") << "Name:\tx\nPPid:\t5\nUid:\t1000\t0\t0\t0\n";
    std::ofstream(proc / "77/cmdline") << std::string("/usr/bin/server *:77\0", 21);
    ProcessScan scan(proc);
    scan.add(77);
    std::string text;
    scan.records().for_each([&](const lagtrap_record* record) {
        text = text_of(reinterpret_cast<const lagtrap_process*>(record));
    });
    // The path from /proc comes first, because code is found by it.
    EXPECT_TRUE(text.starts_with((proc / "root/usr/bin/check").string() + '\0')) << text;
    EXPECT_TRUE(text.ends_with(std::string("\0/usr/bin/server", 16))) << text;
    std::filesystem::remove_all(proc);
}

// Forty processes of one user with as many names as possible: they are cut, another user's are not.
TEST(ProcessScan, HoldsNoMoreThanItsLimitAndAQuarterOfOneUser) {
    const std::filesystem::path proc =
        std::filesystem::path(::testing::TempDir()) / fmt::format("many-{}", ::getpid());
    const auto add = [&](std::uint32_t pid, std::uint32_t uid, int mappings) {
        const auto folder = proc / std::to_string(pid);
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "status") << "Name:\tx\nPPid:\t5\nUid:\t" << uid << "\t0\t0\t0\n";
        std::ofstream(folder / "cmdline") << std::string(4000, 'a');
        std::filesystem::create_symlink("/opt/program", folder / "exe");
        std::ofstream maps(folder / "maps");
        for (int i = 0; i < mappings; ++i)
            maps << fmt::format("{:x}-{:x} r-xp 00001000 00:00 0 [{}{}]\n", 0x10000 * (i + 1),
                                0x10000 * (i + 1) + 0x1000, std::string(3000, 'n'), i);
    };
    for (std::uint32_t pid = 100; pid < 140; ++pid) add(pid, 7, 100);
    add(200, 8, 1);
    ScanLimits limits;
    limits.total_bytes = 1 << 20;
    ProcessScan scan(proc, limits);
    scan.add_others();
    EXPECT_LE(scan.records().size_bytes(), (1U << 20) / UserShares::parts + 64 * 1024);
    EXPECT_GT(scan.left_out().at(7), 0U);
    EXPECT_FALSE(scan.left_out().contains(8));
    std::map<std::uint32_t, std::size_t> texts, mappings;
    scan.records().for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_PROCESS) {
            const auto* const process = reinterpret_cast<const lagtrap_process*>(record);
            texts[process->pid] = process->text_bytes;
            EXPECT_TRUE(text_of(process).starts_with(std::string("/opt/program\0", 13)));
        } else {
            ++mappings[reinterpret_cast<const lagtrap_mapping*>(record)->pid];
        }
    });
    EXPECT_EQ(texts.size(), 41U) << "each process is named";
    EXPECT_GT(texts[200], 4000U);
    EXPECT_LT(texts[139], 100U);
    EXPECT_EQ(mappings[200], 1U);
    std::filesystem::remove_all(proc);
}

TEST(RecordBuffer, TakesNothingButWholeRecords) {
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.path_bytes = 5;
    RecordBuffer records, copy;
    records.append(&mapping, sizeof(mapping), "/path");
    records.append(&mapping, sizeof(mapping), "/path");
    ASSERT_TRUE(copy.assign(records.bytes()));
    EXPECT_EQ(copy.bytes(), records.bytes());
    const std::string bytes(records.bytes());
    EXPECT_FALSE(copy.assign(bytes.substr(0, bytes.size() - 8)));
    EXPECT_FALSE(copy.assign(bytes.substr(0, bytes.size() - 3)));
    std::string wrong = bytes;
    wrong[0] = 0;  // a record of zero bytes
    EXPECT_FALSE(copy.assign(wrong));
    EXPECT_TRUE(copy.assign("") && copy.empty());
    std::string longer_path = bytes;
    auto* const head = reinterpret_cast<lagtrap_mapping*>(longer_path.data());
    head->path_bytes = 6;
    EXPECT_FALSE(copy.assign(longer_path));
}

}  // namespace
}  // namespace lagtrap::daemon::process_scan_test
