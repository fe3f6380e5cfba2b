#include "daemon/processes/process_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "binaries/reader/file_reader.hpp"

namespace lagtrap::daemon {

Status ProcessFiles::still_wanted() const {
    if (given_up_.load()) return make_error(ErrorKind::Timeout, "the trace was cancelled");
    if (std::chrono::steady_clock::now() >= until_)
        return make_error(
            ErrorKind::Timeout,
            "reading the program's code took longer than 60 s; choose fewer functions");
    return success();
}

Status ProcessFiles::read(std::uint32_t pid) {
    TRY_ASSIGN(const InspectedProcess process,
               inspector_.read(pid, ProcessInspector::Code::Read, {}));
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> numbers;
    process.records.for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_MAPPING) return;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        const std::string path(path_of(mapping));
        const auto [found, is_new] =
            numbers.try_emplace({mapping.device, mapping.inode}, files_.size());
        if (is_new) files_.push_back({{path, nullptr}, {mapping, path}, {}, {}});
        parts_.push_back({mapping, found->second});
    });
    if (files_.empty())
        return make_error(ErrorKind::NotFound,
                          fmt::format("no process {}, or it is a kernel thread", pid));
    return success();
}

std::string ProcessFiles::name_of(std::uint32_t file) const {
    return std::filesystem::path(files_[file].file.path).filename().string();
}

std::vector<CodePlace> ProcessFiles::find(std::uint32_t file, std::string_view name) {
    std::vector<CodePlace> places;
    auto code = program(file);
    if (!code) return places;
    const auto functions = (*code)->find_functions(name);
    if (!functions) return places;
    for (const binaries::Function& function : *functions)
        places.push_back({file, function.file_offset});
    return places;
}

std::optional<CodePlace> ProcessFiles::place_at(std::uint64_t address) const {
    const auto next = std::upper_bound(
        parts_.begin(), parts_.end(), address,
        [](std::uint64_t wanted, const Part& part) { return wanted < part.mapping.start; });
    if (next == parts_.begin()) return std::nullopt;
    const Part& part = *std::prev(next);
    const std::uint64_t distance = address - part.mapping.start;
    if (distance >= part.mapping.length) return std::nullopt;
    return CodePlace{part.file, distance + part.mapping.file_offset};
}

std::optional<std::uint64_t> ProcessFiles::address_of(const CodePlace& place) const {
    for (const Part& part : parts_)
        if (part.file == place.file && place.offset >= part.mapping.file_offset &&
            place.offset - part.mapping.file_offset < part.mapping.length)
            return part.mapping.start + (place.offset - part.mapping.file_offset);
    return std::nullopt;
}

Result<binaries::ProgramFile*> ProcessFiles::program(std::uint32_t number) {
    File& file = files_[number];
    if (file.program) return &*file.program;
    if (file.problem) return *file.problem;
    const auto open = [&]() -> Result<binaries::ProgramFile> {
        TRY_ASSIGN(OpenedFile opened, inspector_.open(file.mapping));
        UniqueFd read(::fcntl(opened.file.get(), F_DUPFD_CLOEXEC, 0));
        if (!read.valid()) return system_error(file.file.path);
        file.file.file = std::make_shared<const UniqueFd>(std::move(opened.file));
        return binaries::ProgramFile::open(std::move(read), file.file.path, {until_, &given_up_});
    };
    auto opened = open();
    if (!opened) {
        file.problem = opened.error();
        return *file.problem;
    }
    file.program.emplace(std::move(*opened));
    return &*file.program;
}

Result<std::vector<binaries::FunctionCalls>> ProcessFiles::calls_of(
    std::uint32_t file, const std::vector<std::uint64_t>& entries) {
    TRY(still_wanted());
    TRY_ASSIGN(binaries::ProgramFile* const code, program(file));
    TRY_ASSIGN(auto calls, binaries::function_calls(*code, entries));
    const auto is_go = [](const binaries::FunctionCalls& one) { return one.goid_offset != 0; };
    if (!takes_go_ && std::any_of(calls.begin(), calls.end(), is_go))
        return make_error(
            ErrorKind::Unsupported,
            "is a Go program, whose goroutines change threads and stacks during a call; use "
            "\"lagtrap calls\" for one of its functions, or events (lagtrap-settings(5))");
    return calls;
}

std::vector<CallFile> ProcessFiles::opened() const {
    std::vector<CallFile> all;
    for (const File& file : files_) all.push_back(file.file);
    return all;
}

}  // namespace lagtrap::daemon
