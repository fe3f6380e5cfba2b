#include "calls/language_runtime.hpp"

#include <algorithm>

namespace lagtrap::calls {
namespace {

constexpr std::array runtimes{
    RuntimeTraits{
        "Ruby",
        "ruby",
        {{{"method__entry", "method__return", false}, {"cmethod__entry", "cmethod__return", true}}},
        0,
        no_probe_argument,
        1,
        no_probe_argument,
        2,
        3,
        false,
        "its own probes; they report methods while a TracePoint is enabled",
        "Ruby reports its methods only while a TracePoint is enabled: put TracePoint.new(:call, "
        ":return) {}.enable at the start of the program. Methods in C are always reported; "
        "--include '#' shows them.",
        "this Ruby was built without probes (--enable-dtrace)"},
    RuntimeTraits{"Python",
                  "python",
                  {{{"function__entry", "function__return", false}, {}}},
                  0,
                  no_probe_argument,
                  1,
                  no_probe_argument,
                  0,
                  2,
                  true,
                  "its own probes; since 3.11 most calls report only their end, and are counted "
                  "without times",
                  "Python reported no calls: 3.13 and later do not, and a program that only waits "
                  "makes none.",
                  "this Python was built without probes (--with-dtrace)"},
    RuntimeTraits{
        "Java",
        "hotspot",
        {{{"method__entry", "method__return", false}, {}}},
        1,
        2,
        3,
        4,
        no_probe_argument,
        no_probe_argument,
        false,
        "its own probes; they report methods if java was started with -XX:+DTraceMethodProbes",
        "Java reported no calls: start it with -XX:+DTraceMethodProbes.",
        "this Java was built without probes (--enable-dtrace)"},
    RuntimeTraits{"Node.js",
                  "node",
                  {},
                  no_probe_argument,
                  no_probe_argument,
                  no_probe_argument,
                  no_probe_argument,
                  no_probe_argument,
                  no_probe_argument,
                  false,
                  "",
                  "",
                  "Node.js has no function probes; with --perf-basic-prof, its functions have "
                  "names in the stacks of recordings"},
};

struct FileBeginning {
    std::string_view text;
    Runtime runtime;
};
constexpr std::array beginnings{
    FileBeginning{"libruby", Runtime::Ruby},     FileBeginning{"ruby", Runtime::Ruby},
    FileBeginning{"libpython", Runtime::Python}, FileBeginning{"python", Runtime::Python},
    FileBeginning{"libjvm.so", Runtime::Java},   FileBeginning{"nodejs", Runtime::Node},
    FileBeginning{"libnode.so", Runtime::Node},  FileBeginning{"node", Runtime::Node},
};

constexpr std::array java_packages{std::string_view("java/"), std::string_view("javax/"),
                                   std::string_view("jdk/"), std::string_view("sun/"),
                                   std::string_view("com/sun/")};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

bool is_of_language(const RuntimeFunction& function) {
    switch (function.runtime) {
        case Runtime::Java:
            return std::any_of(
                java_packages.begin(), java_packages.end(),
                [&](std::string_view one) { return function.scope.starts_with(one); });
        case Runtime::Ruby:
            return function.file.starts_with('<') || has(function.file, "/lib/ruby/3.") ||
                   has(function.file, "/lib/ruby/2.") ||
                   function.file.starts_with("/usr/lib/ruby/");
        case Runtime::Python:
            if (function.scope.starts_with("<frozen") ||
                function.scope.starts_with("/usr/lib/python3/"))
                return true;
            return has(function.scope, "/lib/python3.") && !has(function.scope, "/site-packages/");
        case Runtime::Node: break;
    }
    return false;
}

}  // namespace

const RuntimeTraits& traits_of(Runtime runtime) {
    return runtimes.at(static_cast<std::size_t>(runtime));
}

std::optional<Runtime> runtime_of_file(std::string_view path) {
    const std::string_view name = file_name(path);
    for (const FileBeginning& one : beginnings) {
        if (!name.starts_with(one.text)) continue;
        // Accept "python3.11" and "libruby-3.1.so.3.1", but not "rubycon".
        const std::string_view rest = name.substr(one.text.size());
        if (rest.empty() || rest.find_first_of(".-0123456789") == 0) return one.runtime;
    }
    return std::nullopt;
}

std::string_view folder_of_runtime(std::string_view path) {
    // .../java-17/lib/server/libjvm.so; in old versions .../jre/lib/amd64/server.
    constexpr std::string_view libraries = "/lib/";
    if (runtime_of_file(path) != Runtime::Java) return {};
    const std::size_t place = path.rfind(libraries);
    if (place == std::string_view::npos) return {};
    const std::string_view folder = path.substr(0, place + 1);
    const bool is_shared = folder == "/" || folder == "/usr/" || folder == "/usr/local/";
    return is_shared ? std::string_view() : folder;
}

std::string name_of(const RuntimeFunction& function) {
    switch (function.runtime) {
        case Runtime::Java: {
            std::string scope = function.scope;
            std::replace(scope.begin(), scope.end(), '/', '.');
            return scope + "." + function.name;
        }
        case Runtime::Python: return std::string(file_name(function.scope)) + ":" + function.name;
        default:
            return function.scope.empty() ? function.name : function.scope + "#" + function.name;
    }
}

std::string module_of(const RuntimeFunction& function) {
    const bool by_scope = function.runtime == Runtime::Python && !function.scope.empty();
    return by_scope ? function.scope : traits_of(function.runtime).language;
}

SystemReason system_reason(const RuntimeFunction& function) {
    if (function.in_c) return "in C";
    return is_of_language(function) ? "language library" : SystemReason();
}

}  // namespace lagtrap::calls
