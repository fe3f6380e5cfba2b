// The functions that runtimes told of, as they come: sorted into the application's own and the language's, and numbered for
// those who are told of them.
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

// One thread's.
class RuntimeFunctions {
  public:
    // `first`: the number of the first one, here and in the kernel. Patterns as in FunctionWishes, which are sound.
    RuntimeFunctions(std::uint32_t first, const std::string& include, const std::string& exclude);

    // nullopt: it is not watched. `told` is the kernel's, and of the program's texts.
    [[nodiscard]] std::optional<calls::Function> take(const lagtrap_runtime_function& told, calls::Runtime runtime,
                                                      bool in_c);
    // Under which it is told; nullopt: it is not.
    [[nodiscard]] std::optional<std::uint32_t> number_of(std::uint32_t kernel_number) const;
    // Numbers of the kernel, of all of one runtime.
    [[nodiscard]] std::vector<std::uint32_t> all_of(calls::Runtime runtime) const;
    [[nodiscard]] std::vector<calls::ReasonCount> left_out(calls::Runtime runtime) const;

  private:
    [[nodiscard]] std::string reason(const calls::RuntimeFunction& function, const std::string& name) const;

    struct Known {
        calls::Runtime runtime = calls::Runtime::Ruby;
        std::optional<std::uint32_t> number;
        std::string reason;
    };
    std::uint32_t first_, next_;
    boost::regex include_, exclude_;
    std::map<std::uint32_t, Known> known_;  // by the kernel's number
};

}  // namespace lagtrap::daemon
