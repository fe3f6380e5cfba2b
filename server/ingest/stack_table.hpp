// The stacks of an answer. Each stack, frame and name is sent once, because C++ names can have
// hundreds of bytes and many stacks share frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include <boost/json.hpp>

#include "analysis/recording.hpp"

namespace lagtrap::server {

struct StackTableLimits {
    std::size_t frames = 1024;            // per stack; keeps the innermost
    std::size_t name_bytes = 4096;        // per name
    std::size_t names_bytes = 16U << 20;  // in total; names beyond it are empty
    std::size_t all_frames = 4'000'000;   // in total; stacks beyond it are omitted
};

class StackTable {
  public:
    explicit StackTable(const analysis::Recording& recording, const StackTableLimits& limits = {})
        : recording_(recording), limits_(limits) {}

    // nullopt if the limit of all stacks' frames is reached.
    [[nodiscard]] std::optional<std::size_t> index_of(analysis::StackId stack);
    [[nodiscard]] std::size_t index_of_name(const std::string& name);
    // Adds "names", "frames" and "stacks".
    void put_into(boost::json::object& answer);

  private:
    std::size_t index_of_function(const std::string& name);
    std::size_t index_of_frame(std::uint32_t id);

    const analysis::Recording& recording_;
    StackTableLimits limits_;
    std::unordered_map<analysis::StackId, std::size_t> places_;
    std::unordered_map<std::uint32_t, std::size_t> frame_places_;
    std::unordered_map<std::string, std::size_t> name_places_;
    std::size_t names_bytes_ = 0;
    std::size_t frames_used_ = 0;
    boost::json::array names_;
    boost::json::array frames_;
    boost::json::array list_;
};

}  // namespace lagtrap::server
