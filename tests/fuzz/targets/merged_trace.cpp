// Everything that `lagtrap` does with a bundle's trace: reports, exports, names of addresses.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/delay_report.hpp"
#include "analysis/recording.hpp"
#include "analysis/trace_places.hpp"
#include "formats/format_table.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::analysis;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view trace = lagtrap::fuzz::text_of(data, size);
    const auto recording = decode_recording(trace, {});
    const auto places = read_places(trace);
    if (!recording) return 0;
    if (!places || places->counts.named > places->counts.frames) std::abort();
    (void)report_quality(*recording);
    const auto profile = lagtrap::formats::profile_of_recording(*recording, {});
    if (!profile) std::abort();
    for (const lagtrap::formats::Format& format : lagtrap::formats::formats()) {
        if (format.encode != nullptr) (void)format.encode(*profile);
        if (format.encode_delays != nullptr) (void)format.encode_delays(*recording, {});
    }
    return 0;
}
