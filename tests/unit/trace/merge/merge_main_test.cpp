// lagtrap-merge: its arguments, its answer, its exit status.
#include <gmock/gmock.h>

#include "core/digest.hpp"
#include "tests/unit/trace/merge_fixture.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::trace::merge_main_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MergeProgram : public testing::Test {
  protected:
    static Output run(const std::string& arguments) {
        return output_of("'" + build_folder() + "/trace/lagtrap-merge' " + arguments + " 2>&1");
    }
    static std::string quoted(const std::filesystem::path& path) {
        return "'" + path.string() + "'";
    }
    [[nodiscard]] std::string folders() const {
        return quoted(capture_.path()) + " " + quoted(output_.path());
    }
    static std::vector<std::string> omitted_in(const std::string& bundle) {
        return read_system_file(read_bundle_system_file(bundle).value()).value().quality.omitted;
    }

    TemporaryDirectory capture_, output_;
};

TEST_F(MergeProgram, AnswersWithOneLineOfJson) {
    write_busy_capture(capture_.path());
    const Output made = run(folders());
    ASSERT_EQ(made.exit_code, 0) << made.text;
    EXPECT_EQ(made.text.find('\n'), made.text.size() - 1);
    const json::object answer = json::parse(made.text).as_object();
    const BundleContent content = read_bundle(text(answer.at("bundle"))).value();
    EXPECT_EQ(std::filesystem::path(text(answer.at("bundle"))).parent_path(), output_.path());
    EXPECT_THAT(text(answer.at("bundle")), HasSubstr(text(answer.at("digest")).substr(0, 16)));
    EXPECT_EQ(text(answer.at("digest")), sha256_of_file(text(answer.at("bundle"))).value());
    EXPECT_EQ(answer.at("bytes").to_number<std::uint64_t>(),
              std::filesystem::file_size(text(answer.at("bundle"))));
    EXPECT_EQ(answer.at("trace_bytes").to_number<std::uint64_t>(), content.trace.size());
    EXPECT_EQ(answer.at("delays").as_int64(), 2);
    EXPECT_EQ(answer.at("runs").as_int64(), 9);
    EXPECT_EQ(answer.at("samples").as_int64(), 7);
    EXPECT_EQ(answer.at("switches").as_int64(), 5);
    EXPECT_EQ(answer.at("late_records").as_int64(), 0);
    EXPECT_FALSE(answer.at("partial").as_bool());
    EXPECT_FALSE(answer.at("made_before").as_bool());
    EXPECT_GE(answer.at("seconds").to_number<double>(), 0);
    EXPECT_GT(answer.at("peak_memory_bytes").to_number<std::uint64_t>(), 1U << 20);
    EXPECT_THAT(omitted_in(text(answer.at("bundle"))), IsEmpty());
}

TEST_F(MergeProgram, MakesABundleOnce) {
    write_busy_capture(capture_.path());
    const json::object first = json::parse(run(folders()).text).as_object();
    const Output again = run(folders());
    ASSERT_EQ(again.exit_code, 0) << again.text;
    const json::object answer = json::parse(again.text).as_object();
    EXPECT_TRUE(answer.at("made_before").as_bool());
    EXPECT_EQ(answer.at("bundle"), first.at("bundle"));
    EXPECT_EQ(answer.at("digest"), first.at("digest"));
    EXPECT_EQ(answer.at("bytes"), first.at("bytes"));
    EXPECT_EQ(answer.at("runs").as_int64(), 0);
}

TEST_F(MergeProgram, OpensNoProgramsIfTold) {
    write_busy_capture(capture_.path());
    const Output made = run("--without-names " + folders());
    ASSERT_EQ(made.exit_code, 0) << made.text;
    EXPECT_THAT(omitted_in(text(json::parse(made.text).at("bundle"))),
                ElementsAre("program functions have no names: the merge that looked them up took "
                            "too long"));
}

TEST_F(MergeProgram, PathsMayHaveAnyCharacters) {
    write_busy_capture(capture_.path());
    const auto folder = output_.path() / "a \"b\\c\td";
    std::filesystem::create_directory(folder);
    const Output made = run(quoted(capture_.path()) + " " + quoted(folder));
    ASSERT_EQ(made.exit_code, 0) << made.text;
    const std::filesystem::path bundle = text(json::parse(made.text).at("bundle"));
    EXPECT_EQ(bundle.parent_path(), folder);
    EXPECT_TRUE(std::filesystem::exists(bundle));
}

TEST_F(MergeProgram, RefusesOtherArguments) {
    const std::string usage =
        "usage: lagtrap-merge [--without-names] CAPTURE_DIRECTORY OUTPUT_DIRECTORY\n";
    for (const std::string arguments :
         {"", "one", "one two three", "--without-names", "--without-names one two three",
          "one --without-names two", "--with-names one two"}) {
        const Output refused = run(arguments);
        EXPECT_EQ(refused.exit_code, 2) << arguments;
        EXPECT_EQ(refused.text, usage) << arguments;
    }
}

TEST_F(MergeProgram, SaysWhyItFailed) {
    const Output no_session = run(folders());
    EXPECT_EQ(no_session.exit_code, 1);
    EXPECT_THAT(no_session.text, testing::StartsWith("lagtrap-merge: "));
    EXPECT_THAT(no_session.text, HasSubstr("session.json: No such file"));
    write_busy_capture(capture_.path());
    Session other = synthetic_session();
    other.id = "11111111-d9cb-469f-a165-70867728950e";
    ASSERT_TRUE(write_session(capture_.path(), other));
    const Output wrong_log = run(folders());
    EXPECT_EQ(wrong_log.exit_code, 1) << "found by the confined process";
    EXPECT_THAT(wrong_log.text, testing::StartsWith("lagtrap-merge: "));
    EXPECT_THAT(wrong_log.text, HasSubstr("belongs to session 0f8fad5b"));
    EXPECT_TRUE(std::filesystem::is_empty(output_.path()));
    const Output no_folder = run(quoted(capture_.path()) + " " + quoted(output_.path() / "none"));
    EXPECT_EQ(no_folder.exit_code, 1) << no_folder.text;
}

}  // namespace
}  // namespace lagtrap::trace::merge_main_test
