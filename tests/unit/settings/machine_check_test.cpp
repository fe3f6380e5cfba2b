// Checks against the machine: real programs of the distribution, a library of our own, a tracefs
// made of files.
#include "settings/machine_check.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "settings/document.hpp"
#include "tests/unit/settings/files.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::settings::machine_check_test {
namespace {

using namespace testing_files;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string marked = "binary='" + build_folder() + "/settings/libsettings_test_marked.so'";

TEST(Functions, OfAStrippedProgramAreFound) {
    EXPECT_EQ(
        check(event("<function name='call' binary='/usr/bin/redis-server'/>"), BinaryCheck::Look),
        "");
}

TEST(Functions, AreFoundByDemangledName) {
    EXPECT_EQ(check(event("<function name='store::put'/>", marked), BinaryCheck::Look), "");
    EXPECT_EQ(check(event("<function name='store::get(char const*)'/>", marked), BinaryCheck::Look),
              "");
    EXPECT_EQ(check(event("<function name='_ZN5store3getEl'/>", marked), BinaryCheck::Look), "");
}

TEST(Functions, OfSeveralOverloadsAreAmbiguous) {
    const std::string problems =
        check(event("<function name='store::get'/>", marked), BinaryCheck::Look);
    EXPECT_THAT(
        problems,
        AllOf(HasSubstr("settings.xml:3:11: 6 functions in "),
              HasSubstr(" are named \"store::get\"; expected a unique name, such as its symbol"),
              HasSubstr("hint: these are: "), HasSubstr("store::get(int) (_ZN5store3getEi)"),
              HasSubstr(" and 1 more")));
}

TEST(Functions, ThatAreMissingHaveANearestName) {
    EXPECT_THAT(check(event("<function name='store::putt'/>", marked), BinaryCheck::Look),
                HasSubstr("has no function \"store::putt\""));
    EXPECT_THAT(check(event("<function name='serv'/>", marked), BinaryCheck::Look),
                HasSubstr("hint: did you mean serve?"));
}

TEST(Functions, OfNamelessNamespacesAreToldAsTheyAreWritten) {
    for (const std::string name : {"app::hidden", "hidden", "app::hidden(int (*)(int), int)"})
        EXPECT_THAT(check(event("<function name='" + name + "'/>", marked), BinaryCheck::Look),
                    HasSubstr("hint: did you mean app::(anonymous namespace)::hidden?"))
            << name;
    EXPECT_EQ(check(event("<function name='app::(anonymous namespace)::hidden'/>", marked),
                    BinaryCheck::Look),
              "");
    EXPECT_THAT(check(event("<function name='shop::put'/>", marked), BinaryCheck::Look),
                HasSubstr("hint: did you mean store::put?"));
}

std::string warnings_of(const std::string& function) {
    const std::string text = event("<function name='" + function + "'/>", marked);
    std::string warnings;
    for (const Note& warning : parse_settings(text, BinaryCheck::Look).warnings)
        warnings += warning.text;
    return warnings;
}

TEST(Functions, ThatEndInATailCallThroughAPointerAreWarnedOf) {
    EXPECT_THAT(warnings_of("hand_over"),
                HasSubstr("may end in a jump through a pointer (tail call)"));
    EXPECT_EQ(warnings_of("hold"), "");
    EXPECT_EQ(warnings_of("store::put"), "");
}

TEST(LibraryMarkers, AreFound) {
    EXPECT_EQ(
        check(
            "<lagtrap version='1'><event name='frame' threshold='1s' trace-length='1s'><library " +
                marked +
                "><stage name='decode'/></library></event>"
                "<event name='request' threshold='1s' trace-length='1s'><key/><library " +
                marked +
                "><stage name='parsed'/></library></event>"
                "<event name='late' threshold='1s' trace-length='1s'><library " +
                marked + "/></event></lagtrap>",
            BinaryCheck::Look),
        "");
}

TEST(LibraryMarkers, ThatAreMissingAreNamed) {
    const std::string problems = check(
        "<lagtrap version='1'><event name='frames' threshold='1s' trace-length='1s'><library " +
            marked + "/></event></lagtrap>",
        BinaryCheck::Look);
    EXPECT_THAT(problems, AllOf(HasSubstr("has no marker lagtrap:frames__begin"),
                                HasSubstr("did you mean lagtrap:frame__begin?"),
                                HasSubstr("has no marker lagtrap:frames__end")));
}

TEST(LibraryMarkers, MustCarryTheKeyThatTheEventIsPairedBy) {
    const std::string problems = check(
        "<lagtrap version='1'><event name='frame' threshold='1s' "
        "trace-length='1s'><key/><library " +
            marked + "/></event></lagtrap>",
        BinaryCheck::Look);
    EXPECT_THAT(problems, AllOf(HasSubstr("lagtrap:frame__begin in "),
                                HasSubstr(" has no key; expected a key at every marker of the "
                                          "event, as with LAGTRAP_BEGIN_KEY")));
}

TEST(Probes, HaveTheArgumentsThatAllTheirPlacesHave) {
    const auto keyed = [](const std::string& name) {
        return event("<begin usdt='lagtrap:" + name + "__begin' key='arg0'/>\n<end usdt='lagtrap:" +
                         name + "__end' key='arg0'/>",
                     marked);
    };
    EXPECT_EQ(check(keyed("request"), BinaryCheck::Look), "");
    EXPECT_THAT(check(keyed("mixed"), BinaryCheck::Look), HasSubstr("no arguments"));
}

// A tracefs with the tracepoints that these tests name.
class Tracepoints : public testing::Test {
  protected:
    Tracepoints()
        : root_((std::filesystem::temp_directory_path() / "lagtrap-tracefs-XXXXXX").string()) {
        if (!mkdtemp(root_.data())) throw std::runtime_error("no temporary folder");
        add("syscalls", "sys_enter_fsync",
            "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\n\tfield:unsigned int "
            "fd;\toffset:16;\tsize:8;\tsigned:0;\n");
        add("syscalls", "sys_exit_fsync",
            "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\n\tfield:long "
            "ret;\toffset:16;\tsize:8;\tsigned:1;\n");
        add("block", "block_rq_issue",
            "\tfield:dev_t dev;\toffset:8;\tsize:4;\n\tfield:sector_t "
            "sector;\toffset:16;\tsize:8;\n"
            "\tfield:char rwbs[10];\toffset:34;\tsize:10;\n\tfield:__data_loc char[] "
            "cmd;\toffset:44;\tsize:4;\n"
            "\tfield:struct page * page;\toffset:48;\tsize:8;\n");
    }
    ~Tracepoints() override { std::filesystem::remove_all(root_); }

