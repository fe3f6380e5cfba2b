// Which loops only wait. The code is that of GCC 12 for the C++ beside it.
#include "binaries/code/wait_loop.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::binaries::test::wait_loop_test {
namespace {

using Places = std::vector<std::size_t>;

struct Loop {
    const char* source;
    const char* code;  // hexadecimal
    WaitLoop kind;
    Places waiting;  // the instructions in the loop
};

std::string bytes_of(const std::string& hexadecimal) {
    std::string bytes;
    for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
    return bytes;
}

Places waiting_in(const std::string& code) {
    Places places;
    for (std::size_t place = 0; place <= code.size(); ++place)
        if (wait_loop_at(code, place) != WaitLoop::None) places.push_back(place);
    return places;
}

TEST(WaitLoop, a_lock_word_or_a_flag_of_another_thread) {
    const std::vector<Loop> loops = {
        {"O2: while (lock.exchange(1)) while (lock.load()) _mm_pause();",
         "ba010000000f1f0089d087050000000085c0741c0f1f40008b050000000085c074e6f390ebf2662e0f1f84000"
         "0000000c3",
         WaitLoop::Waits,
         {34, 36}},
        {"O2: while (lock.exchange(1)) while (lock.load()) _mm_pause();",
         "ba010000000f1f0089d087050000000085c0741c0f1f40008b050000000085c074e6f390ebf2662e0f1f84000"
         "0000000c3",
         WaitLoop::TakesLock,
         {8, 10, 16, 18, 24, 30, 32}},
        {"O2: while (lock.exchange(1));",
         "ba010000000f1f0089d087050000000085c075f4c3",
         WaitLoop::TakesLock,
         {8, 10, 16, 18}},
        {"O2: while (flag.test_and_set());",
         "ba010000000f1f0089d086050000000084c075f4c3",
         WaitLoop::TakesLock,
         {8, 10, 16, 18}},
        {"O0: while (flag.test_and_set());",
         "554889e590b80100000086050000000084c075f190905dc3",
         WaitLoop::TakesLock,
         {5, 10, 16, 18}},
        {"O2: while (!lock.compare_exchange_weak(expected, 1)) expected = 0;",
         "31c9ba0100000089c8f00fb1150000000075f4c3",
         WaitLoop::TakesLock,
         {7, 9, 17}},
        {"O2: while (!done);", "8b050000000085c074f6c3", WaitLoop::Waits, {0, 6, 8}},
        {"O0: while (!done);",
         "554889e5908b050000000085c074f690905dc3",
         WaitLoop::Waits,
         {5, 11, 13}},
        {"O2: while (!**p);", "488b078b0085c074f7c3", WaitLoop::Waits, {0, 3, 5, 7}},
        {"O2: for (int i = 0; i < 1000; i++) { if (!lock) return; _mm_pause(); }",
         "b8e8030000eb10660f1f840000000000f39083e801740a8b150000000085d275efc3",
         WaitLoop::Waits,
         {16, 18, 21, 23, 29, 31}},
    };
    for (const Loop& loop : loops) {
        const std::string code = bytes_of(loop.code);
        for (const std::size_t place : loop.waiting)
            EXPECT_EQ(wait_loop_at(code, place), loop.kind) << loop.source << " at " << place;
        // The last byte returns.
        EXPECT_EQ(wait_loop_at(code, code.size() - 1), WaitLoop::None) << loop.source;
    }
}

// mov (%rip), %REGISTER; test %REGISTER, %REGISTER; je to the begin. The test is of 4 bytes or
// of 1.
std::string loop_with(unsigned number, bool tests_byte) {
    const bool is_new = number >= 8;
    const auto code = static_cast<unsigned char>(number & 7U);
    std::string bytes;
    const auto add = [&](unsigned byte) { bytes += static_cast<char>(byte); };
    if (is_new) add(0x44);
    add(0x8b), add(0x05U | code << 3U);
    bytes.append(4, '\0');
    if (is_new || tests_byte) add(is_new ? 0x45 : 0x40);
    add(tests_byte ? 0x84 : 0x85), add(0xc0U | code << 3U | code);
    add(0x74), add(0x100 - (bytes.size() + 1));
    return bytes + "\xc3";
}

TEST(WaitLoop, the_flag_may_be_in_each_register) {
    constexpr unsigned stack_pointer = 4;
    for (unsigned number = 0; number < 16; ++number)
        for (const bool tests_byte : {false, true})
            if (number != stack_pointer) {
                EXPECT_EQ(wait_loop_at(loop_with(number, tests_byte), 0), WaitLoop::Waits)
                    << "register " << number << (tests_byte ? ", its lowest byte" : "");
            }
}

// add $1, %REGISTER; cmp (%rip), %REGISTER; jne to the begin.
std::string counting_loop_with(unsigned number) {
    const bool is_new = number >= 8;
    const auto code = static_cast<unsigned char>(number & 7U);
    std::string bytes;
    const auto add = [&](unsigned byte) { bytes += static_cast<char>(byte); };
    if (is_new) add(0x41);
    add(0x83), add(0xc0U | code), add(1);
    if (is_new) add(0x44);
    add(0x3b), add(0x05U | code << 3U);
    bytes.append(4, '\0');
    add(0x75), add(0x100 - (bytes.size() + 1));
    return bytes + "\xc3";
}

TEST(WaitLoop, a_loop_that_counts_in_any_register_works) {
    constexpr unsigned stack_pointer = 4;
    for (unsigned number = 0; number < 16; ++number)
        if (number != stack_pointer) {
            EXPECT_EQ(wait_loop_at(counting_loop_with(number), 0), WaitLoop::None)
                << "register " << number;
        }
}

TEST(WaitLoop, work_is_no_waiting) {
    const std::vector<std::pair<const char*, const char*>> loops = {
        {"O2: while (e < v && !top.compare_exchange_weak(e, v));",
         "8b050000000039c77e0af00fb13d0000000075f2c3"},
        {"O2: for (...) { while (!bits.compare_exchange_weak(e, e | i)); }",
         "85ff7e2731d2662e0f1f8400000000008b050000000089c109d1f00fb10d0000000075f283c20139d775e5c"
         "3"},
        {"O2: for (...) sum += a[i];",
         "4885f67e1b488d14f731c00f1f4400004803074883c7084839d775f4c30f1f0031c0c3"},
        {"O2: while (p->next) p = p->next;", "4889f8488b7f084885ff75f4488b00c3"},
        {"O0: while (p->next) p = p->next;",
         "554889e548897df8eb0c488b45f8488b4008488945f8488b45f8488b40084885c075e7488b45f8488b005dc"
         "3"},
        {"O2: while (s[n]) n++;",
         "803f00741b4883ec084883c701e8000000004883c4084883c001c30f1f44000031c0c3"},
        {"O0: while (s[n]) n++;",
         "554889e548897de848c745f800000000eb05488345f801488b55e8488b45f84801d00fb60084c075e9488b45f"
         "85dc3"},
        {"O2: while (*a != v) a++;", "89f03b377412662e0f1f8400000000004883c704390775f8c3"},
        {"O0: while (*a != v) a++;",
         "554889e548897df88975f4eb05488345f804488b45f88b003945f475f0488b45f88b005dc3"},
        {"O2: for (...) a[i] = 7;",
         "4885f67e1b488d04f70f1f800000000048c707070000004883c7084839c775f0c3"},
        {"O2: for (...) count.fetch_add(1);",
         "85ff7e1b31c0662e0f1f840000000000f08305000000000183c00139c775f1c3"},
        {"O2: for (...) if (a[i].exchange(0)) return;",
         "85f67e1d4863f631d2488d0cb7eb0a904883c7044839cf740889d0870785c074efc3"},
        {"O2: while (s != end) h = h * 33 + *s++;",
         "b8051500004839f77426660f1f4400004889c24883c70148c1e2054801d00fb657ff4801d04839fe75e6c30f1"
         "f440000c3"},
    };
    for (const auto& [source, code] : loops)
        EXPECT_EQ(waiting_in(bytes_of(code)), Places{}) << source;
}

// pause, jmp to the begin, with something before.
Places waiting_with(const std::string& instructions) {
    const std::string body = bytes_of(instructions + "f390");
    return waiting_in(body + bytes_of("eb") +
                      static_cast<char>(-static_cast<int>(body.size()) - 2));
}

TEST(WaitLoop, nothing_is_called_or_stored) {
    EXPECT_EQ(waiting_with(""), (Places{0, 2}));
    EXPECT_EQ(waiting_with("c745f800000000"), (Places{0, 7, 9}));  // mov dword [rbp-8], 0
    EXPECT_EQ(waiting_with("c7042400000000"), (Places{0, 7, 9}));  // mov dword [rsp], 0
    EXPECT_EQ(waiting_with("c70700000000"), Places{});             // mov dword [rdi], 0
    EXPECT_EQ(waiting_with("f0ff45f8"), Places{});                 // lock inc dword [rbp-8]
    EXPECT_EQ(waiting_with("e800000000"), Places{});               // call
    EXPECT_EQ(waiting_with("0f05"), Places{});                     // syscall
    EXPECT_EQ(waiting_with("c3"), Places{});                       // ret
    EXPECT_EQ(waiting_with("ffe0"), Places{});                     // jmp rax
}

TEST(WaitLoop, an_access_of_a_lock_word_waits_if_it_tries_to_take_it) {
    const auto waits = [](const char* instruction) {
        const std::string body = bytes_of(instruction);
        return WaitLoop::TakesLock ==
               wait_loop_at(
                   body + bytes_of("75") + static_cast<char>(-static_cast<int>(body.size()) - 2),
                   0);
    };
    EXPECT_TRUE(waits("f00fba2f00"));          // lock bts dword [rdi], 0
    EXPECT_FALSE(waits("f00fba3700"));         // lock btr
    EXPECT_FALSE(waits("f00fc107"));           // lock xadd [rdi], eax
    EXPECT_TRUE(waits("31c0f00fb10f"));        // xor eax, eax; lock cmpxchg [rdi], ecx
    EXPECT_TRUE(waits("b800000000f00fb10f"));  // mov eax, 0; the same
    EXPECT_FALSE(waits("31c00fb10f"));         // without lock
    EXPECT_FALSE(waits("f00fb10f"));           // expects what it found last
    EXPECT_FALSE(waits("8b06f00fb10f"));       // mov eax, [rsi]; expects what it read
}

TEST(WaitLoop, only_small_loops_and_whole_instructions) {
    const auto loop_of = [](std::size_t size) {
        return std::string(size - 4, '\x90') + bytes_of("f390eb") +
               static_cast<char>(-static_cast<int>(size));
    };
    EXPECT_EQ(wait_loop_at(loop_of(max_wait_loop_bytes), 0), WaitLoop::Waits);
    EXPECT_EQ(wait_loop_at(loop_of(max_wait_loop_bytes + 1), 0), WaitLoop::None);
    EXPECT_EQ(wait_loop_at(loop_of(max_wait_loop_bytes + 1), 20), WaitLoop::None);
    EXPECT_EQ(wait_loop_at("", 0), WaitLoop::None);
    EXPECT_EQ(wait_loop_at(bytes_of("f390eb"), 0), WaitLoop::None);      // cut off
    EXPECT_EQ(wait_loop_at(bytes_of("06f390ebfb"), 1), WaitLoop::None);  // not an instruction
    EXPECT_EQ(wait_loop_at(bytes_of("ebfe"), 0), WaitLoop::None);  // for (;;); waits for nothing
}

}  // namespace
}  // namespace lagtrap::binaries::test::wait_loop_test
