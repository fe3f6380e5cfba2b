#include "daemon/unwinding/code_space.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/unwinding/code_module.hpp"

namespace lagtrap::daemon {
namespace {

// The name of anonymous memory in perf's records.
constexpr std::string_view runtime_code_path = "//anon";

bool same(const std::vector<lagtrap_unwind_mapping>& a,
          const std::vector<lagtrap_unwind_mapping>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

}  // namespace

CodeSpace::~CodeSpace() {
    if (place) store.drop_space(*place);
    room.give_back(user, charged_bytes);
}

bool CodeSpace::put(CodePiece piece, std::size_t max_pieces) {
    if (pieces.all().size() >= max_pieces) room.count_left_out(user, 1);
    if (pieces.all().size() >= max_pieces || !room.take(user, piece.cost_bytes())) {
        outgrown = true;
        return false;
    }
    charged_bytes += piece.cost_bytes();
    changed = true;
    if (piece.file && !piece.identified) identified = false;
    pieces.put(std::move(piece));
    charge();
    return true;
}

// Splitting pieces around a new one may have added a piece.
void CodeSpace::charge() {
    const std::uint64_t cost_bytes = pieces.cost_bytes();
    if (cost_bytes > charged_bytes) room.take_anyway(user, cost_bytes - charged_bytes);
    if (cost_bytes < charged_bytes) room.give_back(user, charged_bytes - cost_bytes);
    charged_bytes = cost_bytes;
}

void CodeSpace::copy(const CodeSpace& other) {
    if (!room.take(user, other.pieces.cost_bytes())) {
        outgrown = true;
        return;
    }
    pieces = other.pieces;
    charged_bytes = pieces.cost_bytes();
    watched = other.watched;
}

CodePieces CodeSpace::take_pieces() {
    CodePieces taken = std::exchange(pieces, CodePieces());
    charge();
    changed = true;
    return taken;
}

void CodeSpace::change_user(Party to) {
    room.give_back(user, charged_bytes);
    user = to;
    room.take_anyway(user, charged_bytes);
}

std::vector<lagtrap_unwind_mapping> CodeSpace::mappings(std::uint64_t& left_out) const {
    std::vector<lagtrap_unwind_mapping> mappings;
    for (const auto& [start, piece] : pieces.all()) {
        lagtrap_unwind_mapping mapping{};
        mapping.start = piece.start;
        mapping.length = piece.end - piece.start;
        if (piece.kind == PieceKind::File) mapping.table = LAGTRAP_UNWIND_UNREADABLE_FILE;
        if (piece.module) mapping.table = piece.module->table;
        if (piece.module && piece.module->state == ModuleState::Ready)
            mapping.table_start = piece.module->table_start(piece.start, piece.file_offset);
        const bool joins = !mappings.empty() && piece.kind == PieceKind::RuntimeCode &&
                           mappings.back().table == LAGTRAP_UNWIND_RUNTIME_CODE &&
                           mappings.back().start + mappings.back().length == piece.start;
        if (joins) {
            mappings.back().length += mapping.length;
        } else if (mappings.size() < LAGTRAP_UNWIND_MAX_MAPPINGS) {
            mappings.push_back(mapping);
        } else {
            ++left_out;
        }
    }
    return mappings;
}

bool CodeSpace::write(std::uint64_t modules, std::uint64_t& left_out) {
    auto next = mappings(left_out);
    changed = false;
    generation = modules;
    if (place && same(next, written)) return true;
    const auto new_place = store.add_space(next);
    if (!new_place) {
        changed = true;  // try again later
        return false;
    }
    if (place) store.drop_space(*place);
    place = new_place;
    written = std::move(next);
    return true;
}

void CodeSpace::describe(std::uint32_t pid, std::uint64_t at_ns, UserShares& log_room,
                         RecordBuffer& records) const {
    for (const auto& [start, piece] : pieces.all()) {
        lagtrap_mapping mapping = piece.mapping_in(pid);
        mapping.header.at_ns = at_ns;
        if (piece.module && !piece.module->build_id.empty())
            set_build_id(mapping, piece.module->build_id);
        const std::string_view path =
            piece.file ? std::string_view(piece.file->path) : runtime_code_path;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        if (log_room.take(user, sizeof(mapping) + path.size()))
            records.append(&mapping, sizeof(mapping), path);
    }
}

std::uint64_t CodeSpace::files_waiting() const {
    if (identified || look_pause > Clock::duration{}) return 0;
    const auto waits = [](const auto& entry) {
        return entry.second.file && !entry.second.identified && !entry.second.module;
    };
    return static_cast<std::uint64_t>(
        std::count_if(pieces.all().begin(), pieces.all().end(), waits));
}

}  // namespace lagtrap::daemon
