#include "daemon/runs/frame_names.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "binaries/dwarf/place_names.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/text.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/names/file_symbols.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t places_limit = 50'000;
// functions at one address; the middle ones are left out
constexpr std::size_t inlined_limit = 16;
constexpr std::size_t stack_frames_limit = 250;  // including inlined functions
constexpr auto pause_after_budget = 30s;
const binaries::DebugInfoLimits debug_info_limits{512ULL << 20, 64 << 20};

std::string key_of(const std::string& path, const std::string& build_id) {
    return path + '\0' + build_id;
}

}  // namespace

std::optional<FrameNames::File> FrameNames::find(const trace::RecordedModule& module) {
    std::vector<trace::ModuleUser> users = module.users;
    if (users.empty()) users.emplace_back();
    for (const trace::ModuleUser& user : users) {
        NamedMapping named;
        named.mapping.pid = user.pid;
        named.mapping.start = user.start;
        named.mapping.length = user.end - user.start;
        named.mapping.device = module.device;
        named.mapping.inode = module.inode;
        named.path = module.path;
        auto opened = inspector_.open(named);
        if (!opened) continue;
        const bool same =
            module.build_id.empty()
                ? opened->identity.inode == module.inode && opened->identity.device == module.device
                : binaries::read_build_id(opened->file.get()) == hexadecimal(module.build_id);
        if (same) return File{std::move(opened->file), user.pid};
    }
    return std::nullopt;
}

void FrameNames::look_up(const trace::RecordedModule& module, Module& known,
                         std::vector<std::uint64_t> offsets, trace::NamingBudget& budget) {
    const auto file = find(module);
    const auto keep = [&](std::uint64_t offset, Functions functions) {
        if (known.places.insert_or_assign(offset, std::move(functions)).second) ++places_;
    };
    if (!file || !budget.time_left()) {
        known.next_try = std::chrono::steady_clock::now() + pause_after_budget;
        return;
    }
    binaries::PlaceNamesRequest request;
    request.path = on_machine(module.path);
    request.open_debug_file =
        [this, pid = file->pid](const std::filesystem::path& path) -> Result<UniqueFd> {
        NamedMapping named;
        named.mapping.pid = pid;
        named.path = name_on_machine(path).string();
        TRY_ASSIGN(OpenedFile opened, inspector_.open(named));
        if (!opened.is_program) return make_error(ErrorKind::Denied, "is not a debug file");
        return std::move(opened.file);
    };
    request.offsets = std::move(offsets);
    request.symbol_table_bytes = budget.limits().symbol_table_bytes;
    request.read_bytes = budget.limits().read_bytes;
    request.debug_info = debug_info_limits;
    request.cpu_time = budget.limits().cpu_time;
    const auto named = binaries::name_places(file->fd, request);
    // A file that its reader could not handle is not tried again.
    const bool later = named && named->left_out;
    for (std::size_t i = 0; i < request.offsets.size(); ++i) {
        Functions functions;
        std::string symbol;
        if (named) {
            functions = named->places[i].frames;
            symbol = named->places[i].symbol;
        }
        trace::take_symbol(functions, symbol);
        if (functions.empty() && !symbol.empty()) functions.push_back({symbol, {}, 0});
        if (functions.size() > inlined_limit)
            functions.erase(functions.begin() + inlined_limit - 1, functions.end() - 1);
        if (functions.empty() && later) continue;
        keep(request.offsets[i], std::move(functions));
    }
    if (later) known.next_try = std::chrono::steady_clock::now() + pause_after_budget;
}

void FrameNames::name(GatheredBatch& gathered) {
    if (places_ > places_limit) {
        modules_.clear();
        places_ = 0;
    }
    // ascending offsets are cheapest
    std::unordered_map<std::string, std::set<std::uint64_t>> wanted;
    for (const trace::RunStack& stack : gathered.batch.stacks)
        for (const trace::RunFrame& frame : stack)
            if (!frame.module.empty())
                wanted[key_of(frame.module, frame.build_id)].insert(frame.offset);
    trace::NamingBudget budget(limits_);
    for (const trace::RecordedModule& module : gathered.modules) {
        const std::string key = key_of(module.path, hexadecimal(module.build_id));
        Module& known = modules_[key];
        std::vector<std::uint64_t> unknown;
        for (const std::uint64_t offset : wanted[key])
            if (!known.places.contains(offset)) unknown.push_back(offset);
        if (!unknown.empty() && std::chrono::steady_clock::now() >= known.next_try)
            look_up(module, known, std::move(unknown), budget);
    }
    for (trace::RunStack& stack : gathered.batch.stacks) {
        trace::RunStack named;
        for (const trace::RunFrame& frame : stack) {
            if (named.size() >= stack_frames_limit) break;
            const auto module = modules_.find(key_of(frame.module, frame.build_id));
            const bool known =
                module != modules_.end() && module->second.places.contains(frame.offset);
            const Functions none;
            const Functions& functions = known ? module->second.places.at(frame.offset) : none;
            for (const binaries::SourceFrame& function : functions) {
                named.push_back(frame);
                named.back().function = function.function;
                named.back().file = function.file;
                named.back().line = function.line;
            }
            if (functions.empty()) named.push_back(frame);
        }
        stack = std::move(named);
    }
}

}  // namespace lagtrap::daemon
