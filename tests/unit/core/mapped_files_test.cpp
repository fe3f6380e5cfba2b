#include "core/mapped_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::mapped_files_test {
namespace {

TEST(MappedFiles, ALineIsReadAsTheKernelWritesIt) {
    const auto code = parse_maps_line(
        "7f3c00401000-7f3c00403000 r-xp 00001000 fd:1a 18446744073709551615       /opt/a b "
        "(deleted)");
    ASSERT_TRUE(code);
    EXPECT_EQ(code->start, 0x7f3c00401000U);
    EXPECT_EQ(code->end, 0x7f3c00403000U);
    EXPECT_TRUE(code->executable);
    EXPECT_EQ(code->file_offset, 0x1000U);
    EXPECT_EQ(code->device, 0xfdULL << 32 | 0x1a);
    EXPECT_EQ(code->inode, UINT64_MAX);
    EXPECT_EQ(code->path, "/opt/a b (deleted)");
    const auto anonymous =
        parse_maps_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 ");
    ASSERT_TRUE(anonymous);
    EXPECT_EQ(anonymous->path, "");
    const auto heap = parse_maps_line(
        "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]");
    ASSERT_TRUE(heap);
    EXPECT_FALSE(heap->executable);
    EXPECT_EQ(heap->path, "[heap]");
}

TEST(MappedFiles, WhatIsNoLineIsNone) {
    for (const char* line : {"", "x", "10-", "10-20", "10-20 r-x", "20-10 r-xp 0 8:1 5 /a",
                             "10-20 r-xp zz 8:1 5 /a", "10-20 r-xp 0 8:1"})
        EXPECT_FALSE(parse_maps_line(line)) << line;
}

TEST(MappedFiles, EveryLineOfThisProcessIsRead) {
    const auto maps = read_file("/proc/self/maps", 1 << 24);
    ASSERT_TRUE(maps);
    std::size_t code = 0, lines = 0;
    for (std::size_t at = 0, end = 0; (end = maps->find('\n', at)) != std::string::npos;
         at = end + 1, ++lines) {
        const auto mapping = parse_maps_line(std::string_view(*maps).substr(at, end - at));
        ASSERT_TRUE(mapping) << maps->substr(at, end - at);
        code += mapping->executable ? 1 : 0;
    }
    EXPECT_GT(lines, 20U);
    EXPECT_GT(code, 3U);
    const auto files = mapped_files("/proc/self");
    ASSERT_TRUE(files);
    EXPECT_THAT(files->front(), testing::EndsWith("core_tests"));
    EXPECT_THAT(*files, testing::Contains(testing::HasSubstr("/libc.so.6")));
}

TEST(MappedFiles, DataIsNoCode) {
    const std::string path = testing::TempDir() + "mapped-data-" + std::to_string(::getpid());
    ASSERT_TRUE(write_file_durably(path, "data"));
    const UniqueFd file = open_file(path, O_RDONLY).value();
    void* const data = ::mmap(nullptr, 4, PROT_READ, MAP_PRIVATE, file.get(), 0);
    ASSERT_NE(data, MAP_FAILED);
    const auto files = mapped_files("/proc/self");
    ::munmap(data, 4);
    std::filesystem::remove(path);
    ASSERT_TRUE(files);
    EXPECT_THAT(*files, testing::Not(testing::Contains(testing::HasSubstr("mapped-data"))));
}

TEST(MappedFiles, NoProcessIsAnError) {
    const auto files = mapped_files("/proc/4194305");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace lagtrap::mapped_files_test