    void add(const std::string& category, const std::string& name, const std::string& fields) {
        const auto folder = std::filesystem::path(root_) / "events" / category / name;
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "format")
            << "name: " << name
            << "\nID: 1\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n\n"
            << fields;
        std::ofstream(folder / "id") << "1\n";
    }

    // The errors of an event between two markers, followed by its notes.
    std::string check_markers(const std::string& begin, const std::string& end,
                              const std::string& key, const OpenTraceFs& open) {
        const std::string text = event(key + "<begin " + begin + "/>\n<end " + end + "/>");
        const LineIndex index(text);
        Diagnostics diagnostics;
        const auto root = read_document(index, diagnostics);
        const Built built = build_settings(root.value(), diagnostics);
        EXPECT_TRUE(diagnostics.empty());
        check_machine(built.sources, diagnostics, open);
        const std::string notes =
            format_notes("settings.xml", {{}, {}, diagnostics.take_notes(), {}});
        return format_diagnostics("settings.xml", text, diagnostics.take()) + notes;
    }

    std::string check_markers(const std::string& begin, const std::string& end,
                              const std::string& key = "") {
        return check_markers(begin, end, key, [this] { return TraceFs::below(root_); });
    }

    std::string root_;
};

TEST_F(Tracepoints, AreFound) {
    EXPECT_EQ(check_markers("tracepoint='syscalls:sys_enter_fsync'",
                            "tracepoint='syscalls:sys_exit_fsync'"),
              "");
    EXPECT_EQ(check_markers("tracepoint='syscalls:sys_enter_fsync' key='fd'",
                            "tracepoint='block:block_rq_issue' key='sector'", "<key/>"),
              "");
    EXPECT_EQ(check_markers("tracepoint='syscalls:sys_enter_fsync' key='fd,__syscall_nr'",
                            "tracepoint='block:block_rq_issue' key='dev,sector'", "<key/>"),
              "");
}

TEST_F(Tracepoints, ThatAreUnknownHaveANearestName) {
    EXPECT_EQ(
        check_markers("tracepoint='syscalls:sys_enter_fsyn'", "tracepoint='blok:block_rq_issue'"),
        "settings.xml:3:8: the kernel has no tracepoint syscalls:sys_enter_fsyn; expected one of "
        "its tracepoints\n"
        "  <begin tracepoint='syscalls:sys_enter_fsyn'/>\n"
        "         ^\n"
        "  hint: did you mean syscalls:sys_enter_fsync? (lagtrap list-markers --tracepoints lists "
        "all)\n"
        "settings.xml:4:6: the kernel has no tracepoint blok:block_rq_issue; expected one of its "
        "tracepoints\n"
        "  <end tracepoint='blok:block_rq_issue'/>\n"
        "       ^\n"
        "  hint: did you mean block:block_rq_issue? (lagtrap list-markers --tracepoints lists "
        "all)\n");
}

