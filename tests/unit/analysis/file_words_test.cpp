#include "analysis/file_words.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::file_words_test {
namespace {

using namespace test::made_causes;

TEST(FileWords, NameTheFileIfItTookHalfOfTheTime) {
    FileWaits files = data_file();
    EXPECT_EQ(file_clause(disk_wait(files)), " (/srv/data on vda)");
    files.queue_depth = 12;
    EXPECT_EQ(file_clause(disk_wait(files)),
              " (/srv/data on vda, which had 12 requests in its queue)");
    files.files = 3;
    files.queue_depth = 1;
    EXPECT_EQ(file_clause(disk_wait(files)), " (3 files, most of it for /srv/data on vda)");
    --files.time_ns;
    EXPECT_EQ(file_clause(disk_wait(files)), " (vda)");
    EXPECT_EQ(file_clause(disk_wait(files, WaitKind::Pipe)), "");
}

TEST(FileWords, OfARefusedLockNameItsHolder) {
    ThreadDoing doing = wait_for(WaitKind::Sleep);
    doing.files = data_file();
    EXPECT_EQ(file_clause(doing), "");
    EXPECT_EQ(refused_clause(doing), "; before, it had been refused a lock on /srv/data");
    doing.files.holder_pid = 40;
    doing.files.holder = "nightly";
    EXPECT_EQ(refused_clause(doing),
              "; before, it had been refused a lock on /srv/data, which nightly (40) held");
    EXPECT_EQ(missed_lock_clause(doing), "");
    doing.wait = WaitKind::FileLock;
    EXPECT_EQ(refused_clause(doing), "");
    EXPECT_EQ(missed_lock_clause(doing), "; nightly (40) held it");
}

TEST(FileWords, OfRefusedConnectionsCountThem) {
    ThreadDoing doing = wait_for(WaitKind::Events);
    doing.refused_by = "127.0.0.1:5432";
    doing.refusals = 1;
    EXPECT_EQ(refused_clause(doing), "; meanwhile its connection to 127.0.0.1:5432 was refused");
    doing.refusals = 3;
    EXPECT_EQ(refused_clause(doing),
              "; meanwhile its connection to 127.0.0.1:5432 was refused 3 times");
}

}  // namespace
}  // namespace lagtrap::analysis::file_words_test
