#include "spool/spool.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"

namespace lagtrap::spool::spool_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SpoolTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-spool-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        auto made = Spool::create(root_ / "spool");
        ASSERT_TRUE(made.ok()) << made.error().message;
        spool_ = *made;
    }
    void TearDown() override { fs::remove_all(root_); }

    std::string add(EntryState state, const std::string& content, hours age = hours(0),
                    EntryKind kind = EntryKind::Bundle) {
        const std::string name = kind == EntryKind::Batch
                                     ? make_batch_name(random_uuid(), sha256_of(content))
                                     : make_bundle_name(random_uuid(), sha256_of(content));
        const fs::path path = spool_->path_of(state, name);
        std::ofstream(path) << content;
        fs::last_write_time(path, fs::file_time_type::clock::now() - age);
        return name;
    }
    std::vector<std::string> names(EntryState state) {
        std::vector<std::string> found;
        const auto entries = spool_->list(state);
        EXPECT_TRUE(entries.ok());
        if (entries.ok())
            for (const auto& entry : *entries) found.push_back(entry.name);
        return found;
    }

    fs::path root_;
    std::optional<Spool> spool_;
};

unsigned mode_of(const fs::path& path) {
    struct stat facts {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 07777;
}

TEST_F(SpoolTest, HasFoldersForTheGroupAndOneForTheDaemon) {
    EXPECT_EQ(mode_of(spool_->path()), 0750U);
    EXPECT_EQ(mode_of(spool_->captures()), 0750U);
    for (const auto state :
         {EntryState::Ready, EntryState::Sending, EntryState::Sent, EntryState::Rejected})
        EXPECT_EQ(mode_of(spool_->folder(state)), 02770U);
}

// Runs `work` as a user with only these groups; returns its result.
bool as_user(uid_t uid, const std::vector<gid_t>& groups, const std::function<bool()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool changed = ::setgroups(groups.size(), groups.data()) == 0 &&
                             ::setresgid(uid, uid, uid) == 0 && ::setresuid(uid, uid, uid) == 0;
        ::_exit(changed && work() ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// As packages set it up: the folder admits readers, and its subfolders belong to the writers.
TEST_F(SpoolTest, WhoMayReadItRemovesNothing) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may give folders to groups";
    constexpr gid_t readers = 54321;
    constexpr uid_t somebody = 54322;
    const char* const writers = "daemon";  // a group of every system
    const gid_t writers_id = ::getgrnam(writers)->gr_gid;
    ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
    const auto made = Spool::create(spool_->path(), writers);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_EQ(::chown(spool_->path().c_str(), 0, readers), 0);
    ASSERT_TRUE(spool_
                    ->apply_retention({.size_bytes = 1 << 20, .age = hours(1)},
                                      std::chrono::system_clock::now())
                    .ok());
    const std::string name = add(EntryState::Ready, "a");
    const fs::path bundle = spool_->path_of(EntryState::Ready, name);
    ASSERT_EQ(::chown(bundle.c_str(), 0, readers), 0);
    ASSERT_EQ(::chmod(bundle.c_str(), 0640), 0);
    ASSERT_TRUE(spool_->mark_rejected(add(EntryState::Sending, "b"), "no").ok());
    const auto reads = [&] {
        const auto rejected = spool_->list(EntryState::Rejected);
        return read_file(bundle, 10).ok() && rejected && rejected->size() == 1 &&
               (*rejected)[0].reason == "no";
    };
    EXPECT_TRUE(as_user(somebody, {readers}, reads));
    EXPECT_TRUE(as_user(somebody, {readers}, [&] { return !spool_->claim(name); }));
    EXPECT_TRUE(as_user(somebody, {readers}, [&] { return ::unlink(bundle.c_str()) != 0; }));
    EXPECT_TRUE(as_user(somebody, {readers}, [&] {
        return !open_file(bundle.string() + "2", O_WRONLY | O_CREAT, 0600) &&
               !open_file(bundle, O_WRONLY);
    }));
    EXPECT_TRUE(as_user(somebody, {readers}, [&] {
        return !open_file(spool_->folder(EntryState::Ready) / ".retention", O_RDONLY);
    })) << "who may read can switch retention off";
    EXPECT_TRUE(as_user(somebody, {writers_id}, [&] { return !reads(); }))
        << "comes in without being a reader";
    EXPECT_TRUE(as_user(somebody, {readers, writers_id}, [&] {
        return spool_->lock_for_sending().ok() && spool_->claim(name).ok() &&
               spool_->mark_sent(name).ok() &&
               spool_
                   ->apply_retention({.size_bytes = 0, .age = hours(1)},
                                     std::chrono::system_clock::now())
                   .ok();
    }));
    EXPECT_FALSE(fs::exists(spool_->path_of(EntryState::Sent, name)));
}

TEST_F(SpoolTest, CreateMendsModesAndKeepsBundles) {
    const std::string name = add(EntryState::Ready, "a");
    ASSERT_EQ(::chmod(spool_->folder(EntryState::Ready).c_str(), 0700), 0);
    ASSERT_TRUE(Spool::create(spool_->path()).ok());
    EXPECT_EQ(mode_of(spool_->folder(EntryState::Ready)), 02770U);
    EXPECT_THAT(names(EntryState::Ready), testing::ElementsAre(name));
}

TEST_F(SpoolTest, OpenNamesTheMissingFolder) {
    ASSERT_TRUE(Spool::open(spool_->path()).ok());
    fs::remove(spool_->folder(EntryState::Sent));
    EXPECT_TRUE(Spool::open(spool_->path()).ok());
    EXPECT_TRUE(fs::is_directory(spool_->folder(EntryState::Sent)));
    fs::remove(spool_->folder(EntryState::Ready));
    const auto opened = Spool::open(spool_->path());
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message, HasSubstr("spool/ready"));
    EXPECT_THAT(opened.error().message, HasSubstr("lagtrapd creates it"));
}

TEST_F(SpoolTest, CreateNamesAGroupThatIsMissing) {
    const auto made = Spool::create(root_ / "other", "no-such-group-here");
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().message,
                testing::EndsWith("; the package creates it, or use: groupadd --system "
                                  "no-such-group-here"));
    EXPECT_FALSE(fs::exists(root_ / "other"));
}

