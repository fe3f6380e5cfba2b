#include "binaries/unwind/unwind_cache.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::unwind_cache_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::uint64_t roomy = 64 << 20;

// A table of `count` functions, so that tables can differ.
UnwindTable small_table(std::uint64_t count = 3) {
    Frames frames;
    const auto cie = frames.usual_cie();
    for (std::uint64_t number = 0; number < count; ++number)
        frames.function(cie, code_at + number * 64, 48,
                        Bytes().u8(0x41).u8(0x0e).uleb(16 + number * 8));
    auto table = table_of(frames);
    EXPECT_TRUE(table) << table.error().message;
    return std::move(table).value();
}

UnwindCache open_cache(const std::filesystem::path& folder, std::uint64_t limit_bytes = roomy) {
    auto cache = UnwindCache::open(folder, limit_bytes);
    EXPECT_TRUE(cache) << cache.error().message;
    return std::move(cache).value();
}

void expect_same(const UnwindTable& a, const UnwindTable& b) {
    EXPECT_EQ(a.base_address, b.base_address);
    EXPECT_EQ(a.bucket_count, b.bucket_count);
    EXPECT_EQ(a.rule_page, b.rule_page);
    EXPECT_EQ(a.row_page, b.row_page);
    EXPECT_EQ(a.page_count, b.page_count);
    EXPECT_EQ(a.pages, b.pages);
    EXPECT_EQ(a.row_count, b.row_count);
    EXPECT_EQ(a.unsupported_rows, b.unsupported_rows);
    ASSERT_EQ(a.segments.size(), b.segments.size());
    for (std::size_t index = 0; index < a.segments.size(); ++index) {
        EXPECT_EQ(a.segments[index].file_offset, b.segments[index].file_offset);
        EXPECT_EQ(a.segments[index].address, b.segments[index].address);
        EXPECT_EQ(a.segments[index].size_bytes, b.segments[index].size_bytes);
    }
}

std::filesystem::path only_file_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? std::filesystem::path{} : files.front();
}

TEST(UnwindCache, GivesBackWhatWasStored) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "made" / "for it";
    const auto cache = open_cache(path);
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    EXPECT_EQ(cache.load("abc").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(cache.size_bytes(), 0U);
    const auto small = small_table();
    const auto large = table_of_file("/lib/x86_64-linux-gnu/libc.so.6");
    ASSERT_TRUE(large);
    ASSERT_TRUE(cache.store("abc", small));
    ASSERT_TRUE(cache.store("0123-def", *large));
    const auto other = open_cache(path);
    const auto small_again = other.load("abc");
    ASSERT_TRUE(small_again) << small_again.error().message;
    expect_same(*small_again, small);
    const auto large_again = other.load("0123-def");
    ASSERT_TRUE(large_again) << large_again.error().message;
    expect_same(*large_again, *large);
    EXPECT_GT(other.size_bytes(), small.size_bytes() + large->size_bytes());
    EXPECT_LT(other.size_bytes(), small.size_bytes() + large->size_bytes() + 1024);
    // Replaced by another table.
    const auto changed = small_table(9);
    ASSERT_TRUE(cache.store("abc", changed));
    expect_same(*other.load("abc"), changed);
}

TEST(UnwindCache, TakesKeysAloneThatAreNames) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    const auto table = small_table();
    for (const std::string& key :
         {std::string(), std::string("../up"), std::string("a/b"), std::string("ABC"),
          std::string("a.b"), std::string(129, 'a'), std::string("a\0b", 3)}) {
        EXPECT_EQ(cache.store(key, table).error().kind, ErrorKind::Invalid) << key;
        EXPECT_EQ(cache.load(key).error().kind, ErrorKind::Invalid) << key;
    }
    EXPECT_TRUE(cache.store(std::string(128, 'a'), table));
    EXPECT_TRUE(cache.load(std::string(128, 'a')));
}

// Changes any byte of a file in two ways: none of these files gives a table, and none is kept.
TEST(UnwindCache, ThrowsAwayAFileWithAnyByteChanged) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    ASSERT_TRUE(cache.store("key", small_table()));
    const auto path = only_file_of(folder.path());
    const std::string whole = content_of(path);
    for (std::size_t place = 0; place < whole.size(); ++place) {
        std::string bytes = whole;
        bytes[place] = static_cast<char>(bytes[place] ^ (place % 2 == 0 ? 0x01 : 0x80));
        write(path, bytes);
        const auto loaded = cache.load("key");
        ASSERT_FALSE(loaded) << place;
        ASSERT_EQ(loaded.error().kind, ErrorKind::Invalid) << place;
        ASSERT_FALSE(std::filesystem::exists(path)) << place;
    }
    write(path, whole);
    EXPECT_TRUE(cache.load("key"));
}

