#include <algorithm>
#include <cstdio>

#include "formats/encoders.hpp"
#include "formats/text_pieces.hpp"

namespace lagtrap::formats {

namespace {

// Each line of perf script ends in "(FILE)", or "([unknown])" without a file.
std::string stack_text(const StackProfile& profile, std::uint32_t leaf) {
    std::string text;
    for (std::uint32_t node = leaf; node != 0; node = profile.nodes[node].parent) {
        const Place& place = profile.places[profile.nodes[node].place];
        char address[24];
        std::snprintf(address, sizeof address, "\t%16llx ",
                      static_cast<unsigned long long>(place.offset));
        text.append(address).append(place.function).append(" (");
        text.append(place.kernel           ? "[kernel.kallsyms]"
                    : place.module.empty() ? "[unknown]"
                                           : place.module);
        text.append(")\n");
    }
    return text;
}

}  // namespace

std::string encode_perf(const StackProfile& profile) {
    struct Line {
        const ProfiledThread* thread;
        const Piece* piece;
    };
    std::vector<Line> lines;
    for (const ProfiledThread& thread : profile.threads)
        for (const Piece& piece : thread.pieces)
            if (piece.weight_ns > 0) lines.push_back({&thread, &piece});
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return a.piece->begin_ns < b.piece->begin_ns;
    });
    std::string text;
    for (const Line& line : lines) {
        char cpu[16];
        std::snprintf(cpu, sizeof cpu, " [%03u] ", unsigned{line.piece->cpu});
        const std::string& name = line.thread->name;
        text.append(name).append(" ").append(std::to_string(line.thread->pid)).append("/");
        text.append(std::to_string(line.thread->tid)).append(cpu);
        text.append(decimal((profile.boottime_ns + line.piece->begin_ns) / 1000, 6)).append(": ");
        text.append(std::to_string(line.piece->weight_ns));
        text.append(line.piece->kind == analysis::TimeKind::OnCpu ? " cpu-clock: \n"
                                                                  : " off-cpu: \n");
        text.append(stack_text(profile, line.piece->leaf)).append("\n");
    }
    return text;
}

}  // namespace lagtrap::formats
