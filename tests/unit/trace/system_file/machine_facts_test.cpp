#include "trace/system_file/machine_facts.hpp"

#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::machine_facts_test {
namespace {

class MachineFacts : public testing::Test {
  protected:
    void put(const std::filesystem::path& name, const std::string& content) {
        std::filesystem::create_directories((root_.path() / name).parent_path());
        ASSERT_TRUE(write_file_durably(root_.path() / name, content));
    }
    SystemFile facts() {
        SystemFile file;
        read_machine_facts(file, root_.path());
        return file;
    }

    TemporaryDirectory root_;
};

TEST_F(MachineFacts, AreThoseOfTheFolder) {
    put("proc/sys/kernel/hostname", "web-7\n");
    put("proc/sys/kernel/osrelease", "6.12.1\n");
    put("etc/machine-id", "0123456789abcdef\n");
    put("etc/os-release",
        "NAME=\"Debian\"\nPRETTY_NAME_LONG=\"no\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
    put("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 85\nmodel name\t: A CPU: fast\n");
    put("proc/meminfo", "MemTotal:       2048 kB\nMemFree:  12 kB\n");
    const SystemFile file = facts();
    EXPECT_EQ(file.host, "web-7");
    EXPECT_EQ(file.kernel_release, "6.12.1");
    EXPECT_EQ(file.machine_id, sha256_of("0123456789abcdef"));
    EXPECT_EQ(file.os_name, "Debian GNU/Linux 12");
    EXPECT_EQ(file.cpu_model, "A CPU: fast");
    EXPECT_EQ(file.memory_bytes, 2048U * 1024);
}

TEST_F(MachineFacts, WhatCannotBeReadStaysEmpty) {
    put("etc/machine-id", "\n");
    const SystemFile file = facts();
    EXPECT_EQ(file.machine_id, "");
    EXPECT_EQ(file.os_name, "");
    EXPECT_EQ(file.cpu_model, "");
    EXPECT_EQ(file.memory_bytes, 0U);
    EXPECT_NE(file.host, "");
}

}  // namespace
}  // namespace lagtrap::trace::machine_facts_test