TEST(UnwindCache, ThrowsAwayATornFile) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    ASSERT_TRUE(cache.store("key", small_table()));
    const auto path = only_file_of(folder.path());
    const std::string whole = content_of(path);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 4) {
        write(path, whole.substr(0, size));
        EXPECT_EQ(cache.load("key").error().kind, ErrorKind::Invalid) << size;
    }
    write(path, whole + '\0');
    EXPECT_EQ(cache.load("key").error().kind, ErrorKind::Invalid);
    write(path, whole);
    std::filesystem::rename(path, folder.path() / "another.unwind");
    const auto another = cache.load("another");
    EXPECT_THAT(another.error().message,
                HasSubstr("is the table of a different file; it was removed"));
    std::filesystem::create_directory(path);
    EXPECT_EQ(cache.load("key").error().kind, ErrorKind::Invalid);
}

TEST(UnwindCache, SaysWhatIsWrongWithAFile) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    ASSERT_TRUE(cache.store("key", small_table()));
    const auto path = only_file_of(folder.path());
    const std::string whole = content_of(path);
    const auto problem = [&](const std::string& bytes) {
        write(path, bytes);
        const auto loaded = cache.load("key");
        if (loaded) return std::string();
        const std::string& message = loaded.error().message;
        EXPECT_EQ(message.substr(0, path.string().size() + 2), path.string() + ": ");
        return message.substr(path.string().size() + 2);
    };
    const auto changed = [&](std::size_t place) {
        std::string bytes = whole;
        bytes[place] = static_cast<char>(bytes[place] ^ 1);
        return problem(bytes);
    };
    EXPECT_EQ(problem(whole), "");
    EXPECT_EQ(problem(whole.substr(0, 191)), "is shorter than its header; it was removed");
    EXPECT_EQ(changed(0), "is not an unwind table; it was removed");
    EXPECT_EQ(changed(8), "has version 5; 4 is known; it was removed");
    EXPECT_EQ(changed(12), "has a wrong checksum; it was removed");
    EXPECT_EQ(changed(16), "is the table of a different file; it was removed");
    EXPECT_EQ(problem(whole + "x"), "has inconsistent sizes; it was removed");
    EXPECT_EQ(changed(whole.size() - 1), "has a wrong checksum; it was removed");
    UnwindTable outside = small_table();
    reinterpret_cast<lagtrap_unwind_bucket*>(outside.pages.data())->first_row = 0;
    ASSERT_TRUE(cache.store("key", outside));
    EXPECT_EQ(problem(content_of(path)), "has positions outside the table; it was removed");
    std::filesystem::create_directory(path);
    EXPECT_EQ(cache.load("key").error().message.find(path.string() +
                                                     ": is not a regular file of at most "),
              0U);
}

TEST(UnwindCache, SaysWhatItDoesNotStore) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path(), 1000);
    const auto table = small_table();
    EXPECT_EQ(cache.store("A", table).error().message,
              "key of an unwind table with 1 characters; 1 to 128 lower-case letters, digits and "
              "'-' are allowed");
    const std::uint64_t bytes = 192 + 24 * table.segments.size() + table.size_bytes();
    const auto large = cache.store("key", table);
    EXPECT_EQ(large.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(large.error().message, "an unwind table of " + std::to_string(bytes) + " bytes; " +
                                         folder.path().string() + " may take 1000");
    EXPECT_TRUE(open_cache(folder.path(), bytes).store("key", table));
    UnwindTable odd = table;
    odd.pages.pop_back();
    EXPECT_EQ(cache.store("key", odd).error().message,
              "not keeping an unwind table with inconsistent sizes");
}

// A table with positions outside it but a valid checksum, as somebody who can write to the folder
// could make it.
TEST(UnwindCache, ChecksEveryPosition) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    const auto whole = small_table();
    ASSERT_EQ(whole.rule_page, 1U);
    ASSERT_EQ(whole.row_page, 2U);
    ASSERT_EQ(whole.page_count, 3U);
    const auto loads = [&](auto change) {
        UnwindTable table = whole;
        change(table);
        EXPECT_TRUE(cache.store("key", table));
        const auto loaded = cache.load("key");
        return loaded.ok();
    };
    const auto bucket = [](UnwindTable& table) -> lagtrap_unwind_bucket& {
        return *reinterpret_cast<lagtrap_unwind_bucket*>(table.pages.data());
    };
    const auto row = [](UnwindTable& table, std::size_t index) -> std::uint32_t& {
        return reinterpret_cast<std::uint32_t*>(table.pages.data() + 2 * 512)[index];
    };
    EXPECT_TRUE(loads([](UnwindTable&) {}));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).first_row = 0; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).first_row = 3 * 1024; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).first_row = 0xffffffff; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).first_row += 1020; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).row_count = 0xffffffff; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { bucket(table).row_count += 1; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { row(table, 0) |= 1 << 22; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { std::swap(row(table, 1), row(table, 2)); }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { row(table, 1) |= 512; }));
    EXPECT_FALSE(loads([&](UnwindTable& table) { table.pages[512 + 1] |= 0x0fULL << 48; }));
    EXPECT_FALSE(loads([](UnwindTable& table) { ++table.row_count; }));
    EXPECT_FALSE(loads([](UnwindTable& table) { table.unsupported_rows = table.row_count + 1; }));
}

