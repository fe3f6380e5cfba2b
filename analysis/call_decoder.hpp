// Decodes call trees from their slices. For analysis/ only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

class CallDecoder {
  public:
    // What the begin of a slice says.
    struct Begin {
        std::uint64_t at_ns = 0;
        std::string function, module, source, ended;
        calls::Times times;
        std::uint64_t not_kept = 0;
        std::uint32_t pid = 0, tid = 0;  // of outermost calls only
        bool seen = false;
    };
    // An open call, or none if `tree` is no_call.
    struct Place {
        std::size_t tree = no_call;
        std::uint32_t call = 0;
    };
    static constexpr std::size_t no_call = SIZE_MAX;

    // `caller` is the innermost open call of the track.
    [[nodiscard]] Place begin(const Begin& begin, const Place& caller);
    void end(const Place& place, std::uint64_t at_ns);
    // Returns the trees, by begin. Inconsistent ones are left out and counted.
    void finish(std::vector<RunCalls>& trees, std::vector<calls::Function>& functions,
                std::uint64_t& unreadable);

  private:
    [[nodiscard]] std::uint32_t function_of(const Begin& begin);

    std::vector<RunCalls> trees_;
    std::vector<calls::Function> functions_;
    std::map<std::tuple<std::string, std::string, std::string, bool>, std::uint32_t>
        function_numbers_;
    std::size_t calls_ = 0;
};

}  // namespace lagtrap::analysis
