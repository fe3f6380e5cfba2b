// What the reader process says about files, compared with what reading here says; and the process
// itself, as this process sees it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "binaries/elf/elf_image.hpp"
#include "binaries/reader/file_reader.hpp"
#include "core/files.hpp"
#include "sandbox/foreign_file.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::reader_answers_test {
namespace {

using namespace std::chrono_literals;

const std::string reader_program = build_folder() + "/binaries/lagtrap-reader";
const std::string library = store_folder / "libstore.so";
const std::string exits_library = build_folder() + "/binaries/exits/exits_gcc_O2.so";

FileReaderOptions options_for(const std::string& program) {
    FileReaderOptions options;
    options.program = program;
    return options;
}

UniqueFd open_for_reading(const std::string& path) {
    auto file = open_regular_file(path);
    EXPECT_TRUE(file) << path;
    return file ? std::move(*file) : UniqueFd();
}

std::string text_of(const Function& function) {
    return function.name + " " + std::to_string(function.address) + " " +
           std::to_string(function.size) + " " + std::to_string(function.file_offset) +
           (function.dynamic ? " dynamic" : "");
}

std::vector<std::string> texts_of(const std::vector<Function>& functions) {
    std::vector<std::string> texts;
    for (const Function& function : functions) texts.push_back(text_of(function));
    return texts;
}

std::string text_of(const std::vector<FunctionExit>& exits) {
    std::string text;
    for (const FunctionExit& exit : exits)
        text += std::to_string(exit.file_offset) + " " +
                std::to_string(static_cast<int>(exit.condition)) +
                (exit.of_others_too ? " others" : "") + (exit.by_target ? " target" : "") + "\n";
    return text;
}

// Children of this process that run lagtrap-reader.
std::set<pid_t> reader_children() {
    std::set<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto status = read_file(entry.path() / "status", 1 << 20);
        if (!status) continue;  // it has ended meanwhile
        if (status->starts_with("Name:\tlagtrap-reader\n") &&
            status->find("\nPPid:\t" + std::to_string(::getpid()) + "\n") != std::string::npos)
            found.insert(std::stoi(name));
    }
    return found;
}

std::size_t open_files_of(pid_t pid) {
    std::error_code error;
    std::size_t count = 0;
    for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end;
         !error && at != end; at.increment(error))
        ++count;
    return count;
}

class ReaderAnswers : public ::testing::Test {
  protected:
    // The only reader process of this test.
    static pid_t process() {
        const auto children = reader_children();
        EXPECT_EQ(children.size(), 1U);
        return children.size() == 1 ? *children.begin() : 0;
    }
    FileReader reader_{options_for(reader_program)};
    UniqueFd file_ = open_for_reading(library);
};

TEST_F(ReaderAnswers, AProgramHasEachFact) {
    const ProgramFacts here = ProgramFile::open(library)->facts();
    const auto there = reader_.program(file_.get(), library);
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ(there->build_id, here.build_id);
    EXPECT_FALSE(there->build_id.empty());
    EXPECT_EQ(there->exceptions_may_pass, here.exceptions_may_pass);
    EXPECT_EQ(there->needed.names, here.needed.names);
    EXPECT_EQ(there->needed.folders, here.needed.folders);
    EXPECT_EQ(there->go_refusal, here.go_refusal);
    ASSERT_EQ(there->segments.size(), here.segments.size());
    for (std::size_t i = 0; i < here.segments.size(); ++i)
        EXPECT_EQ(std::memcmp(&there->segments[i], &here.segments[i], sizeof here.segments[i]), 0);
}

TEST_F(ReaderAnswers, AProgramHasTheNamesOfItsLibraries) {
    const UniqueFd file = open_for_reading(exits_library);
    const auto there = reader_.program(file.get(), exits_library);
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ(there->needed.names, ProgramFile::open(exits_library)->facts().needed.names);
    EXPECT_FALSE(there->needed.names.empty());
}

TEST_F(ReaderAnswers, FunctionsAreAllOrThoseWanted) {
    const auto here = ProgramFile::open(library);
    const auto all = reader_.functions(file_.get(), library, "");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(texts_of(*all), texts_of(here->functions().value()));
    const auto wanted = reader_.functions(file_.get(), library, "ns::Store::get");
    ASSERT_TRUE(wanted);
    EXPECT_EQ(texts_of(*wanted), texts_of(here->find_functions("ns::Store::get").value()));
    EXPECT_EQ(wanted->size(), 2U);
    EXPECT_TRUE(reader_.functions(file_.get(), library, "missing").value().empty());
}

