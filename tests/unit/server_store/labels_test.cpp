#include "server/store/labels.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/sqlite_database.hpp"

namespace lagtrap::server::labels_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LabelTexts, StoredTextIsPrintableAndCutAtAKibibyte) {
    EXPECT_EQ(stored_text("a\x1b"
                          "b"),
              "a\\x1b"
              "b");
    EXPECT_EQ(stored_text(std::string(1024, 'a')), std::string(1024, 'a'));
    EXPECT_EQ(stored_text(std::string(1025, 'a')), std::string(1024, 'a'));
    // What becomes longer by being made printable, and a letter of two bytes at the end.
    EXPECT_EQ(stored_text(std::string(1000, '\x1b')).size(), 1024U);
    const std::string letters = "\x1b" + std::string(1019, 'a') + "\u00e4\u00e4";
    EXPECT_EQ(stored_text(letters), "\\x1b" + std::string(1019, 'a'));
}

TEST(LabelTexts, AReasonHasFiveHundredBytes) {
    EXPECT_EQ(stored_reason(std::string(500, 'a')).size(), 500U);
    EXPECT_EQ(stored_reason(std::string(501, 'a')).size(), 500U);
    EXPECT_EQ(stored_reason("a\x1b"), "a\\x1b");
    EXPECT_EQ(stored_reason(std::string(499, 'a') + "\u00e4b"), std::string(499, 'a'))
        << "half a letter cannot be stored in PostgreSQL";
}

TEST(LabelTexts, LinesEndWithNewlines) {
    EXPECT_THAT(lines_of(""), IsEmpty());
    EXPECT_THAT(lines_of("a\nb c\n"), ElementsAre("a", "b c"));
    EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
}

TEST(LabelTexts, SearchesIgnoreCaseOfAsciiLetters) {
    EXPECT_EQ(search_text("AZaz[@` \u00c4"), "azaz[@` \u00c4");
}

class LabelsTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-labels-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        auto opened = SqliteDatabase::open(directory_ / "a.sqlite", 1 << 20);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        database_ = std::move(opened).value();
        labels_ = std::make_unique<Labels>(*database_);
    }
    void TearDown() override {
        labels_.reset();
        database_.reset();
        fs::remove_all(directory_);
    }
    std::uint32_t resolve(const std::string& name, std::uint64_t day,
                          LabelKind kind = LabelKind::Thread, const std::string& sender = "me") {
        return resolve_by(*labels_, name, day, kind, sender);
    }
    static std::uint32_t resolve_by(Labels& labels, const std::string& name, std::uint64_t day,
                                    LabelKind kind = LabelKind::Thread,
                                    const std::string& sender = "me") {
        std::map<LabelName, std::uint32_t> wanted{{{kind, name}, 0}};
        EXPECT_TRUE(labels.resolve(wanted, sender, day));
        return wanted.begin()->second;
    }
    void remove_unused(std::uint64_t day) {
        ASSERT_TRUE(database_->write(
            [&](Connection& connection) { return Labels::remove_unused(connection, day); }));
    }
    std::int64_t ask(const std::string& sql) {
        std::int64_t found = -1;
        EXPECT_TRUE(database_->read([&](Connection& connection) -> Status {
            TRY_ASSIGN(const auto number, connection.number(sql));
            found = number.value_or(-1);
            return success();
        }));
        return found;
    }
    void run(const std::string& sql) {
        ASSERT_TRUE(
            database_->write([&](Connection& connection) { return connection.script(sql); }));
    }
    std::string text(std::uint32_t number) {
        std::string found;
        EXPECT_TRUE(database_->read([&](Connection& connection) -> Status {
            TRY_ASSIGN(found, labels_->text_of(connection, number));
            return success();
        }));
        return found;
    }
    // Gives kind `kind` this many names of a sender.
    void fill(LabelKind kind, int names, const std::string& sender) {
        run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
            std::to_string(names) + ") INSERT INTO label(kind, text, sender) SELECT " +
            std::to_string(static_cast<int>(kind)) + ", 'name ' || i, '" + sender + "' FROM n");
    }

    fs::path directory_;
    std::unique_ptr<SqliteDatabase> database_;
    std::unique_ptr<Labels> labels_;
};

