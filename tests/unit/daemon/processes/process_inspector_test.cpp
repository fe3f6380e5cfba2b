#include "daemon/processes/process_inspector.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::process_inspector_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t nobody = 0x7fffffff;  // no process has this number

class MemoryOfThisProcess : public testing::Test {
  protected:
    [[nodiscard]] static std::uint64_t address_of(const void* place) {
        return reinterpret_cast<std::uint64_t>(place);
    }
    const std::uint32_t own_ = static_cast<std::uint32_t>(::getpid());
    DirectInspector inspector_;
};

TEST_F(MemoryOfThisProcess, IsReadWholeOrNotAtAll) {
    const char text[] = "some text";
    EXPECT_EQ(inspector_.read_memory(own_, address_of(text), 9).value(), "some text");
    EXPECT_EQ(inspector_.read_memory(own_, 8, 1).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(inspector_.read_memory(nobody, address_of(text), 9).error().kind,
              ErrorKind::Vanished);
    const std::string largest(inspected_memory_limit_bytes, 'x');
    EXPECT_EQ(inspector_.read_memory(own_, address_of(largest.data()), largest.size()).value(),
              largest);
    EXPECT_EQ(
        inspector_.read_memory(own_, address_of(largest.data()), largest.size() + 1).error().kind,
        ErrorKind::TooLarge);
}

TEST_F(MemoryOfThisProcess, WordsThatCannotBeReadAreZero) {
    const std::uint64_t one = 11, two = 22;
    EXPECT_THAT(inspector_.read_words(own_, {address_of(&one), 8, address_of(&two)}).value(),
                ElementsAre(11, 0, 22));
    EXPECT_THAT(inspector_.read_words(own_, {}).value(), IsEmpty());
    const auto gone = inspector_.read_words(nobody, {address_of(&one)});
    EXPECT_EQ(gone.error().kind, ErrorKind::Vanished);
    EXPECT_EQ(gone.error().message, "the process is gone");
    const auto many = inspector_.read_words(own_, std::vector<std::uint64_t>(262'145));
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(many.error().message, "262145 words of memory requested; the limit is 262144");
}

class MadeUpFiles : public testing::Test {
  protected:
    void write(const std::string& name, const std::string& content) const {
        std::filesystem::create_directories((folder_.path() / name).parent_path());
        std::ofstream(folder_.path() / name) << content;
    }
    // A mapping of the file in process 77, of which nothing but its memory map is known.
    [[nodiscard]] NamedMapping mapping_of(const std::string& name, std::uint64_t inode = 0) const {
        NamedMapping mapping;
        mapping.mapping.pid = 77;
        mapping.mapping.start = 0x10000;
        mapping.mapping.length = 0x1000;
        mapping.mapping.inode = inode;
        mapping.path = (folder_.path() / name).string();
        return mapping;
    }
    [[nodiscard]] ErrorKind refusal(const NamedMapping& mapping) {
        const auto identities = inspector_.identify({mapping});
        EXPECT_EQ(identities.size(), 1U);
        EXPECT_FALSE(identities.at(0)) << mapping.path;
        return identities.at(0) ? ErrorKind::System : identities.at(0).error().kind;
    }

    trace::TemporaryDirectory folder_;
    DirectInspector inspector_{folder_.path() / "proc"};
};

TEST_F(MadeUpFiles, MappingsAreReadUpToTheLimits) {
    std::string maps;
    for (int i = 1; i <= 4; ++i)
        maps += fmt::format("{:x}-{:x} r-xp 00001000 00:00 0 [name{}]\n", 0x10000 * i,
                            0x10000 * i + 0x1000, i);
    write("proc/77/maps", maps);
    const auto read = [&](const InspectionLimits& limits,
                          ProcessInspector::Code code = ProcessInspector::Code::Read) {
        const auto process = inspector_.read(77, code, limits).value();
        std::uint64_t mappings = 0;
        process.records.for_each([&](const lagtrap_record* record) {
            mappings += record->type == LAGTRAP_RECORD_MAPPING ? 1 : 0;
        });
        return std::pair(mappings, process.mappings_left_out);
    };
    const auto counts = [](std::uint64_t mappings, std::uint64_t left_out) {
        return std::pair(mappings, left_out);
    };
    InspectionLimits limits;
    EXPECT_EQ(read(limits), counts(4, 0));
    EXPECT_EQ(read(limits, ProcessInspector::Code::Left), counts(0, 0));
    limits.mappings = 4;
    EXPECT_EQ(read(limits), counts(4, 0));
    limits.mappings = 3;
    EXPECT_EQ(read(limits), counts(3, 1));
    limits.text_bytes = 2 * 7;
    EXPECT_EQ(read(limits), counts(2, 2));
    limits.text_bytes = 2 * 7 - 1;
    EXPECT_EQ(read(limits), counts(1, 3));
}

TEST_F(MadeUpFiles, AreIdentifiedByWhatIsThereNow) {
    write("library", "0123456789");
    struct stat facts {};
    ASSERT_EQ(::stat((folder_.path() / "library").c_str(), &facts), 0);
    const auto identities =
        inspector_.identify({mapping_of("library", facts.st_ino), mapping_of("missing"),
                             mapping_of("library (deleted)")});
    ASSERT_EQ(identities.size(), 3U);
    ASSERT_TRUE(identities[0]) << identities[0].error().message;
    EXPECT_EQ(identities[0]->inode, facts.st_ino);
    EXPECT_EQ(identities[0]->size_bytes, 10U);
    EXPECT_EQ(identities[0]->changed_ns,
              facts.st_ctim.tv_sec * 1'000'000'000LL + facts.st_ctim.tv_nsec);
    EXPECT_FALSE(identities[1]);
    ASSERT_TRUE(identities[2]);
    EXPECT_EQ(identities[2]->inode, facts.st_ino);
    EXPECT_EQ(refusal(mapping_of("library", facts.st_ino + 1)), ErrorKind::Vanished);
    EXPECT_EQ(refusal(mapping_of("missing")), ErrorKind::NotFound);
    std::filesystem::create_directory(folder_.path() / "folder");
    EXPECT_EQ(refusal(mapping_of("folder")), ErrorKind::Denied);
    NamedMapping other = mapping_of("library");
    for (const char* path : {"//anon", "[vdso]", ""}) {
        other.path = path;
        EXPECT_EQ(refusal(other), ErrorKind::Denied) << path;
    }
}

TEST_F(MadeUpFiles, AreOpenedIfTheyMay) {
    // The head of a little-endian ELF file of type ET_DYN.
    const std::string program("\x7f\x45LF\2\1\1\0\0\0\0\0\0\0\0\0\3\0", 18);
    write("library", program);
    write("text", "no program");
    const auto opened = inspector_.open(mapping_of("library"));
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(opened->is_program);
    EXPECT_EQ(opened->identity.size_bytes, 18U);
    EXPECT_EQ(read_all(opened->file.get(), 100).value(), program);
    EXPECT_FALSE(inspector_.open(mapping_of("text"))->is_program);
    std::vector<std::uint64_t> asked;
    DirectInspector careful(folder_.path() / "proc", [&](std::uint64_t device) -> Status {
        asked.push_back(device);
        return make_error(ErrorKind::Unsupported, "not this one");
    });
    const auto refused = careful.open(mapping_of("library"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "not this one");
    EXPECT_THAT(asked, ElementsAre(opened->identity.device));
    EXPECT_TRUE(careful.identify({mapping_of("library")}).at(0)) << "nothing is opened";
    EXPECT_EQ(asked.size(), 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::process_inspector_test
