#include "binaries/reader/reader_messages.hpp"

#include <algorithm>

#include "binaries/elf/elf_image.hpp"
#include "binaries/unwind/unwind_cache.hpp"
#include "binaries/usdt/usdt_notes.hpp"
#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_build_id_bytes = 128;
// the maximum that the largest accepted dynamic segment can name
constexpr std::size_t max_libraries = 1 << 17;
constexpr std::size_t max_queries = 16'384;
constexpr std::size_t max_places_of_name = 1 << 20;

bool is_hexadecimal(const std::string& text) {
    return text.find_first_not_of("0123456789abcdef") == std::string::npos && text.size() % 2 == 0;
}

}  // namespace

std::string encode_container(const ContainerFacts& facts) {
    WireWriter writer;
    for (const std::string* text :
         {&facts.name, &facts.image, &facts.pod, &facts.pod_namespace, &facts.sandbox})
        writer.text(*text);
    writer.number(static_cast<std::uint8_t>(facts.has_labels ? 1 : 0));
    writer.number(static_cast<std::uint64_t>(facts.labels.size()));
    for (const auto& [name, value] : facts.labels) {
        writer.text(name);
        writer.text(value);
    }
    return writer.take();
}

Result<ContainerFacts> decode_container(std::string_view body) {
    WireReader reader(body);
    ContainerFacts facts;
    for (std::string* text :
         {&facts.name, &facts.image, &facts.pod, &facts.pod_namespace, &facts.sandbox})
        *text = reader.text(container_texts_limit);
    facts.has_labels = reader.number<std::uint8_t>() != 0;
    for (std::size_t left = reader.count(container_labels_limit, 2 * sizeof(std::uint32_t));
         left > 0; --left) {
        const std::string name = reader.text(container_texts_limit);
        facts.labels[name] = reader.text(container_texts_limit);
    }
    if (!reader.complete()) return malformed_answer();
    return facts;
}

std::string encode_build_id(const std::string& build_id) {
    WireWriter writer;
    writer.text(build_id);
    return writer.take();
}

Result<std::string> decode_build_id(std::string_view body) {
    WireReader reader(body);
    std::string build_id = reader.text(max_build_id_bytes);
    if (!reader.complete() || !is_hexadecimal(build_id)) return malformed_answer();
    return build_id;
}

std::string encode_table(const UnwindTable& table) {
    WireWriter writer;
    writer.items(table.segments);
    writer.number(table.base_address);
    writer.number(table.bucket_count);
    writer.number(table.rule_page);
    writer.number(table.row_page);
    writer.number(table.page_count);
    writer.number(table.row_count);
    writer.number(table.unsupported_rows);
    writer.items(table.pages);
    return writer.take();
}

Result<UnwindTable> decode_table(std::string_view body) {
    WireReader reader(body);
    UnwindTable table;
    table.segments = reader.items<CodeSegment>(max_segments);
    table.base_address = reader.number<std::uint64_t>();
    table.bucket_count = reader.number<std::uint32_t>();
    table.rule_page = reader.number<std::uint32_t>();
    table.row_page = reader.number<std::uint32_t>();
    table.page_count = reader.number<std::uint32_t>();
    table.row_count = reader.number<std::uint64_t>();
    table.unsupported_rows = reader.number<std::uint64_t>();
    table.pages = reader.items<std::uint64_t>(max_unwind_table_bytes / sizeof(std::uint64_t));
    if (!reader.complete() || !holds_together(table)) return malformed_answer();
    return table;
}

namespace {

void encode_texts(WireWriter& writer, const std::vector<std::string>& texts) {
    writer.number(static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) writer.text(text);
}

std::vector<std::string> decode_texts(WireReader& reader, std::size_t limit) {
    std::vector<std::string> texts(reader.count(limit, min_text_bytes));
    for (std::string& text : texts) text = reader.text(max_text_bytes);
    return texts;
}

}  // namespace

std::string encode_program(const ProgramFacts& facts) {
    WireWriter writer;
    writer.text(facts.build_id);
    writer.number(static_cast<std::uint8_t>(facts.exceptions_may_pass));
    writer.items(facts.segments);
    encode_texts(writer, facts.needed.names);
    encode_texts(writer, facts.needed.folders);
    writer.text(facts.go_refusal);
    return writer.take();
}

