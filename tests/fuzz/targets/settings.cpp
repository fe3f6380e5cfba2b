#include <cstdint>
#include <cstdlib>
#include <string>

#include "settings/parser.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = lagtrap::fuzz::text_of(data, size);
    const auto outcome =
        lagtrap::settings::parse_settings(text, lagtrap::settings::BinaryCheck::Skip);
    (void)lagtrap::settings::format_diagnostics("settings.xml", text, outcome.diagnostics);
    return 0;
}
