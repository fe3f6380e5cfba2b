// Thread-local variables of real programs and libraries: their addresses in this process, or as the
// program itself says.
#include "binaries/elf/thread_variable.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "binaries/reader/file_reader.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::thread_variable_test {
namespace {

using Words = std::array<std::uint64_t, 2>;

const std::string folder = build_folder() + "/binaries/thread_variable/";

Result<ThreadVariable> variable_of(const std::string& name,
                                   std::string_view variable = "wanted_variable") {
    TRY_ASSIGN(const ElfImage image, ElfImage::open(folder + name));
    return find_thread_variable(image, variable);
}

std::uint64_t word_at(std::uint64_t address) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return word;
}
Words words_at(std::uint64_t address) { return {word_at(address), word_at(address + 8)}; }

// The calling thread's variable, as a reader of memory finds it (x86-64, glibc).
std::uint64_t address_here(const ThreadPlace& place) {
    std::uint64_t thread = 0;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    const auto offset = static_cast<std::uint64_t>(place.offset);
    if (place.block == 0) return thread + offset;
    return word_at(word_at(thread + 8) + 16ULL * place.block) + offset;
}

std::optional<ThreadPlace> place_with(const ThreadVariable& variable, std::uint64_t code) {
    const Words words = words_at(code + variable.words);
    const auto further = dynamic_block_at(variable, words);
    return further ? dynamic_thread_place(words_at(*further)) : thread_place(variable, words);
}

// The address at which file offset 0 of its code would be.
std::uint64_t code_of(void* library, const std::string& name) {
    link_map* map = nullptr;
    EXPECT_EQ(::dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    const auto image = ElfImage::open(folder + name);
    for (const ElfSegment& segment : image->segments())
        if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
            return map->l_addr + segment.address - segment.offset;
    return 0;
}

class ThreadVariableOfLibrary : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadVariableOfLibrary, IsFoundInEachThread) {
    const auto variable = variable_of(GetParam());
    ASSERT_TRUE(variable) << variable.error().message;
    void* const library = ::dlopen((folder + GetParam()).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const auto wanted_place = reinterpret_cast<void* (*)()>(::dlsym(library, "wanted_place"));
    ASSERT_NE(wanted_place, nullptr);
    const std::uint64_t code = code_of(library, GetParam());
    const auto compare = [&] {
        const auto wanted = reinterpret_cast<std::uint64_t>(wanted_place());
        const auto place = place_with(*variable, code);
        ASSERT_TRUE(place);
        EXPECT_EQ(address_here(*place), wanted);
    };
    compare();
    std::thread(compare).join();
    ::dlclose(library);
}

INSTANTIATE_TEST_SUITE_P(EachAccess, ThreadVariableOfLibrary,
                         ::testing::Values("general.so", "general_symbolic.so", "descriptor.so",
                                           "descriptor_symbolic.so", "initial.so"));

class ThreadVariableOfProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadVariableOfProgram, IsAtAFixedOffset) {
    const auto variable = variable_of(GetParam());
    ASSERT_TRUE(variable) << variable.error().message;
    EXPECT_EQ(variable->access, ThreadAccess::Fixed);
    EXPECT_EQ(std::to_string(variable->offset) + " 1\n", output_of(folder + GetParam()));
    EXPECT_EQ(thread_place(*variable, {}), (ThreadPlace{variable->offset, 0}));
}

INSTANTIATE_TEST_SUITE_P(EachKind, ThreadVariableOfProgram,
                         ::testing::Values("program", "program_fixed", "program_static",
                                           "program_static_pie"));

TEST(ThreadVariable, IsReadByTheReaderAsHere) {
    FileReaderOptions options;
    options.program = build_folder() + "/binaries/lagtrap-reader";
    FileReader reader(options);
    for (const std::string name : {"program", "general.so", "descriptor.so", "initial.so"}) {
        const auto here = variable_of(name);
        const auto file = open_file(folder + name, O_RDONLY);
        const auto there = reader.thread_variable(file->get(), "wanted_variable");
        ASSERT_TRUE(here && there) << there.error().message;
        EXPECT_EQ(there->access, here->access);
        EXPECT_EQ(there->offset, here->offset);
        EXPECT_EQ(there->words, here->words);
    }
    const auto none = reader.thread_variable(open_file(folder + "program", O_RDONLY)->get(), "no");
    EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
}

TEST(ThreadVariable, IsNotAVariableOfAnotherNameOrKind) {
    EXPECT_EQ(variable_of("general.so", "wanted").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(variable_of("general.so", "wanted_place").error().kind, ErrorKind::NotFound);
}

TEST(ThreadVariable, HasNoPlaceWithWordsThatMakeNoSense) {
    const ThreadVariable offset{ThreadAccess::Offset, 8, 0};
    EXPECT_EQ(thread_place(offset, {0, 0}), std::nullopt);
    EXPECT_EQ(thread_place(offset, {~0ULL - 15, 0}), (ThreadPlace{-16, 0}));

    const ThreadVariable block{ThreadAccess::Block, 8, 0};
    EXPECT_EQ(thread_place(block, {0, 99}), std::nullopt);
    EXPECT_EQ(thread_place(block, {65'537, 99}), std::nullopt);
    EXPECT_EQ(thread_place(block, {65'536, 99}), (ThreadPlace{8, 65'536}));

    const ThreadVariable descriptor{ThreadAccess::Descriptor, 8, 0};
    EXPECT_EQ(thread_place(descriptor, {0, 64}), std::nullopt) << "not bound yet";
    EXPECT_EQ(thread_place(descriptor, {1, 64}), (ThreadPlace{64, 0}));
    EXPECT_EQ(thread_place(descriptor, {1, ~0ULL}), (ThreadPlace{-1, 0}));
    EXPECT_EQ(thread_place(descriptor, {1, 0x7f0000001000}), std::nullopt);
    EXPECT_EQ(dynamic_block_at(descriptor, {1, 4 << 20}), std::nullopt);
    EXPECT_EQ(dynamic_block_at(descriptor, {1, (4 << 20) + 1}), (4ULL << 20) + 1);
    EXPECT_EQ(dynamic_block_at(block, {1, 0x7f0000001000}), std::nullopt);

    EXPECT_EQ(dynamic_thread_place({0, 0}), std::nullopt);
    EXPECT_EQ(dynamic_thread_place({1, (1ULL << 30) + 1}), std::nullopt);
    EXPECT_EQ(dynamic_thread_place({1, 24}), (ThreadPlace{24, 1}));
}

}  // namespace
}  // namespace lagtrap::binaries::test::thread_variable_test
