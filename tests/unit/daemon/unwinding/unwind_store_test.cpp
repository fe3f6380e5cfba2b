#include "daemon/unwinding/unwind_store.hpp"

#include <cstring>
#include <vector>

#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::unwind_store_test {
namespace {

constexpr std::uint64_t region_bytes =
    std::uint64_t{LAGTRAP_UNWIND_REGION_PAGES} * LAGTRAP_UNWIND_PAGE_BYTES;
constexpr std::uint32_t blocks_per_page = LAGTRAP_UNWIND_PAGE_BYTES / LAGTRAP_UNWIND_BLOCK_BYTES;

class UnwindStoreTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (!IsSkipped()) make(2 * region_bytes);
    }
    void make(std::uint64_t budget_bytes) {
        auto made = UnwindStore::create(budget_bytes);
        ASSERT_TRUE(made) << made.error().message;
        store_ = std::move(*made);
    }
    static binaries::UnwindTable table_of(std::uint32_t pages, std::uint64_t content = 0) {
        binaries::UnwindTable table;
        table.page_count = pages;
        table.bucket_count = 3;
        table.rule_page = 1;
        table.pages.assign(std::size_t{pages} * LAGTRAP_UNWIND_PAGE_BYTES / 8, content);
        return table;
    }
    [[nodiscard]] lagtrap_unwind_table entry(std::uint32_t table) const {
        lagtrap_unwind_table found{};
        EXPECT_EQ(bpf_map_lookup_elem(store_->tables_fd(), &table, &found), 0);
        return found;
    }
    // A page as the programs in the kernel read it.
    [[nodiscard]] std::vector<std::uint64_t> page(std::uint32_t number) const {
        const __u32 region = number / LAGTRAP_UNWIND_REGION_PAGES;
        const __u32 in_region = number % LAGTRAP_UNWIND_REGION_PAGES;
        __u32 id = 0;
        EXPECT_EQ(bpf_map_lookup_elem(store_->regions_fd(), &region, &id), 0);
        const UniqueFd map(bpf_map_get_fd_by_id(id));
        std::vector<std::uint64_t> words(LAGTRAP_UNWIND_PAGE_BYTES / 8);
        EXPECT_EQ(bpf_map_lookup_elem(map.get(), &in_region, words.data()), 0);
        return words;
    }
    [[nodiscard]] std::optional<lagtrap_unwind_space> process(std::uint32_t pid) const {
        lagtrap_unwind_space found{};
        if (bpf_map_lookup_elem(store_->processes_fd(), &pid, &found) != 0) return std::nullopt;
        return found;
    }
    static std::vector<lagtrap_unwind_mapping> mappings(std::size_t count) {
        std::vector<lagtrap_unwind_mapping> made(count);
        for (std::size_t i = 0; i < count; ++i) made[i].start = 1 + i;
        return made;
    }

    std::unique_ptr<UnwindStore> store_;
};

TEST_F(UnwindStoreTest, RuntimeCodeIsWalkedByFramePointers) {
    EXPECT_EQ(entry(LAGTRAP_UNWIND_RUNTIME_CODE).state,
              std::uint32_t{LAGTRAP_UNWIND_TABLE_FRAME_POINTERS});
    EXPECT_EQ(store_->used_bytes(), 0U);
    EXPECT_EQ(store_->taken_bytes(), 0U);
    EXPECT_EQ(store_->budget_bytes(), 2 * region_bytes);
}

TEST_F(UnwindStoreTest, ATableIsReadyOnceItIsFilled) {
    const auto table = store_->new_table();
    ASSERT_TRUE(table);
    EXPECT_EQ(*table, std::uint32_t{LAGTRAP_UNWIND_FIRST_FILE});
    EXPECT_EQ(store_->new_table(), *table + 1);
    ASSERT_TRUE(store_->fill(*table, table_of(1, 11)));
    ASSERT_TRUE(store_->fill(*table + 1, table_of(2, 22)));
    EXPECT_EQ(entry(*table).state, std::uint32_t{LAGTRAP_UNWIND_TABLE_READY});
    EXPECT_EQ(entry(*table).bucket_count, 3U);
    EXPECT_EQ(entry(*table).rule_page, 1U);
    EXPECT_EQ(entry(*table).page_count, 1U);
    EXPECT_EQ(page(entry(*table).first_page).front(), 11U);
    EXPECT_EQ(page(entry(*table + 1).first_page + 1).back(), 22U);
    EXPECT_EQ(store_->used_bytes(), 3 * LAGTRAP_UNWIND_PAGE_BYTES);
    EXPECT_EQ(store_->taken_bytes(), region_bytes);
}

TEST_F(UnwindStoreTest, ADroppedTableIsMissingAndItsNumberIsUsedAgain) {
    const std::uint32_t table = store_->new_table().value();
    ASSERT_TRUE(store_->fill(table, table_of(1)));
    store_->drop_table(table);
    EXPECT_EQ(entry(table).state, std::uint32_t{LAGTRAP_UNWIND_TABLE_MISSING});
    EXPECT_EQ(store_->used_bytes(), 0U);
    EXPECT_EQ(store_->new_table(), table);
    store_->drop_table(table);
    EXPECT_EQ(store_->used_bytes(), 0U) << "it was not filled";
}

