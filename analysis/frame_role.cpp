#include "analysis/frame_role.hpp"

#include <algorithm>
#include <array>

#include "analysis/plumbing.hpp"
#include "trace/names/busy_wait_name.hpp"

namespace lagtrap::analysis {

namespace {

// Patterns ending in '*' match as prefixes.
constexpr auto plumbing_modules = std::to_array<std::string_view>(
    {"libc", "libpthread", "ld-linux*", "ld-musl*", "ld", "libstdc++", "libgcc_s", "libc++",
     "libc++abi", "libpthread", "librt", "libdl", "linux-vdso*", "[vdso]", "[vsyscall]"});

constexpr auto runtime_modules =
    std::to_array<std::string_view>({"node*",      "libnode*",   "java",
                                     "libjvm",     "libjava",    "libjli",
                                     "python*",    "libpython*", "ruby*",
                                     "libruby*",   "php*",       "libphp*",
                                     "mono*",      "libcoreclr", "dotnet",
                                     "libclrjit",  "libhostfxr", "luajit*",
                                     "libluajit*", "beam*",      "perl*",
                                     "libperl*",   "deno",       "bun",
                                     "libv8*",     "libmozjs*",  "libjavascriptcoregtk*"});

// Functions of runtimes linked into the program itself, and instances of library templates in it.
constexpr auto plumbing_functions =
    std::to_array<std::string_view>({"std::*",
                                     "__gnu_cxx::*",
                                     "__cxxabiv1::*",
                                     "__lll_*",
                                     "lll_*",
                                     "futex_wait*",
                                     "__futex_*",
                                     "futex_abstimed_wait*",
                                     "___pthread_*",
                                     "__gthread_*",
                                     "__pthread_*",
                                     "pthread_*",
                                     "__GI_*",
                                     "runtime.*",
                                     "runtime/*",
                                     "internal/runtime/*",
                                     "core::*",
                                     "alloc::*",
                                     "<core::*",
                                     "<alloc::*",
                                     "<std::*",
                                     "operator new*",
                                     "operator delete*",
                                     "rb_native_*",
                                     "native_cond_*",
                                     trace::busy_wait_name,
                                     trace::possible_busy_wait_name});

constexpr auto interpreter_functions = std::to_array<std::string_view>(
    {// CPython
     "Py_BytesMain", "Py_RunMain", "pymain_*", "Py_Main", "run_mod*", "run_eval_code_obj",
     "_PyRun_*", "PyRun_*", "PyEval_*", "_PyEval_*", "_PyFunction_Vectorcall", "PyObject_Call*",
     "_PyObject_Call*", "_PyObject_Vectorcall*", "_PyObject_MakeTpCall", "_PyObject_FastCall*",
     "PyObject_Vectorcall*", "_PyVectorcall_*", "PyVectorcall_*", "vectorcall_*", "object_vacall",
     "cfunction_*", "method_vectorcall*", "_PyMethodDef_*", "slot_tp_*", "type_call*",
     "builtin_exec*", "wrapperdescr_*", "function_code_fastcall", "do_call_core*",
     "trampoline_call", "pyrun_*", "gen_send_ex*", "gen_iternext*",
     // Node.js, V8
     "Builtins_JSEntry*", "Builtins_JSRun*", "Builtins_InterpreterEntryTrampoline*",
     "Builtins_ArgumentsAdaptor*", "Builtins_Call_*", "Builtins_CallFunction*",
     "Builtins_Construct*", "Builtins_CallApiCallback*", "Builtins_CallApiGetter*",
     "Builtins_CEntry*", "Builtins_ReflectApply*", "Builtins_FunctionPrototypeApply*",
     "Builtins_PromiseFulfillReactionJob*", "Builtins_RunMicrotasks*",
     "Builtins_AsyncFunctionAwaitResolve*", "Builtins_HandleApiCall*", "v8::internal::Execution::*",
     "v8::internal::(anonymous namespace)::Invoke*", "v8::Function::Call*", "v8::Script::Run*",
     "node::InternalCallbackScope*", "node::InternalMakeCallback*", "node::MakeCallback*",
     "node::AsyncWrap::MakeCallback*", "node::Start*", "node::LoadEnvironment*",
     "node::StartExecution*", "node::SpinEventLoop*", "node::NodeMainInstance::*",
     "node::ExecuteBootstrapper*", "node::builtins::BuiltinLoader::CompileAndCall*", "uv_run",
     "uv__run_*", "uv__io_poll", "BytecodeHandler:*", "Builtin:*", "Stub:*",
     // Java
     "JavaMain", "JavaCalls::*", "JNI_CreateJavaVM*", "jni_Call*", "jni_invoke*", "call_stub",
     "StubRoutines*", "Interpreter", "thread_entry", "JavaThread::*", "Thread::call_run",
     "thread_native_entry", "ThreadJavaMain",
     // Ruby, Perl, Lua, PHP
     "ruby_run_node", "ruby_exec*", "rb_ec_exec*", "rb_vm_exec*", "vm_exec*", "vm_call*",
     "vm_sendish*", "rb_vm_*", "rb_vm_call*", "rb_ensure", "rb_rescue", "rb_rescue2", "rb_vrescue2",
     "rb_protect", "rb_nogvl", "rb_thread_io_blocking_region", "rb_thread_call_without_gvl*",
     "rb_call0", "rb_funcall*", "rb_yield*", "vm_yield*", "invoke_block*", "Perl_runops_*",
     "perl_run", "Perl_call_sv", "luaV_execute*", "luaD_*", "lua_pcall*", "lua_call*",
     "luaV_finish*", "ccall", "execute_ex", "zend_execute*", "zend_call_function", "php_execute*",
     // Go
     "runtime.main", "runtime.goexit*"});

// Helpers of programs and libraries that wait for something on behalf of their callers, which know
// for what. PostgreSQL 11 to 18, MariaDB 10.5 to 11.8, OpenJDK 11 to 25.
constexpr auto wait_wrappers = std::to_array<std::string_view>(
    {// PostgreSQL
     "WaitEventSetWait*", "WaitLatch*", "PGSemaphoreLock", "ConditionVariableSleep",
     "ConditionVariableTimedSleep", "LWLockAcquire*", "ProcWaitForSignal", "pg_usleep",
     // MariaDB
     "MDL_wait::timed_wait*", "inline_mysql_cond_*", "psi_cond_*", "safe_cond_*", "my_cond_*",
     "os_event::wait*", "os_event_wait*", "vio_io_wait", "mysql_socket_poll*",
     // OpenJDK
     "os::PlatformEvent::park*", "os::PlatformMonitor::wait*", "Parker::park*",
     "PosixSemaphore::wait*", "ObjectMonitor::*", "ObjectSynchronizer::*", "Monitor::wait*",
     "Unsafe_Park", "sqlite3InvokeBusyHandler", "sqliteDefaultBusyCallback", "sqlite3OsSleep",
     "unixSleep", "sqlite3VfsSleep",
     // GLib, libuv, Qt, Boost, Abseil, APR
     "g_cond_wait*", "g_mutex_lock*", "g_poll", "uv_cond_*wait", "uv_sem_wait", "uv_mutex_lock",
     "uv__io_poll", "QWaitCondition::wait*", "QMutex::lock*", "QSemaphore::acquire*",
     "QSemaphore::tryAcquire*", "boost::condition_variable*", "boost::mutex::lock*",
     "absl::Mutex::*", "absl::CondVar::*", "apr_thread_cond_*", "apr_thread_mutex_lock",
     "apr_poll"});

template <std::size_t Count>
bool matches_any(std::string_view text, const std::array<std::string_view, Count>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
        if (!pattern.ends_with('*')) return text == pattern;
        return text.starts_with(pattern.substr(0, pattern.size() - 1));
    });
}