TEST(UnwindCache, DoesNotStoreWhatIsNoTable) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    const auto kind = [&](auto change) {
        UnwindTable table = small_table();
        change(table);
        return cache.store("key", table).error().kind;
    };
    EXPECT_EQ(kind([](UnwindTable& table) { table.segments.clear(); }), ErrorKind::Invalid);
    EXPECT_EQ(kind([](UnwindTable& table) { table.pages.pop_back(); }), ErrorKind::Invalid);
    EXPECT_EQ(kind([](UnwindTable& table) { table.bucket_count = 513; }), ErrorKind::Invalid);
    EXPECT_EQ(kind([](UnwindTable& table) { table.row_page = table.page_count + 1; }),
              ErrorKind::Invalid);
    EXPECT_EQ(cache.size_bytes(), 0U);
}

void set_age(const std::filesystem::path& path, std::chrono::seconds age) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
}

TEST(UnwindCache, DropsWhatWasNotUsedForLongest) {
    const TemporaryFolder folder;
    const auto table = small_table();
    ASSERT_TRUE(open_cache(folder.path()).store("first", table));
    const std::uint64_t each = open_cache(folder.path()).size_bytes();
    const auto cache = open_cache(folder.path(), 3 * each + each / 2);
    ASSERT_TRUE(cache.store("second", table));
    ASSERT_TRUE(cache.store("third", table));
    set_age(folder.path() / "first.unwind", 30h);
    set_age(folder.path() / "second.unwind", 20h);
    set_age(folder.path() / "third.unwind", 10h);
    // Neither a replaced table of the same name nor somebody else's file counts.
    write(folder.path() / "notes", std::string(each * 4, 'x'));
    ASSERT_TRUE(cache.store("third", table));
    EXPECT_TRUE(cache.load("first"));  // now used
    EXPECT_EQ(cache.size_bytes(), 3 * each);
    ASSERT_TRUE(cache.store("fourth", table));
    EXPECT_EQ(cache.load("second").error().kind, ErrorKind::NotFound);
    EXPECT_TRUE(cache.load("first"));
    EXPECT_TRUE(cache.load("third"));
    EXPECT_TRUE(cache.load("fourth"));
    EXPECT_EQ(cache.size_bytes(), 3 * each);
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "notes"));
    EXPECT_EQ(open_cache(folder.path(), each - 1).store("fifth", table).error().kind,
              ErrorKind::TooLarge);
    EXPECT_EQ(cache.size_bytes(), 3 * each);
}

TEST(UnwindCache, NotesItsUseOnceAnHour) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    ASSERT_TRUE(cache.store("key", small_table()));
    const auto path = only_file_of(folder.path());
    const auto age = [&] {
        return std::filesystem::file_time_type::clock::now() -
               std::filesystem::last_write_time(path);
    };
    set_age(path, 50min);
    ASSERT_TRUE(cache.load("key"));
    EXPECT_GE(age(), 50min);
    set_age(path, 70min);
    ASSERT_TRUE(cache.load("key"));
    EXPECT_LT(age(), 50min);
}

TEST(UnwindCache, RemovesWhatWasLeftHalfWritten) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    write(folder.path() / "old.unwind.AbCdEf", "half");
    set_age(folder.path() / "old.unwind.AbCdEf", 2h);
    write(folder.path() / "new.unwind.AbCdEf", "half");
    ASSERT_TRUE(cache.store("key", small_table()));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "old.unwind.AbCdEf"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "new.unwind.AbCdEf"));
}

TEST(UnwindCache, RefusesAFolderThatOthersMayWriteTo) {
    const TemporaryFolder folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
    const auto cache = UnwindCache::open(folder.path(), roomy);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().kind, ErrorKind::Denied);
    EXPECT_EQ(cache.error().message,
              folder.path().string() +
                  ": others can write to this folder, so its unwind tables cannot be trusted; use "
                  "a folder of mode 0700");
    for (const mode_t mode : {0720, 0702}) {
        ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
        EXPECT_FALSE(UnwindCache::open(folder.path(), roomy)) << mode;
    }
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
    EXPECT_TRUE(UnwindCache::open(folder.path(), roomy));
    write(folder.path() / "file", "");
    EXPECT_FALSE(UnwindCache::open(folder.path() / "file", roomy));
}

// Two processes keep replacing the same two tables: each load finds one of them intact.
TEST(UnwindCache, ServesSeveralProcesses) {
    const TemporaryFolder folder;
    const auto cache = open_cache(folder.path());
    const auto a = small_table(3);
    const auto b = small_table(200);
    ASSERT_TRUE(cache.store("key", a));
    const auto work = [&](unsigned rounds) {
        for (unsigned round = 0; round < rounds; ++round) {
            if (!cache.store("key", round % 2 == 0 ? b : a)) return false;
            const auto loaded = cache.load("key");
            if (!loaded || (loaded->pages != a.pages && loaded->pages != b.pages)) return false;
        }
        return true;
    };
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(work(400) ? 0 : 1);
    EXPECT_TRUE(work(400));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(only_file_of(folder.path()), folder.path() / "key.unwind");
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_cache_test
