#include "daemon/processes/code_pieces.hpp"

#include <iterator>
#include <utility>

#include "daemon/processes/mapping_build_id.hpp"

namespace lagtrap::daemon {

std::string ReportedFile::key() const {
    if (build_id.empty()) return {};
    return build_id + ' ' + std::to_string(device) + ' ' + std::to_string(inode) + ' ' + path;
}

lagtrap_mapping CodePiece::mapping_in(std::uint32_t pid) const {
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.pid = pid;
    mapping.start = start;
    mapping.length = end - start;
    mapping.file_offset = file_offset;
    if (!file) return mapping;
    mapping.device = file->device;
    mapping.inode = file->inode;
    set_build_id(mapping, file->build_id);
    return mapping;
}

void CodePieces::insert(CodePiece piece) {
    cost_bytes_ += piece.cost_bytes();
    pieces_.emplace(piece.start, std::move(piece));
}

void CodePieces::put(CodePiece piece) {
    auto place = pieces_.lower_bound(piece.start);
    if (place != pieces_.begin() && std::prev(place)->second.end > piece.start) --place;
    while (place != pieces_.end() && place->second.start < piece.end) {
        CodePiece before = std::move(place->second);
        cost_bytes_ -= before.cost_bytes();
        place = pieces_.erase(place);
        CodePiece after = before;
        if (before.start < piece.start) {
            before.end = piece.start;
            insert(std::move(before));
        }
        if (after.end > piece.end) {
            after.file_offset += piece.end - after.start;
            after.start = piece.end;
            insert(std::move(after));
        }
    }
    insert(std::move(piece));
}

bool CodePieces::covers(const CodePiece& piece) const {
    const auto after = pieces_.upper_bound(piece.start);
    if (piece.kind != PieceKind::RuntimeCode || after == pieces_.begin()) return false;
    const CodePiece& over = std::prev(after)->second;
    return piece.end <= over.end && over.kind == PieceKind::RuntimeCode;
}

}  // namespace lagtrap::daemon
