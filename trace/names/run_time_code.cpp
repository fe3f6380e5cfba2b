#include "trace/names/run_time_code.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/logs/code_files.hpp"
#include "trace/names/jit_pieces.hpp"
#include "trace/names/jitdump.hpp"
#include "trace/names/perf_map.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t files_limit = 10'000;

// by pid; oldest first for each
using FilesOfProcesses = std::map<std::uint32_t, std::vector<CodeFileName>>;

FilesOfProcesses list_files(const std::filesystem::path& directory) {
    FilesOfProcesses files;
    const auto listed = list_folder(directory, files_limit);
    if (!listed) return files;
    for (const std::string& text : *listed)
        if (const auto name = parse_code_file_name(text)) files[name->pid].push_back(*name);
    for (auto& [pid, names] : files)
        std::sort(names.begin(), names.end(),
                  [](const CodeFileName& a, const CodeFileName& b) { return a.at_ns < b.at_ns; });
    return files;
}

class Namer {
  public:
    Namer(StackTable& stacks, const std::filesystem::path& directory, std::uint64_t started_ns)
        : stacks_(stacks), directory_(directory), started_ns_(started_ns) {}

    // Names the frames of one process from the files of one kind.
    void name(std::span<const RunTimeFrame> frames, const std::vector<CodeFileName>& files,
              CodeFileKind kind);
    RunTimeNaming naming;

  private:
    void name_by(const CodeFileName& file, const std::vector<RunTimeFrame>& frames);
    std::vector<JitPiece> parse(std::string_view content, CodeFileKind kind);

    StackTable& stacks_;
    const std::filesystem::path& directory_;
    std::uint64_t started_ns_;
};

// A copy covers the time from the previous copy until it was made.
void Namer::name(std::span<const RunTimeFrame> frames, const std::vector<CodeFileName>& files,
                 CodeFileKind kind) {
    std::vector<CodeFileName> copies;
    std::copy_if(files.begin(), files.end(), std::back_inserter(copies),
                 [&](const CodeFileName& file) { return file.kind == kind; });
    if (copies.empty()) return;
    std::vector<std::vector<RunTimeFrame>> frames_of_copy(copies.size());
    for (const RunTimeFrame& frame : frames) {
        if (stacks_.frames()[frame.frame].name != no_name) continue;
        const auto copy =
            std::find_if(copies.begin(), copies.end() - 1,
                         [&](const CodeFileName& file) { return file.at_ns >= frame.at_ns; });
        frames_of_copy[static_cast<std::size_t>(copy - copies.begin())].push_back(frame);
    }
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (!frames_of_copy[i].empty()) name_by(copies[i], frames_of_copy[i]);
}

void Namer::name_by(const CodeFileName& file, const std::vector<RunTimeFrame>& frames) {
    const auto content = read_file(directory_ / to_text(file), code_file_limit_bytes);
    if (!content) {
        ++naming.files_bad;
        return;
    }
    const JitPieces pieces(parse(*content, file.kind), started_ns_);
    for (const RunTimeFrame& seen : frames) {
        CodeFrame& frame = stacks_.frames()[seen.frame];
        const std::string_view name = pieces.find(frame.offset, seen.at_ns);
        if (name.empty()) continue;
        frame.name = stacks_.intern_name(printable(name));
        frame.module = jit_module;
        ++naming.named;
    }
}

std::vector<JitPiece> Namer::parse(std::string_view content, CodeFileKind kind) {
    if (kind == CodeFileKind::PerfMap) {
        PerfMap map = parse_perf_map(content);
        naming.lines_bad += map.damaged + map.left_out;
        return std::move(map.pieces);
    }
    auto dump = parse_jitdump(content);
    if (!dump) {
        ++naming.files_bad;
        return {};
    }
    naming.lines_bad += dump->damaged + dump->left_out;
    return std::move(dump->pieces);
}

}  // namespace

RunTimeNaming name_run_time_code(StackTable& stacks, const std::filesystem::path& capture_directory,
                                 std::uint64_t started_ns) {
    const std::filesystem::path directory = capture_directory / code_directory_name;
    Namer namer(stacks, directory, started_ns);
    std::vector<RunTimeFrame> frames = stacks.run_time_frames();
    namer.naming.frames = frames.size();
    const FilesOfProcesses files = list_files(directory);
    if (files.empty()) return namer.naming;
    std::stable_sort(frames.begin(), frames.end(),
                     [](const RunTimeFrame& a, const RunTimeFrame& b) { return a.pid < b.pid; });
    for (auto first = frames.begin(); first != frames.end();) {
        const std::uint32_t pid = first->pid;
        const auto last = std::find_if(first, frames.end(),
                                       [&](const RunTimeFrame& frame) { return frame.pid != pid; });
        // Jitdumps first, because they say when each piece was made.
        if (const auto known = files.find(pid); known != files.end())
            for (const CodeFileKind kind : {CodeFileKind::Jitdump, CodeFileKind::PerfMap})
                namer.name({first, last}, known->second, kind);
        first = last;
    }
    return namer.naming;
}

}  // namespace lagtrap::trace
