#include "binaries/reader/place_messages.hpp"

#include <vector>

#include "binaries/reader/reader_wire.hpp"

namespace lagtrap::binaries {

std::string encode_thread_variable(const ThreadVariable& variable) {
    WireWriter writer;
    writer.number(static_cast<std::uint32_t>(variable.access));
    writer.number(variable.offset);
    writer.number(variable.words);
    return writer.take();
}

Result<ThreadVariable> decode_thread_variable(std::string_view body) {
    WireReader reader(body);
    const auto access = reader.number<std::uint32_t>();
    ThreadVariable variable;
    variable.offset = reader.number<std::int64_t>();
    variable.words = reader.number<std::uint64_t>();
    if (!reader.complete() || access > static_cast<std::uint32_t>(ThreadAccess::Block))
        return malformed_answer();
    variable.access = static_cast<ThreadAccess>(access);
    return variable;
}

std::string encode_python_layout(const lagtrap_python& layout) {
    WireWriter writer;
    writer.items(std::vector{layout});
    return writer.take();
}

Result<lagtrap_python> decode_python_layout(std::string_view body) {
    WireReader reader(body);
    const auto layouts = reader.items<lagtrap_python>(1);
    if (!reader.complete() || layouts.empty()) return malformed_answer();
    return layouts.front();
}

}  // namespace lagtrap::binaries