// A template's name starts with its return type: "void std::__introsort_loop<...>(...)".
bool is_of_std(std::string_view function) {
    const std::string_view head = function.substr(0, function.find_first_of("<("));
    const std::size_t space = head.rfind(' ');
    return space != std::string_view::npos && head.substr(space + 1).starts_with("std::");
}

// Names of inlined functions lack the namespace; their source file shows what they are.
bool is_of_standard_source(std::string_view path) {
    constexpr auto folders =
        std::to_array<std::string_view>({"/include/c++/", "/c++/v1/", "/rustc/"});
    return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
        return path.find(folder) != std::string_view::npos;
    });
}

// A Python function, unlike other run-time code, is known with its file (or "<frozen os>").
FrameRole role_of_script(std::string_view path) {
    const std::size_t library = path.find("/lib/python3");
    const bool is_installed = path.find("/site-packages/") != std::string_view::npos ||
                              path.find("/dist-packages/") != std::string_view::npos;
    const bool is_own =
        (library != std::string_view::npos && !is_installed) || path.starts_with("<frozen ");
    return is_own ? FrameRole::ScriptLibrary : FrameRole::RunTimeCode;
}

}  // namespace

std::string_view module_name(std::string_view path) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (file.empty() || file.front() == '[') return file;
    const std::size_t so = file.find(".so");
    std::string_view name =
        so != std::string_view::npos && (so + 3 == file.size() || file[so + 3] == '.')
            ? file.substr(0, so)
            : file;
    // "zlib.cpython-311-x86_64-linux-gnu", and "libc-2.31" in older distributions.
    if (const std::size_t tag = name.find(".cpython-"); tag != std::string_view::npos)
        name = name.substr(0, tag);
    if (name.starts_with("libc-2.") || name.starts_with("libpthread-2."))
        name = name.substr(0, name.find('-'));
    return name;
}

bool is_language_runtime(std::string_view path) {
    return matches_any(module_name(path), runtime_modules);
}

bool is_wait_wrapper(std::string_view function) { return matches_any(function, wait_wrappers); }

std::string_view plain_function(std::string_view function) {
    std::string_view plain = function.substr(0, function.find('@'));
    while (plain.starts_with('_') || plain.starts_with("GI_"))
        plain.remove_prefix(plain.starts_with('_') ? 1 : 3);
    return plain.empty() ? function : plain;
}

bool is_of_script(std::string_view module, std::string_view source) {
    return module == "[jit]" && !source.empty();
}

bool is_of_script(const Recording& recording, const Frame& frame) {
    return is_of_script(recording.name(frame.module), recording.name(frame.source));
}

FrameRole role_of(const Recording& recording, const Frame& frame) {
    if (frame.kernel) return FrameRole::Kernel;
    const std::string_view module = recording.name(frame.module);
    const std::string_view source = recording.name(frame.source);
    if (is_of_script(recording, frame)) return role_of_script(source);
    if (frame.named) {
        const std::string_view function = recording.name(frame.label);
        if (is_thread_start(function)) return FrameRole::Start;
        if (function.ends_with("@plt")) return FrameRole::Plumbing;
        if (matches_any(function, interpreter_functions)) return FrameRole::Interpreter;
        if (matches_any(function, plumbing_functions) || is_of_std(function))
            return FrameRole::Plumbing;
        if (is_of_standard_source(source)) return FrameRole::Plumbing;
    }
    if (module == "[jit]") return FrameRole::RunTimeCode;
    if (matches_any(module_name(module), plumbing_modules)) return FrameRole::Plumbing;
    return FrameRole::Code;
}

}  // namespace lagtrap::analysis