TEST_F(Tracepoints, FieldsMustExist) {
    const std::string problems =
        check_markers("tracepoint='syscalls:sys_enter_fsync' key='df' begin-time='when'",
                      "tracepoint='block:block_rq_issue' key='sector'", "<key/>");
    EXPECT_THAT(problems,
                AllOf(HasSubstr("key is \"df\", which is not a number in syscalls:sys_enter_fsync; "
                                "expected one of __syscall_nr, fd"),
                      HasSubstr("begin-time is \"when\", which is not a number"),
                      Not(HasSubstr("sector\""))));
}

TEST_F(Tracepoints, ArraysAndStringsAreNoKeys) {
    const std::string problems =
        check_markers("tracepoint='block:block_rq_issue' key='rwbs'",
                      "tracepoint='syscalls:sys_enter_fsync' key='fd'", "<key/>");
    EXPECT_THAT(problems, HasSubstr("key is \"rwbs\", which is not a number in "
                                    "block:block_rq_issue; expected one of dev, sector, page\n"));
}

TEST_F(Tracepoints, BothFieldsOfAKeyMustExist) {
    EXPECT_THAT(check_markers("tracepoint='block:block_rq_issue' key='dev,rwbs'",
                              "tracepoint='syscalls:sys_enter_fsync' key='df,fd'", "<key/>"),
                AllOf(HasSubstr("key is \"rwbs\", which is not a number in block:block_rq_issue"),
                      HasSubstr("key is \"df\", which is not a number in syscalls:sys_enter_fsync"),
                      Not(HasSubstr("key is \"dev\"")), Not(HasSubstr("key is \"fd\""))));
}

TEST_F(Tracepoints, StringsInTheRecordAreNoKeys) {
    EXPECT_THAT(check_markers("tracepoint='block:block_rq_issue' key='cmd'",
                              "tracepoint='syscalls:sys_enter_fsync' key='fd'", "<key/>"),
                HasSubstr("key is \"cmd\", which is not a number in block:block_rq_issue"));
}

TEST_F(Tracepoints, FoldersWithoutANumberAreNone) {
    std::filesystem::create_directories(std::filesystem::path(root_) / "events" / "ftrace" /
                                        "print");
    EXPECT_THAT(check_markers("tracepoint='ftrace:print'", "tracepoint='syscalls:sys_exit_fsync'"),
                HasSubstr("the kernel has no tracepoint ftrace:print"));
}

TEST_F(Tracepoints, OfAKernelWithoutTracefsAreErrors) {
    EXPECT_THAT(
        check_markers("tracepoint='a:b'", "tracepoint='a:c'", "",
                      [] { return Result<TraceFs>(system_error("fsopen tracefs", ENODEV)); }),
        HasSubstr("settings.xml:3:8: tracepoint a:b: fsopen tracefs: No such device"));
}

// The daemon is root, so being forbidden to look is an error; other users cannot know.
TEST_F(Tracepoints, ThatMayNotBeLookedAtAreNotedUnlessThisIsRoot) {
    const std::string said = check_markers("tracepoint='a:b'", "tracepoint='a:c'", "", [] {
        return Result<TraceFs>(system_error("fsopen tracefs", EPERM));
    });
    if (::geteuid() == 0) {
        EXPECT_THAT(
            said,
            HasSubstr(
                "settings.xml:3:8: tracepoint a:b: fsopen tracefs: Operation not permitted; "));
    } else {
        EXPECT_EQ(said,
                  "settings.xml:3:8: note: tracepoint a:b could not be checked: fsopen tracefs: "
                  "Operation not permitted; run as root\n"
                  "settings.xml:4:6: note: tracepoint a:c could not be checked: fsopen tracefs: "
                  "Operation not permitted; run as root\n");
    }
}

TEST(Programs, MayBeInstalledLater) {
    const std::string settings = "<lagtrap version='1'>\n" +
                                 std::string(
                                     "<event name='a' threshold='1s' trace-length='1s'><function "
                                     "name='call' binary='/nonexistent/app'/></event></lagtrap>");
    const ParseOutcome outcome = parse_settings(settings, BinaryCheck::Look);
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(format_notes("settings.xml", outcome),
              "settings.xml:2:72: warning: \"/nonexistent/app\" does not exist yet; it will be "
              "watched once a process runs it, including in a container (binary=\"*/app\" matches "
              "every file of that name)\n");
}

