// A program whose objects are traced: calls of its functions, exceptions, and what is sent.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/bpf/kernel_types.hpp"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf_objects/native_objects.h"

namespace lagtrap::native {

constexpr std::uint64_t us = 1000;
constexpr std::uint8_t rdi = 7, rsi = 6, rdx = 2;
constexpr std::uint32_t cart_class = 3, other_class = 4;
constexpr std::uint32_t create = 10, use = 11, release = 12, make = 13, message = 14, inner = 15;
constexpr std::uint64_t top = 0x7ffe0000, caller = 0x401234;
constexpr std::uint64_t an_object = 0x5000, another = 0x6000;

// The process 100 has functions of a class: a constructor, a method, a destructor, a function that
// returns objects, and one that returns the text of an error.
class ObjectCalls : public testing::Test {
  protected:
    ObjectCalls() : kernel_(Kernel::instance()) {
        kernel_.reset();
        native_set_target(100);
        task_.pid = 101;
        task_.tgid = 100;
        task_.real_cred = &cred_;
        std::strcpy(task_.comm, "worker");
        select(task_);
        add(create, LAGTRAP_OBJECT_CREATE, rdi);
        add(use, LAGTRAP_OBJECT_USE, rdi);
        add(release, LAGTRAP_OBJECT_RELEASE, rdi);
        add(make, LAGTRAP_OBJECT_CREATE, LAGTRAP_FROM_RESULT);
        add(message, LAGTRAP_OBJECT_MESSAGE, LAGTRAP_FROM_RESULT);
        add(inner, LAGTRAP_OBJECT_USE, rdi);
        totals().room = 1000;
    }
    void select(kernel::task_struct& task) {
        thread_.pid = static_cast<__u32>(task.tgid);
        thread_.tid = static_cast<__u32>(task.pid);
        std::memcpy(thread_.comm, task.comm, sizeof(thread_.comm));
        kernel_.current = &thread_;
        native_set_task(&task);
    }
    lagtrap_object_function& add(std::uint32_t number, std::uint8_t role, std::uint8_t from) {
        lagtrap_object_function& made = function(number);
        made.role = role;
        made.object_from = from;
        made.title_from = LAGTRAP_FROM_NOWHERE;
        made.class_number = cart_class;
        made.rule = 1;
        return made;
    }
    lagtrap_object_function& function(std::uint32_t number) {
        return kernel_.at<lagtrap_object_function>(object_maps.functions, number);
    }
    lagtrap_object_class& counts(std::uint32_t number = cart_class) {
        return kernel_.at<lagtrap_object_class>(object_maps.classes, number);
    }
    lagtrap_object_totals& totals() {
        return kernel_.at<lagtrap_object_totals>(object_maps.totals, 0);
    }
    lagtrap_object_alive* alive(std::uint64_t object, std::uint32_t rule = 1) {
        const lagtrap_object_key key{object, rule, 0};
        return static_cast<lagtrap_object_alive*>(
            kernel_.lookup(kernel_.map(object_maps.alive), &key));
    }
    void pass(std::uint64_t elapsed_ns) { kernel_.now_ns += elapsed_ns; }

    void begin(std::uint32_t number, std::uint64_t object = 0, std::uint64_t stack = top,
               std::uint64_t second = 0) {
        registers_ = {};
        registers_.rsp = stack;
        registers_.rdi = object;
        registers_.rsi = second;
        kernel_.user_words[stack] = caller;
        kernel_.cookie = number;
        on_call(&registers_);
    }
    void end(std::uint32_t number, std::uint64_t result = 0, std::uint64_t stack = top,
             std::uint64_t flags = 0) {
        registers_.rsp = stack;
        registers_.rax = result;
        kernel_.cookie = number | flags;
        on_call_exit(&registers_);
    }
    void call(std::uint32_t number, std::uint64_t object, std::uint64_t result = 0,
              std::uint64_t elapsed_ns = 0) {
        begin(number, object);
        pass(elapsed_ns);
        end(number, result);
    }
    // An exception of the type `std::runtime_error` with this text is thrown.
    void raise(const char* text, const char* type = "St13runtime_error") {
        constexpr std::uint64_t exception = 0x9000, its_type = 0x9100, its_name = 0x9200;
        registers_.rdi = exception;
        registers_.rsi = its_type;
        kernel_.user_words[its_type + 8] = its_name;
        kernel_.user_texts[its_name] = type;
        kernel_.user_words[exception + 8] = 0x9300;
        kernel_.user_texts[0x9300] = text;
        on_throw(&registers_);
    }
    void handle(std::uint64_t stack) {
        registers_.rsp = stack;
        on_catch(&registers_);
    }
    // Calls sent since the last time; those without texts have empty ones.
    std::vector<lagtrap_object_call_texts> sent() {
        std::vector<lagtrap_object_call_texts> calls;
        for (const Bytes& bytes : kernel_.take_records(object_maps.records)) {
            lagtrap_object_call_texts& one = calls.emplace_back();
            std::memset(&one, 0, sizeof(one));
            std::memcpy(&one, bytes.data(), std::min(bytes.size(), sizeof(one)));
            EXPECT_EQ(one.call.has_texts, bytes.size() == sizeof(one) ? 1U : 0U);
            if (one.call.has_texts == 0) {
                EXPECT_EQ(bytes.size(), sizeof(one.call));
            }
        }
        return calls;
    }
    // The only call sent.
    lagtrap_object_call last() {
        const auto calls = sent();
        EXPECT_EQ(calls.size(), 1U);
        return calls.empty() ? lagtrap_object_call{} : calls.back().call;
    }

    Kernel& kernel_;
    kernel::task_struct task_{};
    kernel::cred cred_{};
    pt_regs registers_{};

  private:
    native_thread thread_{};
};

}  // namespace lagtrap::native