TEST_F(LabelsTest, ANameHasOneNumberPerKind) {
    const std::uint32_t thread = resolve("a", 5), host = resolve("a", 5, LabelKind::Host);
    EXPECT_NE(thread, 0U);
    EXPECT_NE(thread, host);
    EXPECT_EQ(resolve("a", 5), thread);
    EXPECT_EQ(text(thread), "a");
    EXPECT_EQ(text(12345), "");
    Labels other(*database_);
    EXPECT_EQ(resolve_by(other, "a", 5), thread);
    EXPECT_EQ(ask("SELECT count(*) FROM label WHERE text = 'a'"), 2);
}

TEST_F(LabelsTest, NamesAreFoundOnlyIfTheyExist) {
    const std::uint32_t number = resolve("a", 5);
    Labels other(*database_);
    ASSERT_TRUE(database_->read([&](Connection& connection) -> Status {
        for (Labels* labels : {labels_.get(), &other}) {
            TRY_ASSIGN(const auto found, labels->find(connection, LabelKind::Thread, "a"));
            EXPECT_EQ(found, number);
            TRY_ASSIGN(const auto missing, labels->find(connection, LabelKind::Host, "a"));
            EXPECT_FALSE(missing.has_value());
        }
        return success();
    }));
}

TEST_F(LabelsTest, TheLastDayOnWhichANameCameIsKept) {
    const std::uint32_t number = resolve("a", 5);
    const std::string day = "SELECT last_day FROM label WHERE text = 'a'";
    EXPECT_EQ(ask(day), 5);
    EXPECT_EQ(resolve("a", 7), number);
    EXPECT_EQ(ask(day), 7);
    EXPECT_EQ(resolve("a", 6), number);
    EXPECT_EQ(ask(day), 7);
    Labels other(*database_);
    EXPECT_EQ(resolve_by(other, "a", 4), number);
    EXPECT_EQ(ask(day), 7);
    EXPECT_EQ(resolve_by(other, "a", 9), number);
    EXPECT_EQ(ask(day), 9);
}

TEST_F(LabelsTest, UnusedNamesGoThreeDaysLater) {
    resolve("a", 10);
    remove_unused(2);
    remove_unused(13);
    EXPECT_EQ(ask("SELECT count(*) FROM label WHERE text = 'a'"), 1);
    remove_unused(14);
    EXPECT_EQ(ask("SELECT count(*) FROM label WHERE text = 'a'"), 0);
    EXPECT_NE(resolve("a", 15), 0U);
    EXPECT_EQ(ask("SELECT count(*) FROM label WHERE text = 'a'"), 1) << "the cache is a day old";
}

