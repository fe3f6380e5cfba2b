#include "settings/missing_function.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <gmock/gmock.h>

#include "binaries/elf/library_paths.hpp"
#include "tests/unit/settings/marker_sources.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::settings::missing_function_test {
namespace {

namespace fs = std::filesystem;
using namespace testing_sources;

std::string near(const std::string& name) {
    static const auto library = binaries::ProgramFile::open(marked_library);
    return near_function(library.value(), name);
}

TEST(NearFunction, IsASlipOfTheName) {
    EXPECT_EQ(near("sreve"), "serve");
    EXPECT_EQ(near("draw_lat"), "draw_late");
    EXPECT_EQ(near("serve_for_evr"), "serve_for_ever");
    EXPECT_EQ(near("nothing_like_it_at_all"), "");
}

TEST(NearFunction, IsTheSameNameInAnotherScope) {
    EXPECT_EQ(near("shop::put"), "store::put");
    EXPECT_EQ(near("put"), "store::put");
    EXPECT_EQ(near("app::hidden"), "app::(anonymous namespace)::hidden");
    EXPECT_EQ(near("app::hidden(int (*)(int), int)"), "app::(anonymous namespace)::hidden");
    EXPECT_EQ(near("(anonymous namespace)::hidden"), "app::(anonymous namespace)::hidden");
    EXPECT_EQ(near("app::Shop<long>::sold"), "app::Shop<long>::sold");
    EXPECT_EQ(near("Shop::sold"), "app::Shop<long>::sold");
}

TEST(NearFunction, IsNotLookedForWithNamesOfAnyLength) {
    EXPECT_EQ(near(""), "");
    EXPECT_EQ(near("()"), "");
    const std::string scope(195, 's');
    EXPECT_EQ(near(scope + "::put"), "store::put");
    EXPECT_EQ(near(scope + "s::put"), "");
}

TEST(LibraryHint, NamesTheLibraryThatHasTheFunction) {
    const std::string hint = library_hint(marked_library, "lckpwdf");
    EXPECT_THAT(hint, testing::StartsWith("it is in binary=\"/"));
    EXPECT_THAT(hint,
                testing::EndsWith("/libc.so.6\", a library of this program; <scope binary=\"" +
                                  marked_library + "\"/> limits it to this program"));
    EXPECT_EQ(library_hint(marked_library, "no_library_has_this"), "");
    EXPECT_EQ(library_hint("/no/such/program", "lckpwdf"), "");
}

// The library of mathematics, which few programs ask for.
fs::path libm() {
    for (const fs::path& library : binaries::libraries_of(marked_library))
        if (library.filename() == "libm.so.6") return library;
    ADD_FAILURE() << "the library of C++ does not need it";
    return {};
}

// A copy of cat that runs with a library it does not ask for, until the end of its input.
class RunningProgram {
  public:
    RunningProgram(const fs::path& program, const fs::path& library) {
        std::array<int, 2> input{}, output{};
        if (::pipe(input.data()) != 0 || ::pipe(output.data()) != 0) std::abort();
        child_ = ::fork();
        if (child_ == 0) {
            ::dup2(input[0], 0);
            ::dup2(output[1], 1);
            for (const int fd : {input[0], input[1], output[0], output[1]}) ::close(fd);
            ::setenv("LD_PRELOAD", library.c_str(), 1);
            ::execl(program.c_str(), program.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(input[0]);
        ::close(output[1]);
        input_ = input[1];
        char answer = 0;  // the loader is done when the program answers
        started_ = ::write(input_, "x", 1) == 1 && ::read(output[0], &answer, 1) == 1;
        ::close(output[0]);
    }
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;
    ~RunningProgram() {
        ::close(input_);
        ::waitpid(child_, nullptr, 0);
    }
    [[nodiscard]] bool started() const { return started_; }

  private:
    pid_t child_ = -1;
    int input_ = -1;
    bool started_ = false;
};

TEST(LibraryHint, AlsoNamesALibraryThatARunningProcessLoaded) {
    const trace::TemporaryDirectory folder;
    const fs::path program = folder.path() / "program";
    fs::copy_file("/bin/cat", program);
    EXPECT_EQ(library_hint(program, "lgammaf_r"), "");
    const RunningProgram running(program, libm());
    ASSERT_TRUE(running.started());
    EXPECT_EQ(library_hint(program, "lgammaf_r"),
              "it is in binary=\"" + fs::canonical(libm()).string() +
                  "\", a library of this program; <scope binary=\"" + program.string() +
                  "\"/> limits it to this program");
}

}  // namespace
}  // namespace lagtrap::settings::missing_function_test