Result<ProgramFacts> decode_program(std::string_view body) {
    WireReader reader(body);
    ProgramFacts facts;
    facts.build_id = reader.text(max_build_id_bytes);
    facts.exceptions_may_pass = reader.number<std::uint8_t>() != 0;
    facts.segments = reader.items<ProgramFacts::Segment>(max_segments);
    facts.needed.names = decode_texts(reader, max_libraries);
    facts.needed.folders = decode_texts(reader, max_libraries);
    facts.go_refusal = printable(reader.text(max_message_bytes));
    if (!reader.complete() || !is_hexadecimal(facts.build_id)) return malformed_answer();
    return facts;
}

std::string encode_probes(const std::vector<UsdtProbe>& probes) {
    WireWriter writer;
    writer.number(static_cast<std::uint64_t>(probes.size()));
    for (const UsdtProbe& probe : probes) {
        writer.text(probe.provider);
        writer.text(probe.name);
        writer.text(probe.arguments);
        writer.number(probe.address);
        writer.number(probe.semaphore);
        writer.number(probe.argument_count);
        writer.items(probe.places);
    }
    return writer.take();
}

Result<std::vector<UsdtProbe>> decode_probes(std::string_view body) {
    WireReader reader(body);
    std::vector<UsdtProbe> probes(reader.count(max_usdt_probes, 3 * min_text_bytes + 28));
    bool sound = true;
    for (UsdtProbe& probe : probes) {
        probe.provider = reader.text(max_text_bytes);
        probe.name = reader.text(max_text_bytes);
        probe.arguments = reader.text(max_text_bytes);
        probe.address = reader.number<std::uint64_t>();
        probe.semaphore = reader.number<std::uint64_t>();
        probe.argument_count = reader.number<std::uint32_t>();
        probe.places = reader.items<UsdtArgument>(max_usdt_arguments);
        sound = sound &&
                probe.places.size() ==
                    std::min<std::size_t>(probe.argument_count, max_usdt_arguments) &&
                std::all_of(probe.places.begin(), probe.places.end(), is_sound);
    }
    if (!reader.complete() || !sound) return malformed_answer();
    return probes;
}

void encode_function(WireWriter& writer, const Function& function) {
    writer.text(function.name);
    writer.number(function.address);
    writer.number(function.size);
    writer.number(function.file_offset);
    writer.number(static_cast<std::uint8_t>(function.dynamic));
}

Function decode_function(WireReader& reader) {
    Function function;
    function.name = reader.text(max_symbol_bytes);
    function.address = reader.number<std::uint64_t>();
    function.size = reader.number<std::uint64_t>();
    function.file_offset = reader.number<std::uint64_t>();
    function.dynamic = reader.number<std::uint8_t>() != 0;
    return function;
}

std::string encode_functions(const std::vector<Function>& functions) {
    WireWriter writer;
    writer.number(static_cast<std::uint64_t>(functions.size()));
    for (const Function& function : functions) encode_function(writer, function);
    return writer.take();
}

Result<std::vector<Function>> decode_functions(std::string_view body) {
    WireReader reader(body);
    std::vector<Function> functions(reader.count(max_symbols, min_text_bytes + 25));
    for (Function& function : functions) function = decode_function(reader);
    if (!reader.complete()) return malformed_answer();
    return functions;
}

std::string encode_code(const std::string& code) {
    WireWriter writer;
    writer.text(code);
    return writer.take();
}

Result<std::string> decode_code(std::string_view body) {
    WireReader reader(body);
    std::string code = reader.text(code_bytes);
    if (!reader.complete()) return malformed_answer();
    return code;
}

void write_exits(WireWriter& writer, const std::vector<FunctionExit>& exits) {
    writer.number(static_cast<std::uint64_t>(exits.size()));
    for (const FunctionExit& exit : exits) {
        writer.number(exit.file_offset);
        writer.number(static_cast<std::uint8_t>(exit.condition));
        writer.number(static_cast<std::uint8_t>(exit.of_others_too));
        writer.number(static_cast<std::uint8_t>(exit.by_target));
        writer.number(exit.target.displacement);
        writer.number(exit.target.base);
        writer.number(exit.target.index);
        writer.number(exit.target.scale_shift);
        writer.number(static_cast<std::uint8_t>(exit.target.in_memory));
        for (const JumpRange& range : exit.within) {
            writer.number(range.begin);
            writer.number(range.end);
        }
    }
}

