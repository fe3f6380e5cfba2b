// Messages between the daemon and lagtrap-reader, in both directions. The first byte selects the
// message. For names, the next two bytes are the number of requested addresses; for calls, the next
// byte is the number of functions.
#include "binaries/reader/reader_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "binaries/reader/call_messages.hpp"
#include "binaries/reader/name_messages.hpp"
#include "binaries/reader/place_messages.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap;
using namespace lagtrap::binaries;

namespace {

constexpr std::uint64_t bucket_bytes = LAGTRAP_UNWIND_BUCKET_BYTES;
constexpr std::uint64_t buckets_tried = 64;

void check(bool holds) {
    if (!holds) std::abort();
}

// An accepted message can be encoded again, and is then the same.
template <typename Decode, typename Encode>
auto take(std::string_view body, Decode decode, Encode encode) {
    auto taken = decode(body);
    if (!taken) return taken;
    const std::string said = encode(*taken);
    const auto again = decode(said);
    check(again.ok() && encode(*again) == said);
    return taken;
}

void take_table(std::string_view body) {
    const auto table = take(body, decode_table, encode_table);
    if (!table) return;
    // The kernel side looks up rules in it by the same steps.
    for (std::uint64_t bucket = 0;
         bucket < std::min<std::uint64_t>(table->bucket_count, buckets_tried); ++bucket)
        for (const std::uint64_t within : {std::uint64_t{0}, bucket_bytes / 2, bucket_bytes - 1})
            (void)find_unwind_rule(*table, table->base_address + bucket * bucket_bytes + within);
    for (const std::uint64_t outside :
         {std::uint64_t{0}, table->base_address - 1, ~std::uint64_t{0}})
        (void)find_unwind_rule(*table, outside);
}

void take_function(std::string_view body) {
    WireReader reader(body);
    const std::string name = reader.text(body.size());
    const Function function = decode_function(reader);
    if (!reader.complete()) return;
    WireWriter writer;
    writer.text(name);
    encode_function(writer, function);
    check(writer.take().size() == body.size());
}

void take_names(std::string_view body) {
    if (body.size() < 2) return;
    const std::size_t places = static_cast<unsigned char>(body[0]) +
                               (std::size_t{static_cast<unsigned char>(body[1])} << 8);
    const auto decode = [places](std::string_view bytes) { return decode_names(bytes, places); };
    const auto names = take(body.substr(2), decode, encode_names);
    check(!names || names->places.size() == places);
}

void take_calls(std::string_view body) {
    if (body.empty()) return;
    const std::size_t functions = static_cast<unsigned char>(body[0]);
    const auto decode = [functions](std::string_view bytes) {
        return decode_calls(bytes, functions);
    };
    const auto calls = take(body.substr(1), decode, encode_calls);
    check(!calls || calls->size() == functions);
}

// Data read from a container's files can be reported.
void take_container_state(std::string_view content) {
    for (const auto kind : {ContainerFile::Docker, ContainerFile::Bundle, ContainerFile::Storage})
        if (const auto facts = parse_container_state(content, kind, "aa"))
            check(decode_container(encode_container(*facts)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view body = fuzz::text_of(data + 1, size - 1);
    switch (data[0] % 13) {
        case 0: (void)take(body, decode_build_id, encode_build_id); break;
        case 1: take_table(body); break;
        case 2: (void)take(body, decode_program, encode_program); break;
        case 3: (void)take(body, decode_probes, encode_probes); break;
        case 4: (void)take(body, decode_functions, encode_functions); break;
        case 5: (void)take(body, decode_exits, encode_exits); break;
        case 6: (void)take(body, decode_names_request, encode_names_request); break;
        case 7: take_names(body); break;
        case 8: take_function(body); break;
        case 9: (void)take(body, decode_container, encode_container); break;
        case 10: take_container_state(body); break;
        case 12: take_calls(body); break;
        default: (void)take(body, decode_code, encode_code);
    }
    return 0;
}