TEST_F(SpoolTest, CreateMakesTheFoldersAboveIt) {
    const auto made = Spool::create(root_ / "var" / "spool");
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(mode_of(root_ / "var"), 0755U);
    EXPECT_TRUE(fs::is_directory(made->folder(EntryState::Ready)));
}

TEST_F(SpoolTest, ListsOldestFirstAndOnlyBundles) {
    const std::string young = add(EntryState::Ready, "young");
    const std::string old = add(EntryState::Ready, "old", hours(2));
    std::ofstream(spool_->folder(EntryState::Ready) / (young + ".tmp")) << "x";
    std::ofstream(spool_->folder(EntryState::Ready) / "notes.txt") << "x";
    const std::string link = make_bundle_name(random_uuid(), sha256_of("link"));
    fs::create_symlink("/etc/passwd", spool_->path_of(EntryState::Ready, link));
    EXPECT_THAT(names(EntryState::Ready), testing::ElementsAre(old, young));
    EXPECT_EQ(spool_->list(EntryState::Ready)->front().size_bytes, 3U);
}

TEST_F(SpoolTest, MovesABundleThroughItsStates) {
    const std::string name = add(EntryState::Ready, "a");
    ASSERT_TRUE(spool_->claim(name).ok());
    EXPECT_THAT(names(EntryState::Ready), IsEmpty());
    EXPECT_THAT(names(EntryState::Sending), SizeIs(1));
    EXPECT_EQ(spool_->claim(name).error().kind, ErrorKind::NotFound);
    ASSERT_TRUE(spool_->put_back(name).ok());
    ASSERT_TRUE(spool_->claim(name).ok());
    ASSERT_TRUE(spool_->mark_sent(name).ok());
    EXPECT_THAT(names(EntryState::Sent), SizeIs(1));
    EXPECT_THAT(names(EntryState::Sending), IsEmpty());
}

TEST_F(SpoolTest, RejectedKeepsAPrintableReason) {
    const std::string name = add(EntryState::Sending, "a");
    ASSERT_TRUE(spool_->mark_rejected(name, "HTTP 422: \x1b[31mdigest\nmismatch").ok());
    const auto entries = spool_->list(EntryState::Rejected);
    ASSERT_TRUE(entries.ok());
    ASSERT_THAT(*entries, SizeIs(1));
    EXPECT_EQ(entries->front().reason, "HTTP 422: \\x1b[31mdigest\\x0amismatch");
    EXPECT_TRUE(fs::exists(spool_->path_of(EntryState::Rejected, name + ".reason")));
}

