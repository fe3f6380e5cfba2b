#include "binaries/reader/call_messages.hpp"

#include "binaries/code/function_places.hpp"
#include "binaries/reader/reader_messages.hpp"
#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t min_bytes = 64;  // per function, with all counts 0
constexpr std::size_t slot_bytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t indirect_bytes = 2 * sizeof(std::uint64_t) + 4;

void encode_target(WireWriter& writer, const JumpTarget& target) {
    writer.number(target.displacement);
    writer.number(target.base);
    writer.number(target.index);
    writer.number(target.scale_shift);
    writer.number(static_cast<std::uint8_t>(target.in_memory));
}

JumpTarget decode_target(WireReader& reader, bool& sound) {
    const auto is_register = [](std::uint8_t number) {
        return number < 16 || number == no_jump_register;
    };
    JumpTarget target;
    target.displacement = reader.number<std::int64_t>();
    target.base = reader.number<std::uint8_t>();
    target.index = reader.number<std::uint8_t>();
    target.scale_shift = reader.number<std::uint8_t>();
    target.in_memory = reader.number<std::uint8_t>() != 0;
    sound =
        sound && is_register(target.base) && is_register(target.index) && target.scale_shift <= 3;
    return target;
}

FunctionCalls decode_function_calls(WireReader& reader, bool& sound) {
    FunctionCalls calls;
    calls.symbol = reader.text(max_symbol_bytes);
    calls.name = printable(reader.text(max_symbol_bytes));
    calls.first_code = reader.text(code_bytes);
    calls.problem = printable(reader.text(max_message_bytes));
    calls.return_probe = reader.number<std::uint8_t>() != 0;
    calls.exits = read_exits(reader, max_return_sites, sound);
    calls.callees = reader.items<std::uint64_t>(max_callees_of_function);
    calls.slots.resize(reader.count(max_callees_of_function, slot_bytes));
    for (CodeSlot& slot : calls.slots) {
        slot.address = reader.number<std::uint64_t>();
        slot.symbol = reader.text(max_symbol_bytes);
    }
    calls.indirect.resize(reader.count(max_callees_of_function, indirect_bytes));
    for (IndirectCall& call : calls.indirect) {
        call.file_offset = reader.number<std::uint64_t>();
        call.target = decode_target(reader, sound);
    }
    calls.goid_offset = reader.number<std::uint32_t>();
    calls.frame_offset = reader.number<std::uint32_t>();
    calls.entry = reader.number<std::uint64_t>();
    sound = sound && calls.goid_offset <= max_go_offset && calls.frame_offset <= max_go_offset;
    return calls;
}

}  // namespace

std::string encode_calls(const std::vector<FunctionCalls>& calls) {
    WireWriter writer;
    writer.number(static_cast<std::uint64_t>(calls.size()));
    for (const FunctionCalls& one : calls) {
        writer.text(one.symbol);
        writer.text(one.name);
        writer.text(one.first_code);
        writer.text(std::string_view(one.problem).substr(0, max_message_bytes));
        writer.number(static_cast<std::uint8_t>(one.return_probe));
        write_exits(writer, one.exits);
        writer.items(one.callees);
        writer.number(static_cast<std::uint64_t>(one.slots.size()));
        for (const CodeSlot& slot : one.slots) {
            writer.number(slot.address);
            writer.text(slot.symbol);
        }
        writer.number(static_cast<std::uint64_t>(one.indirect.size()));
        for (const IndirectCall& call : one.indirect) {
            writer.number(call.file_offset);
            encode_target(writer, call.target);
        }
        writer.number(one.goid_offset);
        writer.number(one.frame_offset);
        writer.number(one.entry);
    }
    return writer.take();
}

Result<std::vector<FunctionCalls>> decode_calls(std::string_view body, std::size_t functions) {
    WireReader reader(body);
    bool sound = true;
    std::vector<FunctionCalls> calls;
    for (std::size_t left = reader.count(functions, min_bytes); left > 0 && reader.good(); --left)
        calls.push_back(decode_function_calls(reader, sound));
    if (!reader.complete() || !sound || calls.size() != functions) return malformed_answer();
    return calls;
}

}  // namespace lagtrap::binaries
