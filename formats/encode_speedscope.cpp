#include "formats/encoders.hpp"
#include "formats/text_pieces.hpp"

namespace lagtrap::formats {

namespace {

std::string frames_json(const StackProfile& profile) {
    std::string json;
    for (const Place& place : profile.places) {
        json += (json.empty() ? "{\"name\":" : ",{\"name\":") + json_string(place.function);
        const std::string& file = place.source.empty() ? place.module : place.source;
        if (!file.empty()) json += ",\"file\":" + json_string(file);
        if (!place.source.empty() && place.line != 0)
            json += ",\"line\":" + std::to_string(place.line);
        json += "}";
    }
    return json;
}

void append_thread(const StackProfile& profile, const ProfiledThread& thread, std::string& json) {
    std::string samples, weights;
    std::uint64_t total_ns = 0;
    for (const Piece& piece : thread.pieces) {
        if (piece.weight_ns == 0) continue;
        std::string stack;
        for (const std::uint32_t node : profile.path_of(piece.leaf))
            stack += (stack.empty() ? "" : ",") + std::to_string(profile.nodes[node].place);
        samples += (samples.empty() ? "[" : ",[") + stack + "]";
        weights += (weights.empty() ? "" : ",") + std::to_string(piece.weight_ns);
        total_ns += piece.weight_ns;
    }
    json += "{\"type\":\"sampled\",\"name\":" +
            json_string(thread.process + " / " + thread.name + " (" + std::to_string(thread.tid) +
                        ")") +
            ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":" + std::to_string(total_ns) +
            ",\"samples\":[" + samples + "],\"weights\":[" + weights + "]}";
}

}  // namespace

std::string encode_speedscope(const StackProfile& profile) {
    std::string json =
        "{\"$schema\":\"https://www.speedscope.app/"
        "file-format-schema.json\",\"exporter\":\"lagtrap " LAGTRAP_VERSION "\",\"name\":" +
        json_string(profile.title) + ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[" +
        frames_json(profile) + "]},\"profiles\":[";
    bool first = true;
    for (const ProfiledThread& thread : profile.threads) {
        if (!first) json += ",";
        first = false;
        append_thread(profile, thread, json);
    }
    return json + "]}\n";
}

}  // namespace lagtrap::formats