TEST_F(SpoolTest, RecoverPutsBackWhatWasBeingSent) {
    const std::string name = add(EntryState::Sending, "a");
    EXPECT_EQ(spool_->recover().value(), 1U);
    EXPECT_THAT(names(EntryState::Ready), testing::ElementsAre(name));
    EXPECT_EQ(spool_->recover().value(), 0U);
}

TEST_F(SpoolTest, OneUploaderAtATime) {
    auto first = spool_->lock_for_sending();
    ASSERT_TRUE(first.ok()) << first.error().message;
    const Error busy = spool_->lock_for_sending().error();
    EXPECT_EQ(busy.kind, ErrorKind::Busy);
    EXPECT_EQ(busy.message, "another lagtrap-uploader works on " + spool_->path().string() +
                                " and sends the bundles there; `lagtrap upload BUNDLE` sends one "
                                "immediately");
    first->reset();
    EXPECT_TRUE(spool_->lock_for_sending().ok());
}

// The daemon's umask removes all rights of the group; the uploader is only in the group.
TEST_F(SpoolTest, WhoeverMakesALockTheGroupMayTakeItToo) {
    const fs::path lock = spool_->folder(EntryState::Ready) / ".retention";
    const auto group_may_read = [&] {
        return (fs::status(lock).permissions() & fs::perms::group_read) != fs::perms::none;
    };
    const mode_t before = ::umask(0077);
    const auto kept = spool_->apply_retention({}, std::chrono::system_clock::now());
    ::umask(before);
    ASSERT_TRUE(kept.ok()) << kept.error().message;
    EXPECT_TRUE(group_may_read());
    // As an earlier version left it.
    fs::permissions(lock, fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_TRUE(spool_->apply_retention({}, std::chrono::system_clock::now()).ok());
    EXPECT_TRUE(group_may_read());
}

// The owner of the folder can put anything there. Without the check, opening a pipe would wait for
// a writer.
TEST_F(SpoolTest, ALockThatIsNoPlainFileIsNotWaitedFor) {
    const fs::path lock = spool_->folder(EntryState::Ready) / ".retention";
    const auto tidied = [&] {
        return spool_->apply_retention({}, std::chrono::system_clock::now());
    };
    ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
    EXPECT_EQ(tidied().error().kind, ErrorKind::Denied);
    fs::remove(lock);
    const fs::path other = spool_->folder(EntryState::Sent) / "other";
    ASSERT_TRUE(write_file_durably(other, "", 0600).ok());
    fs::create_hard_link(other, lock);
    EXPECT_EQ(tidied().error().kind, ErrorKind::Denied);
    EXPECT_EQ(fs::status(other).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    fs::remove(lock);
    EXPECT_TRUE(tidied().ok());
}

TEST_F(SpoolTest, SaysWhoHoldsTheLockOfRetention) {
    const auto now = std::chrono::system_clock::now();
    const auto done = spool_->apply_retention({}, now);
    ASSERT_TRUE(done.ok());
    EXPECT_FALSE(done->left_to_another);
    const fs::path lock = spool_->folder(EntryState::Ready) / ".retention";
    const auto held = open_file(lock, O_RDONLY);
    ASSERT_TRUE(held.ok());
    ASSERT_EQ(::flock(held->get(), LOCK_EX), 0);
    const auto left = spool_->apply_retention({}, now);
    ASSERT_TRUE(left.ok());
    EXPECT_TRUE(left->left_to_another);
    EXPECT_EQ(spool_->who_holds_retention(), "process " + std::to_string(::getpid()) + " of user " +
                                                 std::to_string(::geteuid()) + " holds " +
                                                 lock.string());
}

// Databases hold thousands of locks, which stand in the kernel's list, too.
TEST_F(SpoolTest, SaysWhoHoldsTheLockOfRetentionAmongManyLocks) {
    constexpr off_t count = 2000;
    ASSERT_TRUE(spool_->apply_retention({}, std::chrono::system_clock::now()).ok());
    const auto data = open_file(root_ / "data", O_RDWR | O_CREAT, 0600);
    ASSERT_TRUE(data.ok());
    for (off_t number = 0; number < count; ++number) {
        struct flock range {};
        range.l_type = F_WRLCK;
        range.l_start = 2 * number;  // locks of neighbouring bytes would be one
        range.l_len = 1;
        ASSERT_EQ(::fcntl(data->get(), F_SETLK, &range), 0);
    }
    const auto held = open_file(spool_->folder(EntryState::Ready) / ".retention", O_RDONLY);
    ASSERT_TRUE(held.ok());
    ASSERT_EQ(::flock(held->get(), LOCK_EX), 0);
    EXPECT_THAT(spool_->who_holds_retention(),
                testing::StartsWith("process " + std::to_string(::getpid()) + " of user "));
}

TEST(RetentionLockTest, IsToldOfAfterAMinute) {
    using namespace std::chrono_literals;
    const std::chrono::steady_clock::time_point begin{1h};
    RetentionLock lock;
    EXPECT_FALSE(lock.note(false, begin));
    EXPECT_FALSE(lock.note(true, begin));
    EXPECT_FALSE(lock.note(true, begin + 59s));
    EXPECT_TRUE(lock.note(true, begin + 60s));
    EXPECT_TRUE(lock.note(true, begin + 3min));
    EXPECT_FALSE(lock.note(false, begin + 4min));
    EXPECT_FALSE(lock.note(true, begin + 5min));
    EXPECT_FALSE(lock.note(true, begin + 5min + 59s));
}

TEST_F(SpoolTest, RetentionRemovesCountsAndSays) {
    const auto now = std::chrono::system_clock::now();
    add(EntryState::Ready, "aaaa", hours(5));
    const std::string kept = add(EntryState::Ready, "bbbb", hours(1));
    add(EntryState::Sent, "cccc");
    const std::string refused = add(EntryState::Sending, "dddd");
    ASSERT_TRUE(spool_->mark_rejected(refused, "no").ok());

    auto outcome = spool_->apply_retention({.size_bytes = 4, .age = hours(100)}, now);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->sent, 1U);
    EXPECT_EQ(outcome->rejected, 1U);
    EXPECT_EQ(outcome->unsent, 1U);
    EXPECT_EQ(outcome->bytes, 12U);
    EXPECT_THAT(outcome->describe(), HasSubstr("1 never sent"));
    EXPECT_THAT(names(EntryState::Ready), testing::ElementsAre(kept));
    EXPECT_FALSE(fs::exists(spool_->path_of(EntryState::Rejected, refused + ".reason")));
    EXPECT_EQ(spool_->unsent_removed(), 1U);

    outcome = spool_->apply_retention({.size_bytes = 100, .age = std::chrono::minutes(30)}, now);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->unsent, 1U);
    EXPECT_EQ(spool_->unsent_removed(), 2U);
    EXPECT_EQ(spool_->apply_retention({.size_bytes = 100, .age = hours(1)}, now)->describe(), "");
}

