#include "trace/names/package_versions.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/dpkg_files.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t status_limit_bytes = 256ULL << 20;
constexpr std::uint64_t list_limit_bytes = 16ULL << 20;
constexpr std::size_t packages_limit = 100'000;
constexpr std::size_t version_limit_bytes = 128;

// Removes and returns the first line.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

bool take_field(std::string_view line, std::string_view name, std::string& into) {
    if (!line.starts_with(name)) return false;
    into = line.substr(name.size());
    return true;
}

// The longest word of a program's path is usually part of its package's name. Trying that package's
// list first rarely leaves the others to read.
std::string_view longest_word(std::string_view program) {
    std::string_view longest;
    while (!program.empty()) {
        const std::string_view word = program.substr(0, program.find_first_of("/-_."));
        program.remove_prefix(std::min(word.size() + 1, program.size()));
        constexpr std::array<std::string_view, 6> of_all{"usr",  "lib",   "bin",
                                                         "sbin", "local", "libexec"};
        if (word.size() > longest.size() &&
            std::find(of_all.begin(), of_all.end(), word) == of_all.end())
            longest = word;
    }
    return longest;
}

}  // namespace

bool is_package_file(const std::filesystem::path& path) {
    const std::filesystem::path name = name_on_machine(path);
    return name == dpkg_status ||
           (name.parent_path() == dpkg_lists && name.native().ends_with(dpkg_list_suffix));
}

std::string PackageVersions::version_of(const std::string& program, const std::string& build_id) {
    const auto [known, added] = known_.try_emplace({program, build_id});
    if (!added || build_id.empty() || !program.starts_with('/')) return known->second;
    const auto file = open_regular_file(on_machine(program, machine_));
    if (file && binaries::read_build_id(file->get()) == build_id) known->second = find(program);
    return known->second;
}

std::string PackageVersions::find(const std::string& program) {
    if (!packages_) load();
    const std::string_view word = longest_word(program);
    const auto is_likely = [&](const Package& package) {
        return package.list.find(word) != std::string::npos;
    };
    for (const bool likely : {true, false})
        for (const Package& package : *packages_)
            if (is_likely(package) == likely && owns(package, program)) return package.version;
    return {};
}

// Reads the installed packages, one per paragraph. A package that allows several architectures may
// have its list under either name.
void PackageVersions::load() {
    packages_.emplace();
    const auto content = read_file(on_machine(dpkg_status, machine_), status_limit_bytes);
    if (!content) return;
    std::string name, architecture, multiple, version, status;
    std::string_view rest = *content;
    while (!rest.empty() && packages_->size() < packages_limit) {
        const std::string_view line = take_line(rest);
        (void)(take_field(line, "Package: ", name) ||
               take_field(line, "Architecture: ", architecture) ||
               take_field(line, "Multi-Arch: ", multiple) ||
               take_field(line, "Version: ", version) || take_field(line, "Status: ", status));
        if (!line.empty() && !rest.empty()) continue;
        if (status.ends_with(" installed") && name.find('/') == std::string::npos &&
            architecture.find('/') == std::string::npos) {
            const std::string suffix = multiple == "same" ? ":" + architecture : "";
            packages_->push_back({name + suffix + std::string(dpkg_list_suffix),
                                  printable(version.substr(0, version_limit_bytes))});
        }
        for (std::string* field : {&name, &architecture, &multiple, &version, &status})
            field->clear();
    }
}

// If /bin is a link to /usr/bin, some lists still say /bin.
bool PackageVersions::owns(const Package& package, std::string_view program) {
    const auto content =
        read_file(on_machine(std::filesystem::path(dpkg_lists) / package.list, machine_),
                  std::min(list_limit_bytes, bytes_left_));
    if (!content) return false;
    bytes_left_ -= content->size();
    constexpr std::string_view usr = "/usr";
    const std::string_view shorter =
        program.starts_with("/usr/") ? program.substr(usr.size()) : std::string_view{};
    std::string_view rest = *content;
    while (!rest.empty()) {
        const std::string_view line = take_line(rest);
        if (line == program || (!shorter.empty() && line == shorter)) return true;
    }
    return false;
}

}  // namespace lagtrap::trace