TEST_F(ReaderAnswers, ATableIsWhole) {
    const auto there = reader_.unwind_table(file_.get(), library, "");
    auto image = ElfImage::from_file(open_for_reading(library), library);
    ASSERT_TRUE(there && image);
    const auto here = make_unwind_table(*image);
    ASSERT_TRUE(here);
    EXPECT_EQ(there->base_address, here->base_address);
    EXPECT_EQ(there->bucket_count, here->bucket_count);
    EXPECT_EQ(there->rule_page, here->rule_page);
    EXPECT_EQ(there->row_page, here->row_page);
    EXPECT_EQ(there->page_count, here->page_count);
    EXPECT_EQ(there->row_count, here->row_count);
    EXPECT_NE(there->row_count, 0U);
    EXPECT_EQ(there->unsupported_rows, here->unsupported_rows);
    EXPECT_NE(there->unsupported_rows, there->row_count);
    EXPECT_EQ(there->pages, here->pages);
    ASSERT_EQ(there->segments.size(), here->segments.size());
    for (std::size_t i = 0; i < here->segments.size(); ++i) {
        EXPECT_EQ(there->segments[i].file_offset, here->segments[i].file_offset);
        EXPECT_EQ(there->segments[i].address, here->segments[i].address);
        EXPECT_EQ(there->segments[i].size_bytes, here->segments[i].size_bytes);
    }
}

TEST_F(ReaderAnswers, ExitsAndPlacesAreThoseOfTheFunction) {
    const UniqueFd file = open_for_reading(exits_library);
    const auto here = ProgramFile::open(exits_library);
    for (const std::string name : {"exits_early", "exits_pointer_tail", "exits_jump"}) {
        const Function function = here->find_functions(name).value().at(0);
        const auto exits = reader_.exits(file.get(), exits_library, function);
        ASSERT_TRUE(exits) << exits.error().message;
        EXPECT_EQ(text_of(exits->exits), text_of(function_exits(*here, function)->exits));
    }
    const std::vector<FunctionQuery> queries{
        {"exits_early", true}, {"missing", true}, {"exits_plain", false}};
    const auto places = reader_.places(file.get(), exits_library, queries);
    ASSERT_TRUE(places) << places.error().message;
    const auto same = function_places(*here, queries);
    ASSERT_TRUE(same);
    ASSERT_EQ(places->size(), 3U);
    for (const std::size_t i : {0U, 2U}) {
        ASSERT_TRUE((*places)[i]);
        EXPECT_EQ(text_of((*places)[i]->places), text_of((*same)[i]->places));
        EXPECT_EQ((*places)[i]->first_code, (*same)[i]->first_code);
    }
    ASSERT_FALSE((*places)[1]);
    EXPECT_EQ((*places)[1].error().message, "no such function");
}

TEST_F(ReaderAnswers, CallsAreThoseOfTheFunctions) {
    const std::string calls = build_folder() + "/binaries/calls/calls_gcc_O2.so";
    const auto here = ProgramFile::open(calls);
    const std::vector<std::uint64_t> offsets{
        here->find_functions("calls_leaf").value().at(0).file_offset,
        here->find_functions("calls_direct").value().at(0).file_offset};
    const auto there = reader_.calls(open_for_reading(calls).get(), calls, offsets);
    ASSERT_TRUE(there) << there.error().message;
    ASSERT_EQ(there->size(), 2U);
    EXPECT_EQ((*there)[0].symbol, "calls_leaf");
    EXPECT_EQ((*there)[1].symbol, "calls_direct");
    EXPECT_EQ((*there)[1].callees, function_calls(*here, offsets)->at(1).callees);
}

TEST_F(ReaderAnswers, CodeAndProbesAreThoseOfTheFile) {
    const Function function = ProgramFile::open(library)->functions().value().at(0);
    EXPECT_EQ(reader_.code(file_.get(), library, function.file_offset).value(),
              ProgramFile::open(library)->code_at(function.file_offset).value());
    EXPECT_TRUE(reader_.probes(file_.get(), library).value().empty());
    const auto probes = reader_.probes(open_for_reading(postgres).get(), postgres);
    ASSERT_TRUE(probes) << probes.error().message;
    EXPECT_EQ(probes->size(), ProgramFile::open(postgres)->usdt_probes().value().size());
}