TEST_F(SpoolTest, RetentionMakesTheRoomThatIsAskedFor) {
    add(EntryState::Sent, "aaaa");
    add(EntryState::Ready, "bbbb", hours(1));
    RetentionLimits limits{.size_bytes = 1000, .age = hours(100)};
    limits.shortage_bytes = 1;
    const auto outcome = spool_->apply_retention(limits, std::chrono::system_clock::now());
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->sent, 1U);
    EXPECT_THAT(names(EntryState::Ready), SizeIs(1));
}

TEST_F(SpoolTest, BatchesOfRunsGoFirstAndAreCountedApart) {
    const std::string bundle = add(EntryState::Ready, "aaaa", hours(5));
    add(EntryState::Ready, "bbbb", hours(1), EntryKind::Batch);
    const auto outcome = spool_->apply_retention({.size_bytes = 4, .age = hours(100)},
                                                 std::chrono::system_clock::now());
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->batches, 1U);
    EXPECT_EQ(outcome->unsent, 0U);
    EXPECT_THAT(outcome->describe(), HasSubstr("1 unsent batches of runs"));
    EXPECT_THAT(names(EntryState::Ready), testing::ElementsAre(bundle));
    EXPECT_EQ(spool_->unsent_batches_removed(), 1U);
    EXPECT_EQ(spool_->unsent_removed(), 0U);
}

