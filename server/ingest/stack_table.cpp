#include "server/ingest/stack_table.hpp"

#include <algorithm>

#include "core/function_name.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {

namespace json = boost::json;

std::optional<std::size_t> StackTable::index_of(analysis::StackId stack) {
    if (const auto known = places_.find(stack); known != places_.end()) return known->second;
    const auto& outermost_first = recording_.stacks[stack];
    const std::size_t count = std::min(outermost_first.size(), limits_.frames);
    if (frames_used_ + count > limits_.all_frames) return std::nullopt;
    frames_used_ += count;
    json::array frames;
    for (std::size_t i = 0; i < count; ++i)
        frames.push_back(index_of_frame(outermost_first[outermost_first.size() - 1 - i]));
    places_.emplace(stack, list_.size());
    list_.push_back(std::move(frames));
    return list_.size() - 1;
}

std::size_t StackTable::index_of_name(const std::string& name) {
    std::string text = shortened(name, limits_.name_bytes);
    if (names_bytes_ + text.size() > limits_.names_bytes) text.clear();
    const auto [place, fresh] = name_places_.emplace(std::move(text), names_.size());
    if (!fresh) return place->second;
    names_bytes_ += place->first.size();
    names_.emplace_back(place->first);
    return place->second;
}

// A long name says more without its template arguments than cut.
std::size_t StackTable::index_of_function(const std::string& name) {
    return index_of_name(name.size() > limits_.name_bytes ? without_template_arguments(name)
                                                          : name);
}

std::size_t StackTable::index_of_frame(std::uint32_t id) {
    const auto [place, fresh] = frame_places_.emplace(id, frames_.size());
    if (!fresh) return place->second;
    const analysis::Frame& frame = recording_.frames[id];
    frames_.push_back({{"function", index_of_function(frame.named ? recording_.name(frame.label)
                                                                  : std::string())},
                       {"module", index_of_name(recording_.name(frame.module))},
                       {"build_id", index_of_name(recording_.name(frame.build_id))},
                       {"offset", std::to_string(frame.offset - frame.load_bias)},
                       {"file", index_of_name(recording_.name(frame.source))},
                       {"line", frame.line}});
    return place->second;
}

void StackTable::put_into(json::object& answer) {
    answer["names"] = std::move(names_);
    answer["frames"] = std::move(frames_);
    answer["stacks"] = std::move(list_);
}

}  // namespace lagtrap::server
