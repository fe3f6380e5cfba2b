#include "formats/encoders.hpp"
#include "formats/text_pieces.hpp"

namespace lagtrap::formats {

namespace {

std::string cell(const std::string& text) {
    std::string safe =
        !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos
            ? "'" + text
            : text;
    if (safe.find_first_of(",\"") == std::string::npos) return safe;
    std::string quoted_cell = "\"";
    for (const char c : safe) quoted_cell += c == '"' ? "\"\"" : std::string(1, c);
    return quoted_cell + '"';
}

std::string_view word_of_kind(analysis::TimeKind kind) {
    switch (kind) {
        case analysis::TimeKind::OnCpu: return "on CPU";
        case analysis::TimeKind::Runnable: return "waits for a CPU";
        case analysis::TimeKind::Blocked: return "blocked";
        default: return "unknown";
    }
}

}  // namespace

std::string encode_csv(const StackProfile& profile) {
    std::string text =
        "process,pid,thread,tid,begin_ns,duration_ns,weight_ns,state,reason,cpu,function,module,"
        "source,line,"
        "stack\r\n";
    for (const ProfiledThread& thread : profile.threads) {
        const std::string start = cell(thread.process) + "," + std::to_string(thread.pid) + "," +
                                  cell(thread.name) + "," + std::to_string(thread.tid) + ",";
        for (const Piece& piece : thread.pieces) {
            text += start + std::to_string(piece.begin_ns) + "," + std::to_string(piece.length_ns) +
                    "," + std::to_string(piece.weight_ns) + ",";
            text.append(word_of_kind(piece.kind))
                .append(",")
                .append(cell(profile.texts[piece.reason]))
                .append(",");
            if (piece.kind == analysis::TimeKind::OnCpu) text += std::to_string(piece.cpu);
            const Place none;
            const Place& place =
                piece.stack == 0 ? none : profile.places[profile.nodes[piece.stack].place];
            text += "," + cell(place.function) + "," + cell(place.module) + "," +
                    cell(place.source) + "," + (place.line != 0 ? std::to_string(place.line) : "") +
                    ",";
            std::string stack;
            for (const std::uint32_t node : profile.path_of(piece.stack))
                stack.append(stack.empty() ? "" : ";")
                    .append(profile.places[profile.nodes[node].place].function);
            text += cell(stack) + "\r\n";
        }
    }
    return text;
}

}  // namespace lagtrap::formats
