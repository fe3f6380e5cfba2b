#include "trace/names/wait_loops.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "binaries/code/wait_loop.hpp"
#include "trace/names/busy_wait_name.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t min_uses = 3;

binaries::WaitLoop loop_at(int program, std::uint64_t offset) {
    std::array<char, 2 * binaries::max_wait_loop_bytes> code{};
    const std::uint64_t begin = offset - std::min<std::uint64_t>(offset, code.size() / 2);
    const ssize_t size = ::pread(program, code.data(), code.size(), static_cast<off_t>(begin));
    if (size <= 0) return binaries::WaitLoop::None;
    return binaries::wait_loop_at({code.data(), static_cast<std::size_t>(size)}, offset - begin);
}

}  // namespace

std::vector<FrameId> often_used_places(const StackTable& stacks, std::vector<FrameId> places,
                                       const std::vector<std::uint64_t>& uses) {
    const auto offset_of = [&](FrameId place) { return stacks.frames()[place].offset; };
    std::erase_if(places, [&](FrameId place) { return uses[place] == 0; });
    std::sort(places.begin(), places.end(),
              [&](FrameId a, FrameId b) { return offset_of(a) < offset_of(b); });
    std::vector<FrameId> chosen;
    std::uint64_t near = 0;  // uses from `first` to before `end`
    auto first = places.begin(), end = places.begin();
    for (const FrameId place : places) {
        for (; end != places.end() &&
               offset_of(*end) - offset_of(place) < binaries::max_wait_loop_bytes;
             ++end)
            near += uses[*end];
        for (; offset_of(place) - offset_of(*first) >= binaries::max_wait_loop_bytes; ++first)
            near -= uses[*first];
        if (near >= min_uses) chosen.push_back(place);
    }
    return chosen;
}

void mark_wait_loops(StackTable& stacks, std::span<const FrameId> places, int program) {
    for (const FrameId place : places) {
        const binaries::WaitLoop loop = loop_at(program, stacks.frames()[place].offset);
        if (loop == binaries::WaitLoop::None) continue;
        const auto outer = static_cast<FrameId>(stacks.frames().size());
        stacks.frames().push_back(CodeFrame(stacks.frames()[place]));
        stacks.frames()[place].name = stacks.intern_name(
            loop == binaries::WaitLoop::Waits ? busy_wait_name : possible_busy_wait_name);
        stacks.frames()[place].inlined_into = outer;
    }
}

}  // namespace lagtrap::trace
