#include "daemon/capture/context_finder.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "binaries/reader/file_reader.hpp"

namespace lagtrap::daemon {
namespace {

constexpr const char* variable_name = "otel_thread_ctx_v1";

Result<binaries::ThreadVariable> read_variable(OpenedFile file, const std::string& path) {
    if (binaries::FileReader* const reader = binaries::file_reader())
        return reader->thread_variable(file.file.get(), variable_name);
    TRY_ASSIGN(const auto image, binaries::ElfImage::from_file(std::move(file.file), path));
    return binaries::find_thread_variable(image, variable_name);
}

// Each file once, by its first code.
std::vector<NamedMapping> files_in(const RecordBuffer& records) {
    std::vector<NamedMapping> files;
    std::set<std::string, std::less<>> paths;
    records.for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_MAPPING) return;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        const std::string path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
        if (path.starts_with('/') && paths.insert(path).second) files.push_back({mapping, path});
    });
    return files;
}

}  // namespace

lagtrap_context_place context_place(const binaries::ThreadPlace& place,
                                    const std::vector<std::string>& paths) {
    // In both C libraries, the second word of a thread's head leads to the list of its blocks. That
    // has two words for each block in glibc, and one in musl; its length is before it in glibc, and
    // its first word in musl.
    const bool is_musl = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
        return path.find("/ld-musl-") != std::string::npos ||
               path.find("/libc.musl-") != std::string::npos;
    });
    lagtrap_context_place found{};
    found.offset = place.offset;
    found.block = place.block;
    found.block_entry_bytes = is_musl ? 8 : 16;
    found.block_count_offset = is_musl ? 0 : -16;
    return found;
}

Result<std::optional<binaries::ThreadVariable>> ContextFinder::variable_of(
    const NamedMapping& mapping, const CodeFileIdentity& identity) {
    const FileKey key{identity.device, identity.inode, identity.size_bytes, identity.changed_ns};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    TRY_ASSIGN(OpenedFile opened, inspector_.open(mapping));
    auto variable = read_variable(std::move(opened), mapping.path);
    // Try again later, unless this says something about the file.
    if (!variable &&
        (variable.error().kind == ErrorKind::Busy || variable.error().kind == ErrorKind::Timeout))
        return variable.error();
    if (known_.size() >= files_limit) known_.clear();
    return known_[key] = variable ? std::optional(*variable) : std::nullopt;
}

Result<std::array<std::uint64_t, 2>> ContextFinder::words_at(std::uint32_t pid,
                                                             std::uint64_t address) {
    TRY_ASSIGN(const auto words, inspector_.read_words(pid, {address, address + 8}));
    if (words.size() != 2) return make_error(ErrorKind::NotFound, "no memory there");
    return std::array<std::uint64_t, 2>{words[0], words[1]};
}

Result<binaries::ThreadPlace> ContextFinder::place_of(const NamedMapping& mapping,
                                                      const binaries::ThreadVariable& variable) {
    const std::uint32_t pid = mapping.mapping.pid;
    std::array<std::uint64_t, 2> words{};
    if (variable.access != binaries::ThreadAccess::Fixed) {
        const std::uint64_t code = mapping.mapping.start - mapping.mapping.file_offset;
        TRY_ASSIGN(words, words_at(pid, code + variable.words));
    }
    auto place = binaries::thread_place(variable, words);
    if (const auto further = binaries::dynamic_block_at(variable, words)) {
        TRY_ASSIGN(words, words_at(pid, *further));
        place = binaries::dynamic_thread_place(words);
    }
    if (!place) return make_error(ErrorKind::NotFound, "its variable has no place yet");
    return *place;
}

Result<FoundContext> ContextFinder::find(std::uint32_t pid) {
    TRY_ASSIGN(ProcessContext context, inspector_.process_context(pid));
    TRY_ASSIGN(const InspectedProcess process,
               inspector_.read(pid, ProcessInspector::Code::Read, {}));
    const std::vector<NamedMapping> files = files_in(process.records);
    std::vector<std::string> paths;
    for (const NamedMapping& file : files) paths.push_back(file.path);
    const auto identities = inspector_.identify(files);
    Error problem = make_error(ErrorKind::NotFound, "none of its files has the variable");
    for (std::size_t i = 0; i < std::min(files.size(), identities.size()); ++i) {
        if (!identities[i]) continue;
        const auto variable = variable_of(files[i], *identities[i]);
        if (!variable || !*variable) continue;
        const auto place = place_of(files[i], **variable);
        if (place) return FoundContext{context_place(*place, paths), std::move(context.keys)};
        problem = place.error();
    }
    return problem;
}

}  // namespace lagtrap::daemon
