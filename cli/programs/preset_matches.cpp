#include "cli/programs/preset_matches.hpp"

#include <algorithm>
#include <charconv>

#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::cli {

namespace fs = std::filesystem;

namespace {

std::string link_of(const fs::path& process, const std::vector<std::string>& files) {
    const auto command = read_file(process / "cmdline", 1 << 16);
    if (!command || files.empty()) return {};
    // A process may write its own title there, with spaces.
    const fs::path started = command->substr(0, command->find_first_of(std::string_view("\0 ", 2)));
    const fs::path beside = fs::path(files.front()).parent_path() / started.filename();
    std::error_code failed;
    const bool is_link = !started.filename().empty() && beside != files.front() &&
                         fs::equivalent(process / "exe", beside, failed);
    return is_link ? beside.string() : std::string();
}

}  // namespace

std::vector<MappedProcess> mapped_processes(const fs::path& proc_root) {
    std::vector<MappedProcess> processes;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(proc_root, ignored)) {
        const std::string number = entry.path().filename().string();
        std::uint32_t pid = 0;
        const auto [end, failure] =
            std::from_chars(number.data(), number.data() + number.size(), pid);
        if (failure != std::errc{} || end != number.data() + number.size()) continue;
        auto files = mapped_files(entry.path());
        if (!files) continue;
        auto name = read_file(entry.path() / "comm", 64);
        if (name && name->ends_with('\n')) name->pop_back();
        processes.push_back({pid, name ? printable(*name) : std::string(), std::move(*files), {}});
        processes.back().link = link_of(entry.path(), processes.back().files);
    }
    std::sort(processes.begin(), processes.end(),
              [](const auto& a, const auto& b) { return a.pid < b.pid; });
    return processes;
}

std::vector<std::string> binaries_of(const settings::Preset& preset) {
    std::vector<std::string> binaries;
    const auto add = [&](const settings::Element& element) {
        const settings::Attribute* binary = element.attribute("binary");
        if (binary && std::find(binaries.begin(), binaries.end(), binary->text) == binaries.end())
            binaries.push_back(binary->text);
    };
    for (const settings::Element& event : preset.events) {
        add(event);
        for (const settings::Element& child : event.children)
            if (child.spec->name != "scope") add(child);
    }
    return binaries;
}

bool uses_one_of(const MappedProcess& process, const std::vector<std::string>& binaries,
                 bool program_alone) {
    const std::size_t looked_at =
        program_alone ? std::min<std::size_t>(1, process.files.size()) : process.files.size();
    for (const std::string& binary : binaries) {
        if (!process.link.empty() && settings::means_file(binary, process.link, {})) return true;
        for (std::size_t i = 0; i < looked_at; ++i)
            if (settings::means_file(binary, process.files[i], {})) return true;
    }
    return false;
}

}  // namespace lagtrap::cli
