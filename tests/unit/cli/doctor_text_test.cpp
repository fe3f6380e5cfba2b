#include "cli/doctor/doctor_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace lagtrap::cli::doctor_text_test {
namespace {

using testing::EndsWith;

Finding finding(Health health, bool needed, const std::string& advice = {}) {
    return {"a name", health, "what was found", advice, needed};
}

TEST(DoctorText, HasALineForEachFindingAndItsAdvice) {
    EXPECT_EQ(doctor_text({finding(Health::Works, true), finding(Health::Otherwise, true, "do so"),
                           finding(Health::Missing, false), finding(Health::Unknown, false)},
                          Paint(false)),
              "a name                   ok                    what was found\n"
              "a name                   works with a fallback what was found\n"
              "                                               do so\n"
              "a name                   missing               what was found\n"
              "a name                   not asked             what was found\n"
              "\nNothing that lagtrap needs was found missing; only root can check the rest.\n");
}

TEST(DoctorText, ColoursStates) {
    const auto colour = [](Health health) {
        const std::string text = doctor_text({finding(health, false)}, Paint(true));
        return text.substr(text.find('\x1b'), 5);
    };
    EXPECT_EQ(colour(Health::Works), "\x1b[32m");
    EXPECT_EQ(colour(Health::Otherwise), "\x1b[33m");
    EXPECT_EQ(colour(Health::Missing), "\x1b[31m");
    EXPECT_EQ(colour(Health::Unknown), "\x1b[33m");
}

TEST(DoctorText, EndsWithAConclusion) {
    const auto works = finding(Health::Works, true), unknown = finding(Health::Unknown, true),
               lacks = finding(Health::Missing, true),
               lacks_extra = finding(Health::Missing, false);
    EXPECT_THAT(doctor_text({works, lacks_extra}, Paint(false)),
                EndsWith("\n\nEverything that lagtrap needs is available.\n"));
    EXPECT_THAT(doctor_text({works, unknown}, Paint(false)),
                EndsWith("only root can check the rest.\n"));
    EXPECT_THAT(doctor_text({unknown, lacks}, Paint(false)),
                EndsWith("\n\nSomething that lagtrap needs is missing.\n"));
    EXPECT_TRUE(lacks_needed({works, lacks}));
    EXPECT_FALSE(lacks_needed({works, unknown, lacks_extra, finding(Health::Otherwise, true)}));
}

TEST(DoctorJson, HasAllOfThem) {
    EXPECT_EQ(boost::json::serialize(doctor_json({finding(Health::Otherwise, true, "do so")})),
              R"({"ok":true,"findings":[{"name":"a name","state":"works with a fallback",)"
              R"("needed":true,"reason":"what was found","advice":"do so"}]})");
    EXPECT_FALSE(doctor_json({finding(Health::Missing, true)}).at("ok").as_bool());
}

}  // namespace
}  // namespace lagtrap::cli::doctor_text_test
