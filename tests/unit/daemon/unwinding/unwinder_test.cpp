// Follows a real process with the real kernel. Processes that were there before are not read.
#include "daemon/unwinding/unwinder.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/await.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/sleeper.hpp"

namespace lagtrap::daemon::unwinder_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Not;

// Reads one process or two.
class ReadsOne : public DirectInspector {
  public:
    Result<InspectedProcess> read(std::uint32_t pid, Code code,
                                  const InspectionLimits& limits) override {
        if (pid != only && pid != later) return make_error(ErrorKind::Vanished, "is not read");
        return DirectInspector::read(pid, code, limits);
    }
    std::atomic<std::uint32_t> only{0}, later{0};
};

std::vector<std::string> mapped_by(std::uint32_t pid, const RecordBuffer& events) {
    std::vector<std::string> paths;
    events.for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_MAPPING) return;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        if (mapping.pid == pid)
            paths.emplace_back(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
    });
    return paths;
}

class UnwinderTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = fs::temp_directory_path() / "lagtrap-unwinder-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        inspector_.only = sleeper_.pid();
    }
    ~UnwinderTest() override {
        unwinder_.reset();
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    void create(const fs::path& cache = {}) {
        unwinder_.reset();
        Unwinder::Options options;
        options.cache_folder = cache;
        auto created = Unwinder::create(options, inspector_, mapped_files_);
        ASSERT_TRUE(created) << created.error().message;
        unwinder_ = std::move(*created);
    }
    [[nodiscard]] std::optional<std::size_t> prepare() {
        return unwinder_->prepare(sleeper_.pid(), 60s, [] { return false; });
    }

    Sleeper sleeper_;
    fs::path folder_;
    ReadsOne inspector_;
    MappedFiles mapped_files_;
    std::unique_ptr<Unwinder> unwinder_;
};

TEST_F(UnwinderTest, TablesOfAProcessAreMade) {
    create();
    EXPECT_EQ(prepare(), 0U);
    await("the unwinder", [this] { return unwinder_->status().tables >= 2; });
    const UnwinderStatus status = unwinder_->status();
    EXPECT_GE(status.scans, 1U);
    EXPECT_GE(status.spaces.processes, 1U);
    EXPECT_GE(status.modules.made, 2U) << "of the program and the C library";
    EXPECT_EQ(status.modules.from_cache, 0U);
    EXPECT_GT(status.table_bytes, 0U);
    EXPECT_GE(status.used_bytes, status.table_bytes);
    EXPECT_GE(status.taken_bytes, status.used_bytes);
    EXPECT_EQ(status.budget_bytes, 64U << 20);
    EXPECT_EQ(status.tables_kept, 0U);
    EXPECT_EQ(status.events_lost, unwinder_->events_lost());
    EXPECT_FALSE(status.largest.empty());
    EXPECT_THAT(unwinder_->cache_problem(), IsEmpty());
    EXPECT_THAT(unwinder_->look_at_cpus(), IsEmpty()) << "all CPUs were there from the start";
}

TEST_F(UnwinderTest, WhoeverWaitsMayHaveEnough) {
    create();
    int asked = 0;
    (void)unwinder_->prepare(sleeper_.pid(), 60s, [&asked] { return ++asked > 0; });
    EXPECT_LE(asked, 1);
    EXPECT_EQ(unwinder_->prepare(0x7fffffff, 0ms, [] { return false; }), std::nullopt)
        << "nothing is known about it";
}

TEST_F(UnwinderTest, ACaptureHasWhatWasMappedBefore) {
    create();
    ASSERT_EQ(prepare(), 0U);
    EXPECT_TRUE(unwinder_->take_events().empty());
    unwinder_->begin_capture();
    ASSERT_TRUE(unwinder_->end_capture());
    EXPECT_THAT(mapped_by(sleeper_.pid(), unwinder_->take_events()), Contains(EndsWith("/sleep")));
    EXPECT_TRUE(unwinder_->take_events().empty()) << "each once";
    unwinder_->forget_capture();
}

TEST_F(UnwinderTest, ACaptureHasWhatIsMappedMeanwhile) {
    create();
    ASSERT_EQ(prepare(), 0U);
    unwinder_->begin_capture();
    const Sleeper another;
    ASSERT_TRUE(unwinder_->end_capture());
    EXPECT_THAT(mapped_by(another.pid(), unwinder_->take_events()), Contains(EndsWith("/sleep")));
}

TEST_F(UnwinderTest, AForgottenCaptureHasNothing) {
    create();
    ASSERT_EQ(prepare(), 0U);
    unwinder_->begin_capture();
    ASSERT_TRUE(unwinder_->end_capture());
    unwinder_->forget_capture();
    EXPECT_TRUE(unwinder_->take_events().empty());
    const Sleeper another;
    (void)unwinder_->look_at_cpus();
    EXPECT_TRUE(unwinder_->take_events().empty()) << "events are kept for captures only";
}

TEST_F(UnwinderTest, ANewProcessIsFollowed) {
    create();
    ASSERT_EQ(prepare(), 0U);
    const Sleeper another;
    inspector_.later = another.pid();  // if events are lost
    EXPECT_EQ(unwinder_->prepare(another.pid(), 60s, [] { return false; }), 0U);
}

TEST_F(UnwinderTest, TablesOfWatchedProgramsAreMadeBeforeThereIsAProcess) {
    inspector_.only = 0;
    create();
    const fs::path program = fs::canonical("/proc/" + std::to_string(sleeper_.pid()) + "/exe");
    fs::copy_file(program, folder_ / "watched");
    unwinder_->watch({folder_ / "watched"});
    await("the unwinder", [this] { return unwinder_->status().tables_kept > 0; });
    EXPECT_GT(unwinder_->status().kept_bytes, 0U);
}

TEST_F(UnwinderTest, WantedFilesAreReported) {
    create();
    ASSERT_EQ(prepare(), 0U);
    const std::string program = fs::canonical("/proc/" + std::to_string(sleeper_.pid()) + "/exe");
    EXPECT_THAT(mapped_files_.all(), IsEmpty());
    unwinder_->want_files({program});
    const auto found = mapped_files_.all();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].mapping.path, program);
    EXPECT_THAT(found[0].pids, Contains(sleeper_.pid()));
}

TEST_F(UnwinderTest, TablesAreKeptInAFolder) {
    create(folder_ / "cache");
    ASSERT_EQ(prepare(), 0U);
    unwinder_.reset();
    EXPECT_FALSE(fs::is_empty(folder_ / "cache"));
    create(folder_ / "cache");
    ASSERT_EQ(prepare(), 0U);
    await("the unwinder", [this] { return unwinder_->status().modules.from_cache >= 2; });
}

TEST_F(UnwinderTest, WithoutItsFolderItWorksAndSaysWhy) {
    std::ofstream(folder_ / "file") << "no folder";
    create(folder_ / "file" / "cache");
    EXPECT_THAT(unwinder_->cache_problem(), Not(IsEmpty()));
    EXPECT_EQ(prepare(), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::unwinder_test
