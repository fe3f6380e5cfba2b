// Markers where the compiler makes several copies of them: inline functions, templates, unrolled
// loops, lambdas.
#pragma once

#include <ctime>

#include "markers/lagtrap.h"

inline int inline_work(int rounds) {
    LAGTRAP_SCOPE("inline-work");
    for (int round = 0; round < 4; ++round) LAGTRAP_STAGE("inline-work", "round");
    return rounds + 1;
}

template <typename Number>
Number template_work(Number number) {
    LAGTRAP_SCOPE_KEY("template_work", number);
    LAGTRAP_STAGE_KEY("template_work", "half", number);
    const auto finish = [&] { return number + 1; };
    return finish();
}

int first_work(int rounds);
int second_work(int rounds);
int library_work(int rounds);
int library_evaluations();
