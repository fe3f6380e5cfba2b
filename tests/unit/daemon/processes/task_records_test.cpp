#include "daemon/processes/task_records.hpp"

#include <linux/perf_event.h>

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon::task_records_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t at_ns = 7'000;
constexpr std::uint16_t cpu = 3;

// A record of the kernel, with the identity of its sample at the end.
class KernelRecord {
  public:
    explicit KernelRecord(std::uint32_t type, std::uint16_t misc = 0) {
        header_.type = type;
        header_.misc = misc;
    }
    template <typename Number>
    KernelRecord& add(Number number) {
        body_.append(reinterpret_cast<const char*>(&number), sizeof(number));
        return *this;
    }
    // With the final 0, up to a multiple of 8 bytes.
    KernelRecord& text(std::string text) {
        text.resize((text.size() / 8 + 1) * 8);
        body_ += text;
        return *this;
    }
    [[nodiscard]] std::string bytes() const {
        KernelRecord whole = *this;
        whole.add(std::uint32_t{77}).add(std::uint32_t{78}).add(at_ns).add(std::uint64_t{9});
        return whole.without_sample();
    }
    [[nodiscard]] std::string without_sample() const {
        perf_event_header header = header_;
        header.size = static_cast<std::uint16_t>(sizeof(header) + body_.size());
        return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + body_;
    }

  private:
    perf_event_header header_{};
    std::string body_;
};

KernelRecord mapping(std::uint16_t misc = 0) {
    KernelRecord record(PERF_RECORD_MMAP2, misc);
    record.add(std::uint32_t{7}).add(std::uint32_t{8});
    record.add(std::uint64_t{0x1000}).add(std::uint64_t{0x2000}).add(std::uint64_t{0x3000});
    return record;
}

struct Taken {
    RecordBuffer records;
    std::uint64_t lost = 0;

    explicit Taken(const std::string& bytes) {
        lost =
            take_task_record(bytes.data(), bytes.size(), cpu, [this](const lagtrap_record* record) {
                records.append(record, record->size_bytes, {});
            });
    }
    // The only record.
    template <typename Record>
    [[nodiscard]] const Record& as(std::uint16_t type) const {
        const lagtrap_record* found = nullptr;
        records.for_each([&](const lagtrap_record* record) {
            EXPECT_EQ(found, nullptr);
            found = record;
        });
        EXPECT_NE(found, nullptr);
        static const Record none{};
        if (found == nullptr) return none;
        EXPECT_EQ(found->type, type);
        EXPECT_EQ(found->cpu, cpu);
        EXPECT_EQ(found->at_ns, at_ns);
        return *reinterpret_cast<const Record*>(found);
    }
};

TEST(TaskRecords, AMappingHasItsFile) {
    const Taken taken(mapping()
                          .add(std::uint32_t{8})
                          .add(std::uint32_t{3})
                          .add(std::uint64_t{1234})
                          .add(std::uint64_t{0})
                          .add(std::uint32_t{5})
                          .add(std::uint32_t{2})
                          .text("/usr/bin/app")
                          .bytes());
    const auto& made = taken.as<lagtrap_mapping>(LAGTRAP_RECORD_MAPPING);
    EXPECT_EQ(made.pid, 7U);
    EXPECT_EQ(made.start, 0x1000U);
    EXPECT_EQ(made.length, 0x2000U);
    EXPECT_EQ(made.file_offset, 0x3000U);
    EXPECT_EQ(made.device, std::uint64_t{8} << 32 | 3);
    EXPECT_EQ(made.inode, 1234U);
    EXPECT_EQ(made.build_id_bytes, 0U);
    EXPECT_EQ(path_of(made), "/usr/bin/app");
    EXPECT_EQ(taken.lost, 0U);
}

