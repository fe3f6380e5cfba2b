// Which settings, spool and bundles `lagtrap upload` gives to the uploader.
#include <sys/stat.h>

#include <sstream>

#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "core/digest.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli::upload_command_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* session = "3f0c1c5e-0000-4000-8000-00000000000a";

class UploadCommand : public testing::Test {
  protected:
    int upload(UploadOptions options, const std::string& script) {
        options.uploader = folder_.string("uploader");
        test::write_text(options.uploader, "#!/bin/sh\n" + script);
        ::chmod(options.uploader.c_str(), 0755);
        err_.str("");
        Console console{err_, err_, Paint(false)};
        return upload_bundles(options, console);
    }
    // Named otherwise than in a spool.
    std::string make_bundle(const std::string& name, const std::string& content = "trace") {
        const fs::path capture = folder_.path() / ("capture of " + name);
        fs::create_directories(capture);
        trace::SystemFile system;
        system.session_id = session;
        system.trigger_reason = "manual";
        test::write_text((capture / "trace.pftrace").string(), content);
        test::write_text((capture / "system.xml").string(), trace::write_system_file(system));
        const auto made = trace::write_bundle(capture, session, capture);
        EXPECT_TRUE(made) << made.error().message;
        const std::string path = folder_.string(name + ".lagtrap.tar.zst");
        fs::rename(made->path, path);
        return path;
    }
    static std::string spool_name(const std::string& bundle) {
        return std::string(session) + "-" + sha256_of_file(bundle).value().substr(0, 16) +
               ".lagtrap.tar.zst\n";
    }
    test::TemporaryFolder folder_;
    std::ostringstream err_;
};

TEST_F(UploadCommand, ReturnsWhatTheUploaderReturns) {
    EXPECT_EQ(upload({}, "exit 0\n"), 0);
    EXPECT_EQ(upload({}, "exit 5\n"), 5);
    EXPECT_EQ(err_.str(), "");
    EXPECT_EQ(upload({}, "kill -9 $$\n"), 1);
    EXPECT_EQ(err_.str(), "lagtrap: " + folder_.string("uploader") + " was killed by signal 9\n");
}

TEST_F(UploadCommand, AnUploaderThatIsNotThereIsAFailure) {
    UploadOptions options;
    options.uploader = folder_.string("none");
    Console console{err_, err_, Paint(false)};
    EXPECT_EQ(upload_bundles(options, console), 1);
    EXPECT_THAT(err_.str(), StartsWith("lagtrap: starting " + folder_.string("none")));
}

TEST_F(UploadCommand, SeveralBundlesAreInOneSpoolByTheirOwnNames) {
    const std::string one = make_bundle("one"), two = make_bundle("two", "another trace");
    ASSERT_EQ(upload({{one, two}, "/etc/s.xml", "/spool", {}},
                     "ls \"$5/ready\" > " + folder_.string("names") + "; echo \"$1 $2 $3 $4\" > " +
                         folder_.string("words") + "\n"),
              0)
        << err_.str();
    std::vector<std::string> names{spool_name(one), spool_name(two)};
    std::sort(names.begin(), names.end());
    EXPECT_EQ(test::text_of_file(folder_.string("names")), names[0] + names[1]);
    EXPECT_EQ(test::text_of_file(folder_.string("words")),
              "--settings /etc/s.xml --once --spool\n");
}

TEST_F(UploadCommand, ShortNamesAreLookedUpInTheSpoolGivenFirst) {
    const std::string bundle = make_bundle("one");
    for (const char* spool : {"given/ready", "set/ready"})
        fs::create_directories(folder_.path() / spool);
    std::string name = spool_name(bundle);
    name.pop_back();
    fs::copy_file(bundle, folder_.path() / "given/ready" / name);
    test::write_text(folder_.string("s.xml"), "<lagtrap version=\"1\"><spool path=\"" +
                                                  folder_.string("set") + "\"/></lagtrap>");
    EXPECT_EQ(
        upload({{"3f0c1c5e"}, folder_.string("s.xml"), folder_.string("given"), {}}, "exit 0\n"), 0)
        << err_.str();
    EXPECT_EQ(upload({{"3f0c1c5e"}, folder_.string("s.xml"), "", {}}, "exit 0\n"), 1);
    EXPECT_THAT(err_.str(), HasSubstr(folder_.string("set")));
    test::write_text(folder_.string("s.xml"), "no settings");
    EXPECT_EQ(upload({{"3f0c1c5e"}, folder_.string("s.xml"), "", {}}, "exit 0\n"), 1);
}

TEST_F(UploadCommand, ABundleThatCannotBeReadStopsAllAndLeavesNothing) {
    test::write_text(folder_.string("torn.lagtrap.tar.zst"), "no bundle");
    const auto count = [] {
        std::size_t found = 0;
        for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
            found += entry.path().filename().string().starts_with("lagtrap-upload-") ? 1 : 0;
        return found;
    };
    const std::string own = folder_.string("tmp");
    fs::create_directories(own);
    ::setenv("TMPDIR", own.c_str(), 1);
    EXPECT_EQ(upload({{make_bundle("one"), folder_.string("torn.lagtrap.tar.zst")}, "s", "", {}},
                     "touch " + folder_.string("ran") + "\n"),
              1);
    EXPECT_EQ(count(), 0U);
    EXPECT_FALSE(fs::exists(folder_.string("ran")));
    EXPECT_EQ(upload({{make_bundle("two")}, "s", "", {}}, "exit 4\n"), 4);
    EXPECT_EQ(count(), 0U);
    ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace lagtrap::cli::upload_command_test
