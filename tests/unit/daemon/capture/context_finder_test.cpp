#include "daemon/capture/context_finder.hpp"

#include <unistd.h>

#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/daemon/publisher_fixture.hpp"

namespace lagtrap::daemon::context_finder_test {
namespace {

using testing::ElementsAre;

std::uint64_t word_at(std::uint64_t address) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return word;
}

// As bpf/thread_context.bpf.h finds it.
std::uint64_t address_here(const lagtrap_context_place& place) {
    std::uint64_t thread = 0;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    const auto offset = static_cast<std::uint64_t>(place.offset);
    if (place.block == 0) return thread + offset;
    const std::uint64_t list = word_at(thread + 8);
    EXPECT_LE(place.block,
              word_at(list + static_cast<std::uint64_t>(std::int64_t{place.block_count_offset})));
    return word_at(list + std::uint64_t{place.block} * place.block_entry_bytes) + offset;
}

class CountsOpened : public DirectInspector {
  public:
    Result<OpenedFile> open(const NamedMapping& mapping) override {
        ++opened;
        return DirectInspector::open(mapping);
    }
    int opened = 0;
};

TEST(ContextFinderTest, FindsWhereThisProcessPublishes) {
    const Publisher& publisher = Publisher::of_this_process();
    CountsOpened inspector;
    ContextFinder finder(inspector);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const auto found = finder.find(pid);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(found->keys, ElementsAre("http.route", "secret", "tenant"));
    const auto compare = [&] {
        const std::uint64_t wanted = publisher.own_place();
        EXPECT_EQ(address_here(found->place), wanted);
    };
    compare();
    std::thread(compare).join();
    const int opened = inspector.opened;
    EXPECT_GT(opened, 1);
    EXPECT_TRUE(finder.find(pid));
    EXPECT_EQ(inspector.opened, opened) << "files are read once";
}

TEST(ContextFinderTest, FindsNothingInOtherProcesses) {
    DirectInspector inspector;
    ContextFinder finder(inspector);
    EXPECT_EQ(finder.find(1).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(finder.find(0x7fffffff).error().kind, ErrorKind::NotFound);
}

TEST(ContextFinderTest, KnowsTheListsOfBothCLibraries) {
    const lagtrap_context_place glibc = context_place({24, 3}, {"/usr/lib/libc.so.6"});
    EXPECT_EQ(glibc.offset, 24);
    EXPECT_EQ(glibc.block, 3U);
    EXPECT_EQ(glibc.block_entry_bytes, 16U);
    EXPECT_EQ(glibc.block_count_offset, -16);
    for (const char* const path : {"/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1"}) {
        const lagtrap_context_place musl = context_place({24, 3}, {"/usr/bin/app", path});
        EXPECT_EQ(musl.block_entry_bytes, 8U);
        EXPECT_EQ(musl.block_count_offset, 0);
    }
}

}  // namespace
}  // namespace lagtrap::daemon::context_finder_test