TEST_F(UnwindStoreTest, ATableMayContinueInTheNextRegion) {
    const std::uint32_t first = store_->new_table().value(), second = store_->new_table().value();
    ASSERT_TRUE(store_->fill(first, table_of(LAGTRAP_UNWIND_REGION_PAGES - 1)));
    ASSERT_TRUE(store_->fill(second, table_of(2, 33)));
    EXPECT_EQ(store_->taken_bytes(), 2 * region_bytes);
    EXPECT_EQ(entry(second).first_page, std::uint32_t{LAGTRAP_UNWIND_REGION_PAGES - 1});
    EXPECT_EQ(page(LAGTRAP_UNWIND_REGION_PAGES - 1).back(), 33U);
    EXPECT_EQ(page(LAGTRAP_UNWIND_REGION_PAGES).front(), 33U);
}

TEST_F(UnwindStoreTest, TheBudgetIsNotExceeded) {
    const std::uint32_t table = store_->new_table().value();
    EXPECT_FALSE(store_->fill(table, table_of(2 * LAGTRAP_UNWIND_REGION_PAGES + 1)));
    EXPECT_EQ(store_->taken_bytes(), 2 * region_bytes);
    EXPECT_NE(entry(table).state, std::uint32_t{LAGTRAP_UNWIND_TABLE_READY});
    EXPECT_TRUE(store_->fill(table, table_of(2 * LAGTRAP_UNWIND_REGION_PAGES)));
    EXPECT_FALSE(store_->add_space(mappings(1)));
    make(region_bytes - 1);
    EXPECT_FALSE(store_->fill(store_->new_table().value(), table_of(1)));
}

TEST_F(UnwindStoreTest, WhileHeldNothingMoreIsAllocated) {
    ASSERT_TRUE(store_->add_space(mappings(1)));
    store_->hold(true);
    EXPECT_EQ(store_->budget_bytes(), region_bytes);
    const std::uint32_t table = store_->new_table().value();
    EXPECT_TRUE(store_->fill(table, table_of(1))) << "there is room in what was allocated";
    EXPECT_FALSE(store_->fill(store_->new_table().value(), table_of(LAGTRAP_UNWIND_REGION_PAGES)));
    store_->hold(false);
    EXPECT_EQ(store_->budget_bytes(), 2 * region_bytes);
    EXPECT_TRUE(store_->fill(store_->new_table().value(), table_of(LAGTRAP_UNWIND_REGION_PAGES)));
}

TEST_F(UnwindStoreTest, ASpaceTakesBlocksOrWholePages) {
    constexpr std::size_t of_block = LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK;
    std::uint64_t before_bytes = 0;
    const auto blocks = [&](std::size_t count) {
        EXPECT_TRUE(store_->add_space(mappings(count)));
        const std::uint64_t used_bytes = store_->used_bytes();
        return (used_bytes - std::exchange(before_bytes, used_bytes)) / LAGTRAP_UNWIND_BLOCK_BYTES;
    };
    EXPECT_EQ(blocks(0), 1U);
    EXPECT_EQ(blocks(of_block), 1U);
    EXPECT_EQ(blocks(of_block + 1), 2U);
    EXPECT_EQ(blocks(2 * of_block), 2U);
    EXPECT_EQ(blocks(2 * of_block + 1), blocks_per_page);
    EXPECT_EQ(blocks(4 * of_block + 1), 2 * blocks_per_page);
}

TEST_F(UnwindStoreTest, ASpaceHasItsMappings) {
    ASSERT_TRUE(store_->add_space(mappings(1)));
    const auto space = store_->add_space(mappings(5));
    ASSERT_TRUE(space);
    EXPECT_EQ(space->mapping_count, 5U);
    const auto words = page(space->first_block / blocks_per_page);
    const std::size_t at = space->first_block % blocks_per_page * LAGTRAP_UNWIND_BLOCK_BYTES / 8;
    EXPECT_EQ(words[at], 1U);
    EXPECT_EQ(words[at + 4 * sizeof(lagtrap_unwind_mapping) / 8], 5U);
    const std::uint64_t used_bytes = store_->used_bytes();
    store_->drop_space(*space);
    EXPECT_EQ(store_->used_bytes(), used_bytes - LAGTRAP_UNWIND_BLOCK_BYTES);
}

TEST_F(UnwindStoreTest, ASpaceHasNoMoreMappingsThanTheProgramsRead) {
    const auto space = store_->add_space(mappings(LAGTRAP_UNWIND_MAX_MAPPINGS + 1));
    ASSERT_TRUE(space);
    EXPECT_EQ(space->mapping_count, std::uint32_t{LAGTRAP_UNWIND_MAX_MAPPINGS});
}

TEST_F(UnwindStoreTest, ProcessesHaveTheirSpaceUntilTheyAreDropped) {
    ASSERT_TRUE(store_->set_process(7, {1, 2}));
    ASSERT_TRUE(store_->set_process(8, {3, 4}));
    ASSERT_TRUE(process(7));
    EXPECT_EQ(process(7)->first_block, 1U);
    EXPECT_EQ(process(7)->mapping_count, 2U);
    ASSERT_TRUE(store_->set_process(7, {5, 6}));
    EXPECT_EQ(process(7)->first_block, 5U);
    store_->drop_process(7);
    EXPECT_FALSE(process(7));
    EXPECT_TRUE(process(8));
    ASSERT_TRUE(store_->set_process(9, {5, 6}));
    store_->drop_all_processes();
    EXPECT_FALSE(process(8));
    EXPECT_FALSE(process(9));
}

}  // namespace
}  // namespace lagtrap::daemon::unwind_store_test
