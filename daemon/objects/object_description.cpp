#include "daemon/objects/object_description.hpp"

#include <algorithm>

#include "daemon/calls/name_expressions.hpp"

namespace lagtrap::daemon {
namespace {

using calls::ObjectRole;

// Register number, as in usdt_argument.bpf.h, of an argument (System V ABI for x86-64).
__u8 register_of(const calls::ValuePlace& place) {
    static constexpr __u8 registers[calls::max_arguments] = {7, 6, 2, 1, 8, 9};
    return place.argument ? registers[*place.argument] : LAGTRAP_FROM_RESULT;
}

__u8 failure_of(calls::Failure failure) {
    switch (failure) {
        case calls::Failure::Never: return LAGTRAP_FAILS_NEVER;
        case calls::Failure::Negative: return LAGTRAP_FAILS_NEGATIVE;
        case calls::Failure::Null: return LAGTRAP_FAILS_NULL;
        case calls::Failure::Nonzero: return LAGTRAP_FAILS_NONZERO;
        case calls::Failure::NotPositive: return LAGTRAP_FAILS_NOT_POSITIVE;
        case calls::Failure::MinusOne: break;
    }
    return LAGTRAP_FAILS_MINUS_ONE;
}

lagtrap_object_function blank(ObjectRole role) {
    lagtrap_object_function described{};
    described.role = static_cast<__u8>(role);
    described.title_from = LAGTRAP_FROM_NOWHERE;
    return described;
}

lagtrap_object_function described(const calls::ObjectRule& rule, ObjectRole role,
                                  const calls::ObjectFunctions& functions, calls::Failure failure) {
    lagtrap_object_function made = blank(role);
    made.object_from = register_of(functions.object);
    made.object_behind = functions.object.behind ? 1 : 0;
    made.failure = failure_of(functions.failure.value_or(failure));
    made.successes = static_cast<__u8>(rule.successes.size());
    std::copy(rule.successes.begin(), rule.successes.end(), made.success);
    if (made.failure == LAGTRAP_FAILS_MINUS_ONE)
        std::copy(rule.excepts.begin(), rule.excepts.end(), made.except);
    if (role == ObjectRole::Create && rule.title)
        made.title_from = register_of({rule.title, false});
    made.reused = rule.reused ? 1 : 0;
    return made;
}

}  // namespace

std::optional<lagtrap_object_function> described_by(const calls::ObjectRule& rule,
                                                    const std::string& symbol) {
    std::optional<lagtrap_object_function> found;
    const auto try_role = [&](ObjectRole role, const std::vector<calls::ObjectFunctions>& functions,
                              calls::Failure failure) {
        for (const calls::ObjectFunctions& one : functions)
            if (!found && fits(one.pattern, symbol)) found = described(rule, role, one, failure);
    };
    try_role(ObjectRole::Create, rule.create, rule.create_failure);
    try_role(ObjectRole::Release, rule.release, rule.release_failure);
    try_role(ObjectRole::Use, rule.use, rule.use_failure);
    try_role(ObjectRole::Message, rule.message, calls::Failure::Never);
    return found;
}

lagtrap_object_function described_method(ObjectRole role) {
    lagtrap_object_function made = blank(role);
    made.object_from = register_of({0, false});
    made.is_method = 1;
    return made;
}

bool needs_result(const lagtrap_object_function& described) {
    return described.failure != LAGTRAP_FAILS_NEVER ||
           described.object_from == LAGTRAP_FROM_RESULT || described.object_behind != 0 ||
           described.role == LAGTRAP_OBJECT_MESSAGE;
}

}  // namespace lagtrap::daemon