TEST_F(ReaderAnswers, NamesAreThoseOfThePlaces) {
    const std::string program = build_folder() + "/binaries/inlines/inlines_gcc_dwarf5";
    PlaceNamesRequest request;
    request.path = program;
    const auto functions = ProgramFile::open(program)->functions();
    ASSERT_TRUE(functions);
    for (const Function& function : *functions)
        if (function.size > 8) request.offsets.push_back(function.file_offset + 4);
    const UniqueFd file = open_for_reading(program);
    const auto here = name_places(file, request);
    const auto there = reader_.names(file.get(), request);
    ASSERT_TRUE(here && there);
    EXPECT_EQ(there->left_out, here->left_out);
    ASSERT_EQ(there->places.size(), request.offsets.size());
    std::size_t lines = 0;
    for (std::size_t i = 0; i < here->places.size(); ++i) {
        EXPECT_EQ(there->places[i].symbol, here->places[i].symbol);
        ASSERT_EQ(there->places[i].frames.size(), here->places[i].frames.size());
        for (std::size_t frame = 0; frame < here->places[i].frames.size(); ++frame) {
            EXPECT_EQ(there->places[i].frames[frame].function,
                      here->places[i].frames[frame].function);
            EXPECT_EQ(there->places[i].frames[frame].file, here->places[i].frames[frame].file);
            EXPECT_EQ(there->places[i].frames[frame].line, here->places[i].frames[frame].line);
            lines += here->places[i].frames[frame].line != 0 ? 1 : 0;
        }
    }
    EXPECT_GT(lines, 0U);
    request.symbol_table_bytes = 1;
    EXPECT_TRUE(reader_.names(file.get(), request).value().left_out) << "the limit arrives";
}

TEST_F(ReaderAnswers, AContainerIsTheOneAskedFor) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "state.json";
    const auto container = [&](ContainerFile kind, const std::string& id) {
        return reader_.container(open_for_reading(path).get(), kind, id);
    };
    write(path, R"([{"id":"aa","names":["one"]},{"id":"bb","names":["two"]}])");
    EXPECT_EQ(container(ContainerFile::Storage, "aa").value().name, "one");
    EXPECT_EQ(container(ContainerFile::Storage, "bb").value().name, "two");
    const auto missing = container(ContainerFile::Storage, "cc");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(missing.error().message, "has no such container");
    const auto other = container(ContainerFile::Docker, "aa");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::Invalid);
    write(path, R"({"ID":"aa","Name":"/shop","Config":{"Image":"team/shop:7"}})");
    const auto docker = container(ContainerFile::Docker, "aa");
    ASSERT_TRUE(docker) << docker.error().message;
    EXPECT_EQ(docker->name, "shop");
    EXPECT_EQ(docker->image, "team/shop:7");
    write(path, "[]" + std::string((16 << 20) - 2, ' '));
    EXPECT_EQ(container(ContainerFile::Storage, "aa").error().kind, ErrorKind::NotFound);
    write(path, "[]" + std::string((16 << 20) - 1, ' '));
    EXPECT_EQ(container(ContainerFile::Storage, "aa").error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(reader_.counts().started, 1U);
    EXPECT_EQ(reader_.counts().stopped, 0U);
    EXPECT_EQ(reader_.counts().ended, 0U);
}

TEST_F(ReaderAnswers, FilesAreClosedAfterwards) {
    ASSERT_TRUE(reader_.build_id(file_.get()));
    const pid_t pid = process();
    const std::size_t before = open_files_of(pid);
    PlaceNamesRequest request;
    request.path = library;
    request.offsets = {0x1000};
    for (int again = 0; again < 5; ++again) {
        ASSERT_TRUE(reader_.build_id(file_.get()));
        ASSERT_TRUE(reader_.program(file_.get(), library));
        ASSERT_TRUE(reader_.unwind_table(file_.get(), library, ""));
        ASSERT_TRUE(reader_.names(file_.get(), request));
        (void)reader_.container(file_.get(), ContainerFile::Docker, "aa");
    }
    EXPECT_EQ(process(), pid);
    EXPECT_EQ(open_files_of(pid), before);
}