std::vector<FunctionExit> read_exits(WireReader& reader, std::size_t limit, bool& sound) {
    constexpr std::size_t exit_bytes = 23 + max_jump_ranges * 2 * sizeof(std::int32_t);
    std::vector<FunctionExit> exits(reader.count(limit, exit_bytes));
    const auto is_register = [](std::uint8_t number) {
        return number < 16 || number == no_jump_register;
    };
    for (FunctionExit& exit : exits) {
        exit.file_offset = reader.number<std::uint64_t>();
        const auto condition = reader.number<std::uint8_t>();
        sound = sound && condition <= static_cast<std::uint8_t>(JumpCondition::EcxZero);
        exit.condition = static_cast<JumpCondition>(condition);
        exit.of_others_too = reader.number<std::uint8_t>() != 0;
        exit.by_target = reader.number<std::uint8_t>() != 0;
        exit.target.displacement = reader.number<std::int64_t>();
        exit.target.base = reader.number<std::uint8_t>();
        exit.target.index = reader.number<std::uint8_t>();
        exit.target.scale_shift = reader.number<std::uint8_t>();
        exit.target.in_memory = reader.number<std::uint8_t>() != 0;
        sound = sound && is_register(exit.target.base) && is_register(exit.target.index) &&
                exit.target.scale_shift <= 3;
        for (JumpRange& range : exit.within) {
            range.begin = reader.number<std::int32_t>();
            range.end = reader.number<std::int32_t>();
        }
    }
    sound = sound && std::is_sorted(exits.begin(), exits.end(), [](const auto& a, const auto& b) {
                return a.file_offset < b.file_offset;
            });
    return exits;
}

std::string encode_exits(const FunctionExits& exits) {
    WireWriter writer;
    write_exits(writer, exits.exits);
    return writer.take();
}

Result<FunctionExits> decode_exits(std::string_view body) {
    WireReader reader(body);
    bool sound = true;
    FunctionExits exits{read_exits(reader, max_return_sites, sound)};
    if (!reader.complete() || !sound) return malformed_answer();
    return exits;
}

std::string encode_places_request(const std::string& name,
                                  const std::vector<FunctionQuery>& queries) {
    WireWriter writer;
    writer.text(name);
    writer.number(static_cast<std::uint64_t>(queries.size()));
    for (const FunctionQuery& query : queries) {
        writer.text(query.name);
        writer.number(static_cast<std::uint8_t>(query.at_return));
    }
    return writer.take();
}

std::vector<FunctionQuery> decode_queries(WireReader& reader) {
    std::vector<FunctionQuery> queries(reader.count(max_queries, min_text_bytes + 1));
    for (FunctionQuery& query : queries) {
        query.name = reader.text(max_symbol_bytes);
        query.at_return = reader.number<std::uint8_t>() != 0;
    }
    return queries;
}

// Per query: 0 and its places, or 1 + ErrorKind and the error's text.
std::string encode_places(const std::vector<Result<FunctionPlaces>>& answers) {
    WireWriter writer;
    writer.number(static_cast<std::uint64_t>(answers.size()));
    for (const auto& answer : answers) {
        writer.number(answer ? 0U : 1 + static_cast<std::uint32_t>(answer.error().kind));
        if (!answer) {
            writer.text(std::string_view(answer.error().message).substr(0, max_message_bytes));
            continue;
        }
        write_exits(writer, answer->places);
        writer.number(static_cast<std::uint8_t>(answer->return_probe));
        writer.text(answer->first_code);
        writer.number(answer->goid_offset);
        writer.number(answer->frame_offset);
        writer.number(static_cast<std::uint8_t>(answer->arguments_on_stack));
    }
    return writer.take();
}

Result<std::vector<Result<FunctionPlaces>>> decode_places(std::string_view body,
                                                          std::size_t queries) {
    WireReader reader(body);
    bool sound = true;
    std::vector<Result<FunctionPlaces>> answers;
    const std::size_t count = reader.count(max_queries, 2 * min_text_bytes);
    for (std::size_t number = 0; number < count && reader.good(); ++number) {
        const auto error = reader.number<std::uint32_t>();
        sound = sound && error <= 1 + static_cast<std::uint32_t>(ErrorKind::System);
        if (error != 0) {
            answers.emplace_back(make_error(static_cast<ErrorKind>(error - 1),
                                            printable(reader.text(max_message_bytes))));
            continue;
        }
        FunctionPlaces found;
        found.places = read_exits(reader, max_places_of_name, sound);
        found.return_probe = reader.number<std::uint8_t>() != 0;
        found.first_code = reader.text(code_bytes);
        found.goid_offset = reader.number<std::uint32_t>();
        found.frame_offset = reader.number<std::uint32_t>();
        found.arguments_on_stack = reader.number<std::uint8_t>() != 0;
        sound = sound && !found.places.empty() && found.goid_offset <= max_go_offset &&
                found.frame_offset <= max_go_offset;
        answers.emplace_back(std::move(found));
    }
    if (!reader.complete() || !sound || answers.size() != queries) return malformed_answer();
    return answers;
}

}  // namespace lagtrap::binaries