TEST(Scopes, NameAProgramThatIsThere) {
    EXPECT_EQ(check(event("<function name='call' binary='/usr/bin/redis-server'/><scope "
                          "binary='/usr/bin/env'/>"),
                    BinaryCheck::Look),
              "");
    EXPECT_THAT(
        check(event("<function name='call' binary='/usr/bin/redis-server'/>\n<scope "
                    "binary='/usr/bin/nothing'/>"),
              BinaryCheck::Look),
        HasSubstr("settings.xml:4:8: \"/usr/bin/nothing\" does not exist; expected the program"));
}

TEST(Functions, ThatCanNotBeWatchedAreToldWithTheReason) {
    const std::string library = build_folder() + "/settings/libsettings_test_marked.so";
    EXPECT_THAT(
        check(event("<function name='idle' " + marked + "/>"), BinaryCheck::Look),
        AllOf(HasSubstr("settings.xml:3:11: function \"idle\" of "),
              HasSubstr(" cannot be watched: only returns, so no time passes in it; expected a "
                        "function that takes time and whose return can be probed\n"),
              HasSubstr("hint: watch its caller (lagtrap list-markers --functions " + library +
                        " shows which can be watched)\n")));
    EXPECT_THAT(
        check(event("<begin function='store::put'/><end function='serve_for_ever' side='return'/>",
                    marked),
              BinaryCheck::Look),
        AllOf(HasSubstr("settings.xml:3:36: function \"serve_for_ever\" of "),
              HasSubstr("never returns")));
}

TEST(Paths, OfSpoolAndSocketAreNotOtherThings) {
    const std::string call =
        "<event name='a' threshold='1s' trace-length='1s'><function name='call' "
        "binary='/usr/bin/redis-server'/></event>";
    const auto said = [&](const std::string& more) {
        return check("<lagtrap version='1'>\n" + more + "\n" + call + "</lagtrap>",
                     BinaryCheck::Look);
    };
    EXPECT_EQ(said("<spool path='/tmp'/><control socket='/tmp/nothing-of-this-name'/>"), "");
    EXPECT_EQ(said("<spool path='/tmp/not/yet/there'/>"), "");
    EXPECT_THAT(said("<spool path='/etc/passwd/spool'/>"),
                HasSubstr("settings.xml:2:8: \"/etc/passwd\" is not a folder; expected a folder"));
    EXPECT_THAT(
        said("<control socket='/etc/passwd'/>"),
        HasSubstr("settings.xml:2:10: \"/etc/passwd\" is not a socket; expected an unused path"));
}

TEST(Markers, AreNoMoreThanTheKernelsProgramsKnow) {
    std::string stages, events;
    for (int number = 0; number < 15; ++number)
        stages += "<stage name='s" + std::to_string(number) + "' usdt='a:s" +
                  std::to_string(number) + "'/>";
    // 17 markers each: 240 events have 4080, the next ones exceed 4096.
    for (int number = 0; number < 242; ++number)
        events += "<event name='e" + std::to_string(number) +
                  "' threshold='1s' trace-length='1s' binary='/bin/a'><begin usdt='a:b'/>" +
                  stages + "<end usdt='a:c'/></event>\n";
    const std::string problems =
        check("<lagtrap version='1'>\n" + events + "</lagtrap>", BinaryCheck::Skip);
    EXPECT_THAT(
        problems,
        HasSubstr("settings.xml:242:1: this event makes 4097 markers; expected at most 4096"));
    EXPECT_THAT(problems, Not(HasSubstr("settings.xml:243:")));
}

TEST(Markers, OnOneTracepointAreNoMoreThanTheKernelsPrograms) {
    std::string events;
    for (int number = 0; number < 6; ++number)
        events +=
            "<event name='e" + std::to_string(number) +
            "' threshold='1s' trace-length='1s'><begin tracepoint='a:b'/><end tracepoint='a:c" +
            std::to_string(number) + "'/></event>\n";
    const std::string problems =
        check("<lagtrap version='1'>\n" + events + "</lagtrap>", BinaryCheck::Skip);
    EXPECT_THAT(
        problems,
        HasSubstr(
            "settings.xml:6:1: this makes 5 markers on the tracepoint a:b; expected at most 4"));
    EXPECT_THAT(problems, Not(HasSubstr("settings.xml:5:")));
    EXPECT_THAT(problems, Not(HasSubstr("settings.xml:7:")));
}

TEST(Functions, WithoutAnEndMayBeginAnEvent) {
    EXPECT_EQ(check(event("<begin function='idle'/><end function='serve_for_ever'/>", marked),
                    BinaryCheck::Look),
              "");
}

}  // namespace
}  // namespace lagtrap::settings::machine_check_test