TEST_F(ReaderAnswers, EachThreadHasItsPriorityAndTime) {
    const auto nice_of_answer = [&](FileReader& reader) {
        EXPECT_TRUE(reader.build_id(file_.get()));
        return ::getpriority(PRIO_PROCESS, static_cast<id_t>(process()));
    };
    FileReaderOptions options = options_for(reader_program);
    options.nice = 3;
    FileReader reader(options);
    EXPECT_EQ(nice_of_answer(reader), 3);
    const int own = static_cast<int>(::syscall(SYS_gettid));
    reader.set_nice(own, 9);
    EXPECT_EQ(nice_of_answer(reader), 9);
    EXPECT_EQ(reader.cpu_time_for(own + 1), 0ns);
    (void)reader.cpu_time_for(own);
    while (reader.cpu_time_for(own) == 0ns) ASSERT_TRUE(reader.functions(file_.get(), library, ""));
    EXPECT_EQ(reader.cpu_time_for(own + 1), 0ns);
    if (::geteuid() != 0) return;  // only root may raise a priority again
    std::thread([&] { EXPECT_EQ(nice_of_answer(reader), 3); }).join();
    EXPECT_EQ(nice_of_answer(reader), 9);
    reader.set_nice(own, 3);
    EXPECT_EQ(nice_of_answer(reader), 3);
}

TEST_F(ReaderAnswers, TheProgramIsTheOneOfTheSameBuild) {
    EXPECT_EQ(find_reader_program("/fallback"), reader_program);
}

// Errors that a stand-in sends.
class ReaderErrors : public ::testing::Test {
  protected:
    // `answer` is for printf(1).
    Error error_of(const std::string& answer) {
        const std::string path = folder_.path() / "reader";
        write(path,
              "#!/bin/sh\nprintf 'rlgt\\007\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
              "' >&3\nprintf '" +
                  answer + "' >&3; read line <&4\n");
        ::chmod(path.c_str(), 0755);
        FileReader reader(options_for(path));
        const auto got = reader.program(open_for_reading(library).get(), library);
        EXPECT_FALSE(got);
        counts_ = reader.counts();
        return got ? Error{} : got.error();
    }
    static std::string head(int task_or_error, const std::string& body_bytes) {
        char text[16];
        std::snprintf(text, sizeof text, "\\%03o", task_or_error);
        const std::string zeros = "\\000\\000\\000";
        return text + zeros + "\\000" + zeros + body_bytes;
    }
    static std::string bytes(int size) {
        char text[16];
        std::snprintf(text, sizeof text, "\\%03o", size);
        return text + std::string("\\000\\000\\000\\000\\000\\000\\000");
    }
    TemporaryFolder folder_;
    FileReaderCounts counts_;
};

TEST_F(ReaderErrors, KeepTheirKindAndArePrintable) {
    const Error error =
        error_of(head(1 + static_cast<int>(ErrorKind::Unsupported), bytes(3)) + "a\\033b");
    EXPECT_EQ(error.kind, ErrorKind::Unsupported);
    EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
    EXPECT_TRUE(error.message.starts_with("a") && error.message.ends_with("b")) << error.message;
    EXPECT_EQ(counts_.stopped, 0U);
    EXPECT_EQ(counts_.last_problem, "");
}

TEST_F(ReaderErrors, OfUnknownKindsCostTheReader) {
    const Error error = error_of(head(2 + static_cast<int>(ErrorKind::System), bytes(0)));
    EXPECT_EQ(error.kind, ErrorKind::System);
    EXPECT_EQ(error.message, "the file reader returned an unknown error");
    EXPECT_EQ(counts_.stopped, 1U);
    EXPECT_EQ(counts_.ended, 0U);
    EXPECT_EQ(counts_.last_problem, error.message);
}

TEST_F(ReaderErrors, SmallAnswersHaveASmallLimit) {
    const Error error = error_of(head(0, "\\001\\000\\020\\000\\000\\000\\000\\000"));
    EXPECT_EQ(error.message, "the file reader announced 1048577 bytes; at most 1048576 are taken");
    EXPECT_EQ(counts_.stopped, 1U);
}

TEST_F(ReaderErrors, MalformedAnswersAreCounted) {
    const Error error = error_of(head(0, bytes(1)) + "x");
    EXPECT_EQ(error.message, "the file reader gave an invalid answer");
    EXPECT_EQ(counts_.stopped, 1U);
    EXPECT_EQ(counts_.last_problem, error.message);
}

TEST(ReaderStarts, WaitNoLongerThanTheLongestPause) {
    FileReaderOptions options = options_for("/nonexistent/lagtrap-reader");
    options.start_pause = std::chrono::hours(1);
    options.longest_start_pause = 0ms;
    FileReader reader(options);
    EXPECT_FALSE(reader.try_start());
    EXPECT_TRUE(reader.may_start());
    EXPECT_FALSE(reader.try_start());
    EXPECT_EQ(reader.counts().not_started, 2U);
    EXPECT_TRUE(reader.counts().start_problem.starts_with("files cannot be read: start "))
        << reader.counts().start_problem;
}

}  // namespace
}  // namespace lagtrap::binaries::test::reader_answers_test
