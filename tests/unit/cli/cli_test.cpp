#include "tests/unit/cli/cli_test.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/command_line.hpp"
#include "tests/unit/test_paths.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::test {

namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

Outcome run_lagtrap(const std::vector<std::string>& arguments) {
    std::vector<const char*> pointers{"lagtrap"};
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    std::ostringstream out, err;
    cli::Console console{out, err, cli::Paint(false)};
    const int code =
        cli::run_command_line(static_cast<int>(pointers.size()), pointers.data(), console);
    return {code, out.str(), err.str()};
}

void expect_text(const std::string& text, const std::string& name) {
    const auto path = std::filesystem::path(test_data_folder()) / "cli" / name;
    if (std::getenv("LAGTRAP_UPDATE_EXPECTED") != nullptr) write(path, text);
    EXPECT_EQ(text, content_of(path)) << "expected: " << path;
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lagtrap-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", {});
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void write_capture(const TraceBuilder& builder, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    write(folder / "trace.pftrace", builder.trace());
    write(folder / "system.xml", trace::write_system_file(builder.system));
    write(folder / "settings.xml", "<lagtrap version=\"1\"/>\n");
}

}  // namespace lagtrap::test
