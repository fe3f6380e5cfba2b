#include "binaries/elf/python_layout.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "binaries/reader/place_messages.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::python_layout_test {
namespace {

const std::string folder = build_folder() + "/binaries/python/";

Result<lagtrap_python> layout_in(const std::filesystem::path& file) {
    TRY_ASSIGN(const ElfImage image, ElfImage::open(file));
    return find_python_layout(image);
}

// The address at which file offset 0 of its code would be.
std::uint64_t code_of(void* library, const std::string& file) {
    link_map* map = nullptr;
    EXPECT_EQ(::dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    const auto image = ElfImage::open(file);
    for (const ElfSegment& segment : image->segments())
        if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
            return map->l_addr + segment.address - segment.offset;
    return 0;
}

class PythonLayoutOf : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Version, PythonLayoutOf, testing::Values("3.11", "3.12", "3.13"));

TEST_P(PythonLayoutOf, HasTheAddressesOfItsSymbols) {
    const std::string file = folder + "libpython" + GetParam() + ".so.1.0";
    const auto layout = layout_in(file);
    ASSERT_TRUE(layout) << layout.error().message;
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const auto address = [&](const char* symbol) {
        return reinterpret_cast<std::uint64_t>(::dlsym(library, symbol));
    };
    const std::uint64_t code = code_of(library, file);
    EXPECT_EQ(code + layout->runtime, address("_PyRuntime"));
    EXPECT_EQ(code + layout->code_type, address("PyCode_Type"));
    const auto passed_on = decode_python_layout(encode_python_layout(*layout));
    ASSERT_TRUE(passed_on);
    EXPECT_EQ(std::memcmp(&*passed_on, &*layout, sizeof(*layout)), 0);
    EXPECT_EQ(::dlclose(library), 0);
}

// What the headers of each version say.
TEST(PythonLayout, DependsOnTheVersion) {
    const auto first = layout_in(folder + "libpython3.11.so.1.0");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->has_calls, 1);
    EXPECT_EQ(first->has_own_entry, 0);
    EXPECT_EQ(first->threads, 16);
    EXPECT_EQ(first->frame_entry, 68);
    const auto second = layout_in(folder + "libpython3.12.so.1.0");
    ASSERT_TRUE(second);
    EXPECT_EQ(second->has_calls, 1);
    EXPECT_EQ(second->has_own_entry, 1);
    EXPECT_EQ(second->threads, 72);
    EXPECT_EQ(second->ascii_text, 40);
    const auto third = layout_in(folder + "libpython3.13.so.1.0");
    ASSERT_TRUE(third);
    EXPECT_EQ(third->has_calls, 0);
    EXPECT_EQ(third->interpreters, 632);
    EXPECT_EQ(third->threads, 7344);
    EXPECT_EQ(third->next_thread, 8);
    EXPECT_EQ(third->thread_frame, 72);
    EXPECT_EQ(third->thread_ident, 152);
    EXPECT_EQ(third->frame_previous, 8);
    EXPECT_EQ(third->frame_code, 0);
    EXPECT_EQ(third->frame_entry, 70);
    EXPECT_EQ(third->code_path, 112);
    EXPECT_EQ(third->code_name, 128);
    EXPECT_EQ(third->code_line, 68);
}

TEST(PythonLayout, IsRefusedForOthers) {
    const auto kind_of = [](const std::string& name) {
        const auto layout = layout_in(name);
        return layout ? ErrorKind::System : layout.error().kind;
    };
    EXPECT_EQ(kind_of(folder + "libpython3.10.so.1.0"), ErrorKind::Unsupported);
    EXPECT_EQ(kind_of(folder + "libpython3.13t.so.1.0"), ErrorKind::Unsupported);
    EXPECT_EQ(kind_of(folder + "libpython3.13_impossible.so"), ErrorKind::Invalid);
    EXPECT_EQ(kind_of("/bin/true"), ErrorKind::NotFound);
}

TEST(PythonLayout, IsSoughtInFilesOfTheseNames) {
    for (const char* name :
         {"/usr/bin/python3.11", "python3.13", "/opt/lib/libpython3.12.so.1.0", "libpython3.12.so"})
        EXPECT_TRUE(may_be_python(name)) << name;
    for (const char* name : {"/usr/bin/python3.10", "/usr/bin/python3", "/usr/lib/python3.11/os.py",
                             "libpython3.13t.so.1.0", "python3.111", ""})
        EXPECT_FALSE(may_be_python(name)) << name;
}

}  // namespace
}  // namespace lagtrap::binaries::test::python_layout_test
