// Copies of programs that a made-up process maps. Only the kernel's view of their files is real.
#include "daemon/events/copy_arming.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "daemon/processes/record_buffer.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::copy_arming_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// Of tests/unit/daemon/programs/deeply_inlined.cpp.
std::string program() { return build_folder() + "/daemon/daemon_deeply_inlined_program"; }

// Identifies and opens files of a folder by the paths of their mappings.
class Files : public DirectInspector {
  public:
    explicit Files(fs::path folder) : folder_(std::move(folder)) {}
    std::vector<Result<CodeFileIdentity>> identify(
        const std::vector<NamedMapping>& mappings) override {
        ++attempts;
        CodeFileIdentity identity;
        identity.inode = mappings.at(0).mapping.inode;
        return {identity};
    }
    Result<OpenedFile> open(const NamedMapping& mapping) override {
        opened.push_back(mapping.path);
        OpenedFile found;
        auto file =
            open_file(folder_ / fs::path(mapping.path).relative_path(), O_RDONLY | O_CLOEXEC);
        if (!file) return make_error(ErrorKind::Vanished, "it is gone");
        found.file = std::move(*file);
        return found;
    }

    std::vector<std::string> opened;
    std::size_t attempts = 0;  // each attempt to open a file begins with its identity

  private:
    fs::path folder_;
};

settings::Event event_of(const std::string& binary) {
    settings::Event event;
    event.begin.kind = event.end.kind = settings::MarkerKind::Function;
    event.begin.name = "main";
    event.end.name = "outermost_function";
    event.begin.binary = event.end.binary = binary;
    event.copies = true;
    return event;
}

class CopyArmingTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = fs::temp_directory_path() / "lagtrap-copies-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        files_.emplace(folder_);
        names_.emplace(folder_);
    }
    void TearDown() override {
        arming_.reset();
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    void watch(const std::vector<settings::Event>& events) {
        std::set<std::string> names;
        for (const settings::Event& event : events) names.insert(event.begin.binary);
        (void)mapped_.want(names);
        arming_.emplace(events, mapped_, *files_, *names_, stopped_);
    }
    // A file of this content, which this process is said to map under this path, or another one.
    void map(const std::string& path, const std::string& content,
             std::uint32_t pid = static_cast<std::uint32_t>(::getpid())) {
        const fs::path file = folder_ / fs::path(path).relative_path();
        fs::create_directories(file.parent_path());
        std::ofstream(file) << std::ifstream(content).rdbuf();
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.pid = pid;
        mapping.inode = ++last_inode_;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        RecordBuffer records;
        records.append(&mapping, sizeof(mapping), path);
        records.for_each([this](const lagtrap_record* record) { mapped_.take(record); });
        mapped_.done();
    }
    // Paths of the copies that status shows for an event.
    [[nodiscard]] std::vector<std::string> copies_of(std::uint32_t event) const {
        std::vector<std::string> paths;
        for (const CopyStatus& copy : arming_->of(event, true).copies) paths.push_back(copy.path);
        return paths;
    }
    // The attempts to attach, as pairs of event and copy, with this result.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> attempts(
        const std::set<std::uint32_t>& events, const Status& attached = success()) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> attempts;
        arming_->arm_missing(
            events, [&](std::uint32_t event, std::uint32_t copy, const EventPlan& plan) -> Status {
                EXPECT_THAT(plan.markers, SizeIs(2));
                attempts.emplace_back(event, copy);
                return attached;
            });
        return attempts;
    }

    fs::path folder_;
    std::optional<Files> files_;
    std::optional<ContainerNames> names_;
    MappedFiles mapped_{
        {.files_of_process = 300},
        [](std::uint32_t) -> std::optional<Party> { return root_party; },
    };
    const std::atomic<bool> stopped_{false};
    std::optional<CopyArming> arming_;
    std::uint64_t last_inode_ = 0;
};