TEST_F(SpoolTest, ABatchThatWasSentIsKeptOnlyIfAsked) {
    const std::string batch = add(EntryState::Ready, "aaaa", hours(0), EntryKind::Batch);
    ASSERT_TRUE(spool_->claim(batch).ok());
    ASSERT_TRUE(spool_->mark_sent(batch).ok());
    EXPECT_TRUE(spool_->list_all()->empty());
    const std::string kept = add(EntryState::Sending, "cccc", hours(5), EntryKind::Batch);
    ASSERT_TRUE(spool_->mark_sent(kept, Spool::SentBatch::Keep).ok());
    EXPECT_THAT(names(EntryState::Sent), testing::ElementsAre(kept));
    RetentionLimits limits{1 << 20, hours(24), 0, hours(6)};
    EXPECT_EQ(spool_->apply_retention(limits, std::chrono::system_clock::now())->bytes, 0U);
    EXPECT_THAT(names(EntryState::Sent), SizeIs(1));
    limits.sent_batch_age = hours(4);
    const auto outcome = spool_->apply_retention(limits, std::chrono::system_clock::now());
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->describe(), "") << "sent batches are copies";
    EXPECT_TRUE(spool_->list_all()->empty());
    const std::string refused = add(EntryState::Sending, "bbbb", hours(0), EntryKind::Batch);
    ASSERT_TRUE(spool_->mark_rejected(refused, "no").ok());
    EXPECT_EQ(spool_->list(EntryState::Rejected)->at(0).reason, "no");
}

TEST_F(SpoolTest, OnlyOldTemporaryFilesOfTheSpoolAreRemoved) {
    const std::string bundle = make_bundle_name(random_uuid(), sha256_of("a"));
    const std::string batch = make_batch_name(random_uuid(), sha256_of("a"));
    struct Left {
        std::string name;
        EntryState state;
        std::chrono::minutes age;
        bool stays;
    };
    const std::vector<Left> files{
        {bundle + ".aB3dE6", EntryState::Ready, std::chrono::minutes(61), false},
        {batch + ".aB3dE6", EntryState::Ready, std::chrono::minutes(61), false},
        {bundle + ".reason.aB3dE6", EntryState::Rejected, std::chrono::minutes(61), false},
        {".removed.aB3dE6", EntryState::Ready, std::chrono::minutes(61), false},
        {".removed-batches.aB3dE6", EntryState::Ready, std::chrono::minutes(61), false},
        {bundle + ".aB3dE7", EntryState::Ready, std::chrono::minutes(59), true},
        {bundle + ".aB3dE8", EntryState::Sent, std::chrono::minutes(61), true},
        {bundle + ".aB3dE", EntryState::Ready, std::chrono::minutes(61), true},
        {bundle + "-aB3dE6", EntryState::Ready, std::chrono::minutes(61), true},
        {"notes.aB3dE6", EntryState::Ready, std::chrono::minutes(61), true},
        {".aB3dE6", EntryState::Ready, std::chrono::minutes(61), true},
        {"x", EntryState::Ready, std::chrono::minutes(61), true},
    };
    for (const Left& file : files) {
        const fs::path path = spool_->path_of(file.state, file.name);
        std::ofstream(path) << "x";
        fs::last_write_time(path, fs::file_time_type::clock::now() - file.age);
    }
    const fs::path link = spool_->path_of(EntryState::Ready, bundle + ".linked");
    fs::create_symlink("/etc/passwd", link);
    const auto now = std::chrono::system_clock::now();
    ASSERT_TRUE(spool_->apply_retention({.size_bytes = 1 << 20, .age = hours(9)}, now).ok());
    for (const Left& file : files)
        EXPECT_EQ(fs::exists(spool_->path_of(file.state, file.name)), file.stays) << file.name;
    ASSERT_TRUE(
        spool_->apply_retention({.size_bytes = 1 << 20, .age = hours(9)}, now + hours(3)).ok());
    EXPECT_TRUE(fs::is_symlink(link)) << "a link is no file that was being written";
}