TEST(TaskRecords, AMappingMayHaveABuildIdInstead) {
    KernelRecord record = mapping(PERF_RECORD_MISC_MMAP_BUILD_ID);
    record.add(std::uint8_t{20}).add(std::uint8_t{0}).add(std::uint16_t{0});
    for (std::uint8_t byte = 1; byte <= 20; ++byte) record.add(byte);
    record.add(std::uint32_t{5}).add(std::uint32_t{2}).text("/usr/bin/app");
    const Taken taken(record.bytes());
    const auto& made = taken.as<lagtrap_mapping>(LAGTRAP_RECORD_MAPPING);
    ASSERT_EQ(made.build_id_bytes, 20U);
    EXPECT_EQ(made.build_id[0], 1);
    EXPECT_EQ(made.build_id[19], 20);
    EXPECT_EQ(made.device, 0U);
    EXPECT_EQ(made.inode, 0U);
    EXPECT_EQ(path_of(made), "/usr/bin/app");
}

TEST(TaskRecords, ABuildIdIsNotLongerThanItsRoom) {
    KernelRecord record = mapping(PERF_RECORD_MISC_MMAP_BUILD_ID);
    record.add(std::uint8_t{200}).add(std::uint8_t{0}).add(std::uint16_t{0});
    for (std::uint8_t byte = 1; byte <= 20; ++byte) record.add(byte);
    record.add(std::uint64_t{0}).text("/a");
    EXPECT_EQ(Taken(record.bytes()).as<lagtrap_mapping>(LAGTRAP_RECORD_MAPPING).build_id_bytes,
              20U);
}

TEST(TaskRecords, ATruncatedMappingIsIgnored) {
    const std::string whole =
        mapping().add(std::uint64_t{0}).add(std::uint64_t{0}).add(std::uint64_t{0}).bytes();
    EXPECT_THAT(Taken(whole).records.bytes(), IsEmpty()) << "its protection is missing";
    const std::string without_name = mapping()
                                         .add(std::uint64_t{0})
                                         .add(std::uint64_t{0})
                                         .add(std::uint64_t{0})
                                         .add(std::uint64_t{0})
                                         .bytes();
    EXPECT_EQ(path_of(Taken(without_name).as<lagtrap_mapping>(LAGTRAP_RECORD_MAPPING)), "");
}

TEST(TaskRecords, ANameSaysWhetherAProgramWasStarted) {
    const auto named = [](std::uint16_t misc, const char* text) {
        return KernelRecord(PERF_RECORD_COMM, misc)
            .add(std::uint32_t{7})
            .add(std::uint32_t{8})
            .text(text)
            .bytes();
    };
    const Taken renamed(named(0, "worker")), started(named(PERF_RECORD_MISC_COMM_EXEC, "app"));
    const auto& name = renamed.as<lagtrap_name>(LAGTRAP_RECORD_NAME);
    EXPECT_EQ(name.pid, 7U);
    EXPECT_EQ(name.tid, 8U);
    EXPECT_EQ(name.by_exec, 0U);
    EXPECT_STREQ(name.comm, "worker");
    EXPECT_EQ(started.as<lagtrap_name>(LAGTRAP_RECORD_NAME).by_exec, 1U);
    const Taken longest(named(0, "a-name-of-more-than-fifteen"));
    EXPECT_STREQ(longest.as<lagtrap_name>(LAGTRAP_RECORD_NAME).comm, "a-name-of-more-");
}

TEST(TaskRecords, ForksAndExitsNameBothTasks) {
    const auto change = [](std::uint32_t type) {
        return KernelRecord(type)
            .add(std::uint32_t{7})
            .add(std::uint32_t{6})
            .add(std::uint32_t{17})
            .add(std::uint32_t{16})
            .add(at_ns)
            .bytes();
    };
    const Taken forked(change(PERF_RECORD_FORK)), ended(change(PERF_RECORD_EXIT));
    const auto& fork = forked.as<lagtrap_task_change>(LAGTRAP_RECORD_FORK);
    EXPECT_EQ(fork.pid, 7U);
    EXPECT_EQ(fork.parent_pid, 6U);
    EXPECT_EQ(fork.tid, 17U);
    EXPECT_EQ(fork.parent_tid, 16U);
    EXPECT_EQ(ended.as<lagtrap_task_change>(LAGTRAP_RECORD_EXIT).tid, 17U);
}

