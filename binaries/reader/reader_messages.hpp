// Serialises requests and answers of the reader process. Decoding checks and bounds everything,
// because the other side may be hostile. Internal to binaries/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "binaries/code/function_places.hpp"
#include "binaries/reader/file_reader.hpp"
#include "binaries/reader/reader_wire.hpp"

namespace lagtrap::binaries {

// All decode_ functions: ErrorKind::System if the answer is malformed.
[[nodiscard]] std::string encode_build_id(const std::string& build_id);
[[nodiscard]] Result<std::string> decode_build_id(std::string_view body);
[[nodiscard]] std::string encode_container(const ContainerFacts& facts);
[[nodiscard]] Result<ContainerFacts> decode_container(std::string_view body);
[[nodiscard]] std::string encode_table(const UnwindTable& table);
[[nodiscard]] Result<UnwindTable> decode_table(std::string_view body);
[[nodiscard]] std::string encode_program(const ProgramFacts& facts);
[[nodiscard]] Result<ProgramFacts> decode_program(std::string_view body);
[[nodiscard]] std::string encode_probes(const std::vector<UsdtProbe>& probes);
[[nodiscard]] Result<std::vector<UsdtProbe>> decode_probes(std::string_view body);
[[nodiscard]] std::string encode_functions(const std::vector<Function>& functions);
[[nodiscard]] Result<std::vector<Function>> decode_functions(std::string_view body);
void encode_function(WireWriter& writer, const Function& function);
[[nodiscard]] Function decode_function(WireReader& reader);
[[nodiscard]] std::string encode_code(const std::string& code);
[[nodiscard]] Result<std::string> decode_code(std::string_view body);
[[nodiscard]] std::string encode_exits(const FunctionExits& exits);
void write_exits(WireWriter& writer, const std::vector<FunctionExit>& exits);
// Sets `sound` to false if they are invalid.
[[nodiscard]] std::vector<FunctionExit> read_exits(WireReader& reader, std::size_t limit,
                                                   bool& sound);
[[nodiscard]] Result<FunctionExits> decode_exits(std::string_view body);
[[nodiscard]] std::string encode_places_request(const std::string& name,
                                                const std::vector<FunctionQuery>& queries);
[[nodiscard]] std::vector<FunctionQuery> decode_queries(WireReader& reader);
[[nodiscard]] std::string encode_places(const std::vector<Result<FunctionPlaces>>& answers);
[[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> decode_places(std::string_view body,
                                                                        std::size_t queries);

}  // namespace lagtrap::binaries