TEST_F(LabelsTest, ANameThatIsUsedAnywhereStays) {
    const auto insert = [](const std::string& table, const std::string& column,
                           const std::string& others, const std::string& values) {
        return "INSERT INTO " + table + "(" + column + ", " + others + ") VALUES(NUMBER, " +
               values + ")";
    };
    std::vector<std::string> uses = {
        insert("seen", "label", "event, kind, first_ns, last_ns", "0, 1, 1, 1"),
        insert("batch", "host", "digest, received_ns, sender, bytes, runs, sampled_away, lost",
               "'d', 1, '', 1, 0, 0, 0"),
        insert("cause", "event",
               "root, signature, title, state, reason, frames, first_ns, last_ns, noticed_ns, "
               "status, resolved_ns, resolved_build, regressed_ns, owner, note, link, author, "
               "changed_ns",
               "1, 's', '', '', '', '', 1, 1, 1, 0, 0, '', 0, '', '', '', '', 0")};
    for (const auto& [column, others] : {std::pair("event", "build"), std::pair("build", "event")})
        uses.push_back(insert("rollup", column,
                              std::string(others) +
                                  ", level, bucket, start, dirty, records, runs, delays, "
                                  "longest_ns, last_ns, sketch, delay_sketch",
                              "0, 0, 1, 0, 0, 1, 1, 0, 1, 1, x'', x''"));
    std::vector<std::string> columns = {"host", "build", "holder"};
    for (std::size_t i = 0; i < columns.size(); ++i)
        uses.push_back(insert("cause_delay", columns[i],
                              columns[(i + 1) % 3] + ", " + columns[(i + 2) % 3] +
                                  ", cause, bundle, number, begin_ns, excess_ns",
                              "0, 0, 1, 1, " + std::to_string(i) + ", 1, 1"));
    columns = {"event", "host", "process", "thread", "account", "build", "unit"};
    for (const std::string& column : columns) {
        std::string others, values;
        for (const std::string& other : columns)
            if (other != column) {
                others += other + ", ";
                values += "0, ";
            }
        uses.push_back(insert("delay", column,
                              others + "bundle, number, delayed, begin_ns, duration_ns, "
                                       "threshold_ns, start, pid, tid, details, profile",
                              values + "1, 1, 1, 1, 1, 1, 0, 1, 1, '', x''"));
    }
    columns = {"event", "unit", "process", "thread"};
    for (const std::string& column : columns) {
        std::string others, values;
        for (const std::string& other : columns)
            if (other != column) {
                others += other + ", ";
                values += "0, ";
            }
        uses.push_back(insert("delay_edge", column,
                              others + "bundle, number, pid, tid, run_key, trace_id, route, "
                                       "delayed_route, how, place, lost_ns",
                              values + "1, 1, 1, 1, '', '', '', '', '', '', 1"));
    }
    std::uint64_t names = 0;
    for (std::string use : uses) {
        const std::uint32_t number = resolve("name " + std::to_string(++names), 10);
        use.replace(use.find("NUMBER"), 6, std::to_string(number));
        run(use);
    }
    resolve("unused", 10);
    remove_unused(100);
    for (std::uint64_t name = 1; name <= names; ++name)
        EXPECT_EQ(
            ask("SELECT count(*) FROM label WHERE text = 'name " + std::to_string(name) + "'"), 1)
            << uses[name - 1];
    EXPECT_EQ(ask("SELECT count(*) FROM label WHERE text = 'unused'"), 0);
}

TEST_F(LabelsTest, EventsAndStagesHaveFewerNamesThanOtherKinds) {
    for (const LabelKind kind : {LabelKind::Event, LabelKind::Stage}) {
        fill(kind, 9'999, "other");
        const std::uint32_t last = resolve("last", 5, kind), further = resolve("more", 5, kind);
        EXPECT_EQ(text(last), "last");
        EXPECT_EQ(text(further), "(further names)");
        EXPECT_EQ(resolve("one more", 5, kind), further);
        EXPECT_EQ(resolve("last", 6, kind), last) << "a known name stays";
    }
    fill(LabelKind::Thread, 10'001, "other");
    EXPECT_EQ(text(resolve("more", 5)), "more");
    run("DELETE FROM label");
    fill(LabelKind::Host, 99'999, "other");
    EXPECT_EQ(text(resolve("last", 5, LabelKind::Host)), "last");
    EXPECT_EQ(text(resolve("more", 5, LabelKind::Host)), "(further names)");
}

TEST_F(LabelsTest, ASenderMayMakeAQuarterOfTheNamesAndTheServerAll) {
    fill(LabelKind::Event, 2'499, "me");
    EXPECT_EQ(text(resolve("mine", 5, LabelKind::Event)), "mine");
    EXPECT_EQ(text(resolve("more", 5, LabelKind::Event)), "(further names)");
    EXPECT_EQ(text(resolve("yours", 5, LabelKind::Event, "you")), "yours");
    run("UPDATE label SET sender = ''");
    EXPECT_EQ(text(resolve("its", 5, LabelKind::Event, "")), "its");
    // What nobody made counts for nobody.
    EXPECT_EQ(text(resolve("again", 5, LabelKind::Event)), "again");
}

}  // namespace
}  // namespace lagtrap::server::labels_test
