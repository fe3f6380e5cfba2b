// The functions that language runtimes report: sorted into the application's and the language's,
// and renumbered for clients.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/regex.hpp>

#include "bpf/functions.h"
#include "calls/function_stream.hpp"
#include "calls/language_runtime.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class RuntimeFunctions {
  public:
    // `first` is the number of the first function, here and in the kernel. The patterns are as in
    // FunctionWishes and must be valid.
    RuntimeFunctions(std::uint32_t first, const std::string& include, const std::string& exclude);

    // nullopt if the function is not watched. `told` comes from the kernel; its texts come from the
    // program.
    [[nodiscard]] std::optional<calls::Function> take(const lagtrap_runtime_function& reported,
                                                      calls::Runtime runtime, bool in_c);
    // The number for clients; nullopt if the function is not reported.
    [[nodiscard]] std::optional<std::uint32_t> number_of(std::uint32_t kernel_number) const;
    // Kernel numbers of all functions of a runtime.
    [[nodiscard]] std::vector<std::uint32_t> all_of(calls::Runtime runtime) const;
    [[nodiscard]] std::vector<calls::ReasonCount> left_out(calls::Runtime runtime) const;

  private:
    [[nodiscard]] std::string reason(const calls::RuntimeFunction& function,
                                     const std::string& name) const;

    struct Known {
        calls::Runtime runtime = calls::Runtime::Ruby;
        std::optional<std::uint32_t> number;
        std::string reason;
    };
    std::uint32_t first_, next_;
    boost::regex include_, exclude_;
    std::map<std::uint32_t, Known> known_;  // by kernel number
};

}  // namespace lagtrap::daemon
