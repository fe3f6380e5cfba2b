// Compares zones with the C library, which uses the same database but has one zone for the whole
// process. A test can set that.
#include "server/alerts/time_zone.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "server/alerts/rule.hpp"

namespace lagtrap::server::time_zone_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t hour_s = 3600;
constexpr std::int64_t day_s = 24 * hour_s;
constexpr const char* database = "/usr/share/zoneinfo";

class ZoneOfTheProcess {
  public:
    explicit ZoneOfTheProcess(const std::string& zone) {
        if (const char* before = std::getenv("TZ")) before_ = before;
        ::setenv("TZ", zone.c_str(), 1);
        ::tzset();
    }
    ZoneOfTheProcess(const ZoneOfTheProcess&) = delete;
    ZoneOfTheProcess& operator=(const ZoneOfTheProcess&) = delete;
    ~ZoneOfTheProcess() {
        if (before_) ::setenv("TZ", before_->c_str(), 1);
        if (!before_) ::unsetenv("TZ");
        ::tzset();
    }
    [[nodiscard]] static std::int64_t offset_s(std::int64_t at_unix_s) {
        std::tm time{};
        ::localtime_r(&at_unix_s, &time);
        return time.tm_gmtoff;
    }

  private:
    std::optional<std::string> before_;
};

// Times from 1970 to 2070, denser near the present, at varying hours of the day.
std::vector<std::int64_t> moments() {
    constexpr std::int64_t begin_2025_s = 1735689600;
    std::vector<std::int64_t> made;
    for (std::int64_t at = 0; at < 100 * 365 * day_s; at += 9 * day_s + 7 * hour_s + 1)
        made.push_back(at);
    for (std::int64_t at = begin_2025_s; at < begin_2025_s + 730 * day_s; at += 3 * hour_s + 1)
        made.push_back(at);
    return made;
}

TEST(TimeZone, ShowsWhatTheCLibraryShows) {
    const auto all = moments();
    // A summer time of half an hour, summer in January, negative summer time, hours set by Ramadan,
    // a day skipped.
    for (const std::string zone :
         {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
          "Europe/Dublin", "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu", "Pacific/Chatham",
          "Etc/GMT+5", "UTC"}) {
        ASSERT_TRUE(std::filesystem::exists(std::filesystem::path(database) / zone))
            << zone << ": is tzdata installed?";
        const ZoneOfTheProcess expected(zone);
        for (const std::int64_t at : all) {
            const auto offset = zone_offset_s(zone, at);
            ASSERT_TRUE(offset.ok()) << zone << ": " << offset.error().message;
            ASSERT_EQ(*offset, expected.offset_s(at)) << zone << " at " << at;
        }
    }
}

TEST(TimeZone, RulesAtTheEndOfAFileAreReadAsTheCLibraryReadsThem) {
    const auto all = moments();
    for (const std::string text :
         {"CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0",
          "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1",
          "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "<+0545>-5:45", "UTC0", "AAA3BBB,J60/2,J300/2",
          "AAA3BBB,59/2,300/2"}) {
        const ZoneOfTheProcess expected(text);
        for (const std::int64_t at : all) {
            const auto offset = posix_zone_offset_s(text, at);
            ASSERT_TRUE(offset.ok()) << text << ": " << offset.error().message;
            ASSERT_EQ(*offset, expected.offset_s(at)) << text << " at " << at;
        }
    }
    for (const char* text : {"",
                             "CE-1",
                             "CET",
                             "CET-1CEST",
                             "CET-1CEST,M3.5.0",
                             "CET-1CEST,M13.5.0,M10.5.0",
                             "CET-1CEST,M3.6.0,M10.5.0",
                             "CET-1CEST,M3.5.7,M10.5.0",
                             "CET-1CEST,J0,J300",
                             "CET-200",
                             "CET-1:99",
                             "<+03-3",
                             "CET-1CEST,M3.5.0,M10.5.0/3 ",
                             "CET-1CEST,M0.5.0,M10.5.0",
                             "CET-1CEST,M3.0.0,M10.5.0",
                             "CET-1CEST,366,300",
                             "CET-1CEST,J366,J300",
                             "CET-1CEST,M3,M10",
                             "CET-1CEST,M3.5,M10.5",
                             "CET-1CEST,M3.5.0/,M10.5.0",
                             "CET-1CEST,M3.5.0M10.5.0"})
        EXPECT_FALSE(posix_zone_offset_s(text, 0).ok()) << text;
}