TEST(RetentionOutcomeTest, AddsEachCountAndNamesThoseThatAreNotZero) {
    RetentionOutcome total{.sent = 1, .rejected = 2, .unsent = 3, .batches = 4, .bytes = 5};
    total.add({.sent = 10, .rejected = 20, .unsent = 30, .batches = 40, .bytes = 50});
    EXPECT_EQ(total.sent, 11U);
    EXPECT_EQ(total.rejected, 22U);
    EXPECT_EQ(total.unsent, 33U);
    EXPECT_EQ(total.batches, 44U);
    EXPECT_EQ(total.bytes, 55U);
    EXPECT_EQ(total.describe(),
              "removed bundles to enforce the limits of the spool: 11 sent, 22 rejected, 33 never "
              "sent, 44 unsent batches of runs (55 B)");
    EXPECT_THAT(RetentionOutcome{.sent = 1}.describe(), HasSubstr(": 1 sent ("));
    EXPECT_THAT(RetentionOutcome{.rejected = 1}.describe(), HasSubstr(": 1 rejected ("));
    EXPECT_EQ(RetentionOutcome{}.describe(), "");
}

TEST_F(SpoolTest, OnlyEntriesThatWereNeverSentCountAsUnsent) {
    add(EntryState::Rejected, "aaaa", hours(5), EntryKind::Batch);
    const std::string spans = make_spans_name(random_uuid(), sha256_of("x"));
    std::ofstream(spool_->path_of(EntryState::Ready, spans)) << "x";
    add(EntryState::Sent, "bbbb", hours(5));
    const auto outcome = spool_->apply_retention({.size_bytes = 0, .age = hours(100)},
                                                 std::chrono::system_clock::now());
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_TRUE(spool_->list_all()->empty());
    EXPECT_EQ(outcome->sent, 1U);
    EXPECT_EQ(outcome->rejected, 1U);
    EXPECT_EQ(outcome->unsent, 0U);
    EXPECT_EQ(outcome->batches, 0U);
    EXPECT_FALSE(fs::exists(spool_->folder(EntryState::Ready) / ".removed"));
}

TEST_F(SpoolTest, SpansThatWereSentAreKeptLikeBundles) {
    ASSERT_TRUE(spool_->add_spans("0a1b2c3d-0000-4000-8000-0123456789ab", "spans").ok());
    const auto added = names(EntryState::Ready);
    ASSERT_THAT(added, SizeIs(1));
    ASSERT_TRUE(spool_->claim(added[0]).ok());
    ASSERT_TRUE(spool_->mark_sent(added[0]).ok());
    EXPECT_THAT(names(EntryState::Sent), testing::ElementsAre(added[0]));
}

TEST_F(SpoolTest, EntriesOfOneTimeAreListedByNameAndOnlyRejectedOnesHaveReasons) {
    std::vector<std::string> added;
    const auto made = fs::file_time_type::clock::now() - hours(1);
    for (int i = 0; i < 8; ++i) {
        added.push_back(add(EntryState::Rejected, std::to_string(i)));
        fs::last_write_time(spool_->path_of(EntryState::Rejected, added.back()), made);
    }
    std::sort(added.begin(), added.end());
    EXPECT_EQ(names(EntryState::Rejected), added);
    EXPECT_EQ(spool_->list(EntryState::Rejected)->at(0).reason, "unknown");
    const std::string ready = add(EntryState::Ready, "r");
    std::ofstream(spool_->path_of(EntryState::Ready, ready + ".reason")) << "no";
    EXPECT_EQ(spool_->list(EntryState::Ready)->at(0).reason, "");
}

// Locks of other files and of other kinds are in the kernel's list, too.
TEST_F(SpoolTest, NamesNobodyIfNobodyHoldsTheLockOfRetention) {
    ASSERT_TRUE(spool_->apply_retention({}, std::chrono::system_clock::now()).ok());
    const fs::path lock = spool_->folder(EntryState::Ready) / ".retention";
    const auto other = spool_->lock_for_sending();
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(spool_->who_holds_retention(), "a process holds " + lock.string());
    const auto opened = open_file(lock, O_RDWR);
    ASSERT_TRUE(opened.ok());
    struct flock range {};
    range.l_type = F_WRLCK;
    ASSERT_EQ(::fcntl(opened->get(), F_SETLK, &range), 0);
    EXPECT_EQ(spool_->who_holds_retention(), "a process holds " + lock.string())
        << "it does not exclude retention";
}

}  // namespace
}  // namespace lagtrap::spool::spool_test