TEST(TaskRecords, LossesAreCounted) {
    const KernelRecord lost =
        KernelRecord(PERF_RECORD_LOST).add(std::uint64_t{5}).add(std::uint64_t{42});
    EXPECT_EQ(Taken(lost.bytes()).lost, 42U);
    EXPECT_THAT(Taken(lost.bytes()).records.bytes(), IsEmpty());
    EXPECT_EQ(Taken(lost.without_sample()).lost, 42U);
    EXPECT_EQ(Taken(KernelRecord(PERF_RECORD_LOST).add(std::uint64_t{5}).without_sample()).lost,
              0U);
}

TEST(TaskRecords, OthersAndTruncatedOnesAreIgnored) {
    EXPECT_THAT(
        Taken(KernelRecord(PERF_RECORD_SAMPLE).add(std::uint64_t{1}).bytes()).records.bytes(),
        IsEmpty());
    for (const std::uint32_t type :
         {PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT}) {
        EXPECT_THAT(
            Taken(KernelRecord(type).add(std::uint64_t{1}).without_sample()).records.bytes(),
            IsEmpty());
    }
    EXPECT_THAT(Taken(KernelRecord(PERF_RECORD_COMM).bytes()).records.bytes(), IsEmpty());
}

// A ring of 64 bytes, with records of which each contains its number.
class ARing : public testing::Test {
  protected:
    static constexpr std::size_t ring_bytes = 64;

    std::uint64_t put(std::uint64_t at, std::uint64_t number, std::uint16_t size = 24) {
        std::string record(size, '\0');
        perf_event_header header{};
        header.size = size;
        std::memcpy(record.data(), &header, sizeof(header));
        std::memcpy(record.data() + size - 8, &number, 8);
        for (std::size_t i = 0; i < record.size(); ++i) ring_[(at + i) % ring_bytes] = record[i];
        return at + size;
    }
    std::uint64_t read(std::uint64_t head, std::uint64_t tail) {
        numbers_.clear();
        return reader_.read(ring_, ring_bytes, head, tail,
                            [this](const char* record, std::size_t bytes) {
                                std::uint64_t number = 0;
                                std::memcpy(&number, record + bytes - 8, 8);
                                numbers_.push_back(number);
                            });
    }
    alignas(8) char ring_[ring_bytes]{};
    PerfRing reader_;
    std::vector<std::uint64_t> numbers_;
};

TEST_F(ARing, PassesEachRecordOnce) {
    const std::uint64_t head = put(put(0, 1), 2, 16);
    EXPECT_EQ(read(head, 0), head);
    EXPECT_THAT(numbers_, ElementsAre(1, 2));
    EXPECT_EQ(read(head, head), head);
    EXPECT_THAT(numbers_, IsEmpty());
}

TEST_F(ARing, JoinsARecordThatWraps) {
    const std::uint64_t tail = 48, head = put(put(tail, 5), 6);
    EXPECT_EQ(read(head, tail), head);
    EXPECT_THAT(numbers_, ElementsAre(5, 6));
}

TEST_F(ARing, ARecordMayEndWithTheRing) {
    const std::uint64_t tail = 40, head = put(tail, 5);
    EXPECT_EQ(head, ring_bytes);
    EXPECT_EQ(read(head, tail), head);
    EXPECT_THAT(numbers_, ElementsAre(5));
}

TEST_F(ARing, StopsAtNonsense) {
    const std::uint64_t second = put(0, 1);
    (void)put(second, 2);
    EXPECT_EQ(read(second + 16, 0), second) << "longer than what is there";
    EXPECT_THAT(numbers_, ElementsAre(1));
    perf_event_header header{};
    header.size = 7;
    std::memcpy(ring_ + second, &header, sizeof(header));
    EXPECT_EQ(read(second + 24, 0), second) << "shorter than a header";
    EXPECT_EQ(read(7, 0), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::task_records_test