TEST(TimeZone, AnUnknownZoneAndANameOfNoneAreErrors) {
    EXPECT_EQ(zone_offset_s("Europe/Atlantis", 0).error().kind, ErrorKind::NotFound);
    EXPECT_THAT(zone_offset_s("Europe/Atlantis", 0).error().message,
                HasSubstr("has no time zone \"Europe/Atlantis\""));
    EXPECT_EQ(zone_offset_s("Europe", 0).error().kind, ErrorKind::NotFound) << "a folder";
    EXPECT_EQ(zone_offset_s("leapseconds", 0).error().kind, ErrorKind::NotFound)
        << "a file that is not a time zone";
    for (const char* name : {"", "../../../etc/passwd", "/etc/localtime", "Europe//Berlin",
                             "Europe/", "Europe/.Berlin", "a b", "a\n"})
        EXPECT_EQ(zone_offset_s(name, 0).error().kind, ErrorKind::Invalid) << name;
    EXPECT_FALSE(check_zone_name(std::string(65, 'a')).ok());
    EXPECT_TRUE(zone_offset_s("UTC", 0, "/nonexistent").ok()) << "UTC needs no database";
}

TEST(TimeZone, AFileThatIsCutOffAnywhereIsAnErrorOrTakesItsLastTime) {
    const auto whole = read_file(std::string(database) + "/Europe/Berlin", 1 << 20);
    ASSERT_TRUE(whole.ok());
    const auto folder = std::filesystem::path(testing::TempDir()) / "zones_cut";
    std::filesystem::create_directories(folder);
    std::size_t errors = 0;
    for (std::size_t size = 0; size < whole->size(); size += 3) {
        std::ofstream(folder / "Cut", std::ios::binary | std::ios::trunc) << whole->substr(0, size);
        const auto offset = zone_offset_s("Cut", 1'800'000'000, folder);
        if (!offset) {
            ++errors;
            continue;
        }
        EXPECT_EQ(*offset, hour_s) << size;
    }
    EXPECT_GT(errors, whole->size() / 3 / 2);
    std::filesystem::remove_all(folder);
}

TEST(QuietHours, AreThoseOfTheirZoneAroundAChangeOfSummerTime) {
    const QuietHours night{22 * 60, 7 * 60, "Europe/Berlin"};
    const auto quiet = [&](std::uint64_t at_unix_s) {
        const auto held = night.holds(at_unix_s * 1'000'000'000ULL);
        EXPECT_TRUE(held.ok());
        return held.ok() && *held;
    };
    // Clocks go forward on 2026-03-29 at 01:00 UTC, and back on 2026-10-25 at 01:00 UTC.
    constexpr std::uint64_t march_28_s = 1'774'656'000, october_24_s = 1'792'800'000, day = day_s,
                            hour = hour_s;
    for (const auto& [midnight_s, begins, ends] :
         {std::tuple(march_28_s, 21 * hour, 29 * hour),
          std::tuple(march_28_s + day, 20 * hour, 29 * hour),
          std::tuple(october_24_s, 20 * hour, 30 * hour),
          std::tuple(october_24_s + day, 21 * hour, 30 * hour)}) {
        EXPECT_FALSE(quiet(midnight_s + begins - 1)) << midnight_s;
        EXPECT_TRUE(quiet(midnight_s + begins)) << midnight_s;
        EXPECT_TRUE(quiet(midnight_s + ends - 1)) << midnight_s;
        EXPECT_FALSE(quiet(midnight_s + ends)) << midnight_s;
    }
    EXPECT_FALSE((QuietHours{1, 2, "Europe/Atlantis"}).holds(0).ok()) << "not read as UTC";
}

}  // namespace
}  // namespace lagtrap::server::time_zone_test