TEST_F(CopyArmingTest, AFileOfAnotherBuildIdIsClosedAgainAndANamesakeOfAnEvent) {
    const auto build_id = binaries::ProgramFile::open(program()).value().build_id();
    ASSERT_FALSE(build_id.empty());
    watch({event_of("build-id:" + build_id), event_of("/usr/bin/shop")});
    map("/srv/renamed", program());
    map("/opt/shop", "/bin/true");
    const auto look = arming_->look({});
    EXPECT_THAT(files_->opened, ElementsAre("/srv/renamed", "/opt/shop"));
    ASSERT_THAT(look.opened, SizeIs(1));
    EXPECT_THAT(look.opened[0]->path(), HasSubstr("/srv/renamed"));
    EXPECT_THAT(copies_of(0), ElementsAre("/srv/renamed"));
    const auto namesake = arming_->of(1, true).namesake;
    ASSERT_TRUE(namesake);
    EXPECT_EQ(namesake->path, "/opt/shop");
    EXPECT_EQ(namesake->pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(namesake->processes, 1U);
}

TEST_F(CopyArmingTest, FilesBeyondThoseOfOneLookComeInTheNext) {
    watch({event_of("/*/shop")});
    for (int number = 0; number < 40; ++number)
        map("/opt/" + std::to_string(number) + "/shop", "/proc/version");
    EXPECT_THAT(arming_->look({}).opened, SizeIs(32));
    EXPECT_FALSE(arming_->is_up_to_date());
    EXPECT_TRUE(arming_->next_look());
    EXPECT_THAT(arming_->look({}).opened, SizeIs(8)) << "those of before are not new";
    EXPECT_TRUE(arming_->is_up_to_date());
    EXPECT_THAT(files_->opened, SizeIs(40));
    EXPECT_FALSE(arming_->next_look()) << "nothing is left to do";
    map("/opt/new/shop", "/proc/version");
    EXPECT_FALSE(arming_->is_up_to_date());
}

TEST_F(CopyArmingTest, IsDoneOnceItHasTriedToAttachWhatItFound) {
    watch({event_of("/*/shop")});
    EXPECT_TRUE(arming_->is_done());
    map("/opt/1/shop", program());
    EXPECT_FALSE(arming_->is_done());
    arming_->expect_look();
    EXPECT_THAT(arming_->look({}).opened, SizeIs(1));
    EXPECT_TRUE(arming_->is_up_to_date());
    EXPECT_FALSE(arming_->is_done()) << "the copy waits for its turn";
    EXPECT_THAT(attempts({0}, make_error(ErrorKind::Denied, "no")), SizeIs(1));
    EXPECT_TRUE(arming_->is_done());
}

TEST_F(CopyArmingTest, FilesWithoutRoomAreNotOpenedAndCountedOnce) {
    constexpr std::uint32_t nobody = 1U << 30;
    constexpr std::size_t share = CopyTable::Limits{}.open / UserShares::parts;
    watch({event_of("/*/shop")});
    for (std::size_t number = 0; number < share + 2; ++number)
        map("/opt/" + std::to_string(number) + "/shop", "/proc/version", nobody);
    std::size_t opened = 0;
    for (int look = 0; look < 10; ++look) opened += arming_->look({}).opened.size();
    EXPECT_TRUE(arming_->is_up_to_date());
    EXPECT_EQ(opened, share);
    EXPECT_THAT(files_->opened, SizeIs(share));
    EXPECT_THAT(arming_->left_out(), ElementsAre(Pair(unknown_party, 2)));
    const std::size_t with_second_attempts = files_->attempts + 2;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (files_->attempts < with_second_attempts && std::chrono::steady_clock::now() < end) {
        const auto next = arming_->next_look();
        ASSERT_TRUE(next) << "they are tried again";
        std::this_thread::sleep_for(*next);
        (void)arming_->look({});
    }
    EXPECT_GE(files_->attempts, with_second_attempts);
    EXPECT_THAT(arming_->left_out(), ElementsAre(Pair(unknown_party, 2)));
}

TEST_F(CopyArmingTest, AFileThatIsGoneIsLookedForAgain) {
    watch({event_of("/opt/shop")});
    map("/opt/shop", program());
    fs::remove(folder_ / "opt/shop");
    EXPECT_THAT(arming_->look({}).opened, IsEmpty());
    EXPECT_TRUE(arming_->next_look());
    EXPECT_FALSE(arming_->of(0, true).namesake);
}

TEST_F(CopyArmingTest, OnlyEventsThatAreArmedAreAttached) {
    watch({event_of("/opt/shop"), event_of("/opt/shop"), event_of("/opt/mill")});
    map("/opt/shop", program());
    (void)arming_->look({});
    EXPECT_THAT(attempts({1, 2}), ElementsAre(Pair(1, 1)));
    EXPECT_THAT(attempts({1, 2}), IsEmpty());
    EXPECT_EQ(arming_->of(1, true).files, 1U);
    EXPECT_EQ(arming_->of(1, true).processes, 1U);
    EXPECT_EQ(arming_->of(0, true).files, 0U);
    EXPECT_EQ(arming_->of(0, true).copies.at(0).problem, "waiting for its turn");
    arming_->note_left(1);
    EXPECT_THAT(attempts({0, 1, 2}), ElementsAre(Pair(0, 1), Pair(1, 1)));
}

TEST_F(CopyArmingTest, AnErrorIsShownButAnEventThatIsOffJustWaits) {
    watch({event_of("/opt/shop")});
    map("/opt/shop", program());
    (void)arming_->look({});
    const auto problem = [this] { return arming_->of(0, true).copies.at(0).problem; };
    EXPECT_THAT(attempts({0}, make_error(ErrorKind::Busy, "it is off")), SizeIs(1));
    EXPECT_EQ(problem(), "waiting for its turn");
    EXPECT_THAT(attempts({0}, make_error(ErrorKind::Denied, "no probe is left")), SizeIs(1));
    EXPECT_EQ(problem(), "no probe is left");
    EXPECT_THAT(attempts({0}), IsEmpty());
}

TEST_F(CopyArmingTest, ACopyWithoutItsFunctionsIsShownWithThem) {
    watch({event_of("/opt/shop")});
    map("/opt/shop", "/bin/true");
    (void)arming_->look({});
    EXPECT_THAT(attempts({0}), IsEmpty());
    EXPECT_THAT(arming_->of(0, true).copies.at(0).problem, HasSubstr("/opt/shop"));
}

TEST_F(CopyArmingTest, ACopyLeavesOnceItsFileIsWatchedByPath) {
    watch({event_of("/opt/shop")});
    map("/opt/shop", program());
    const auto opened = arming_->look({}).opened;
    ASSERT_THAT(opened, SizeIs(1));
    EXPECT_THAT(attempts({0}), ElementsAre(Pair(0, 1)));
    CopyArming::MainFiles main;
    main.opened = {WatchedFile::open(folder_ / "opt/shop").value()};
    EXPECT_FALSE(arming_->has_processes(*main.opened[0]));
    const auto look = arming_->look(main);
    EXPECT_THAT(look.opened, IsEmpty());
    ASSERT_THAT(look.leaving, SizeIs(1));
    EXPECT_EQ(look.leaving[0].copy, 1U);
    EXPECT_EQ(look.leaving[0].file, opened[0]);
    EXPECT_THAT(look.leaving[0].armed, ElementsAre(0));
    EXPECT_TRUE(arming_->has_processes(*main.opened[0]));
    EXPECT_THAT(copies_of(0), IsEmpty());
    // The file is a copy again, under a name that is still guarded.
    EXPECT_THAT(arming_->look({}).opened, IsEmpty());
    EXPECT_THAT(attempts({0}), IsEmpty());
    arming_->note_detached(*opened[0]);
    EXPECT_THAT(arming_->look({}).opened, SizeIs(1));
    EXPECT_THAT(attempts({0}), ElementsAre(Pair(0, 2)));
}

TEST_F(CopyArmingTest, AWriterEndsTheMarkersOfACopy) {
    watch({event_of("/opt/shop"), event_of("/opt/shop")});
    map("/opt/shop", program());
    const auto opened = arming_->look({}).opened;
    ASSERT_THAT(opened, SizeIs(1));
    (void)attempts({0, 1});
    EXPECT_THAT(arming_->leave_file("another name"), IsEmpty());
    EXPECT_THAT(arming_->leave_file(opened[0]->path()), ElementsAre(Pair(0, 1), Pair(1, 1)));
    EXPECT_THAT(arming_->of(0, true).copies.at(0).problem, HasSubstr("opened for writing"));
    EXPECT_THAT(attempts({0, 1}), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::copy_arming_test
