// Each row of the tables that tell the program's own work from what is around it.
#include "analysis/frame_role.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::frame_role_test {
namespace {

using Names = std::vector<std::string>;

// The role of the only frame, written as in MadeRecording.
FrameRole role(const std::string& text, const std::string& source = "") {
    test::MadeRecording made;
    made.stack({text});
    made.recording.frames[0].source = made.name(source);
    return role_of(made.recording, made.recording.frames[0]);
}

const Names plumbing_modules{"libc",      "libpthread",     "ld-linuxmore", "ld-muslmore", "ld",
                             "libstdc++", "libgcc_s",       "libc++",       "libc++abi",   "librt",
                             "libdl",     "linux-vdsomore", "[vdso]",       "[vsyscall]"};

TEST(FrameRoles, LibrariesOfCAndCppArePlumbing) {
    for (const std::string& module : plumbing_modules) {
        const std::string file = module.starts_with('[') ? module : "/usr/lib/" + module + ".so.1";
        EXPECT_EQ(role("!" + file + "!work"), FrameRole::Plumbing) << module;
        EXPECT_EQ(role("?:" + file), FrameRole::Plumbing) << module;
    }
    for (const std::string file : {"/usr/lib/libcrypto.so.3", "/usr/bin/app", "/usr/lib/libcurl.so",
                                   "/usr/lib/libpthreads.so"})
        EXPECT_EQ(role("!" + file + "!work"), FrameRole::Code) << file;
    EXPECT_EQ(role("k:work"), FrameRole::Kernel);
    EXPECT_EQ(role("![jit]!work"), FrameRole::RunTimeCode);
    EXPECT_EQ(role("_start"), FrameRole::Start);
    EXPECT_EQ(role("clone3@@GLIBC_2.34"), FrameRole::Start);
}

// Whatever their names: "run_module" begins as functions of the interpreter do.
TEST(FrameRoles, FunctionsOfScriptsAreKnownByTheirFiles) {
    for (const char* own : {"/srv/app.py", "app.py", "/usr/lib/python3/dist-packages/yaml/a.py",
                            "/venv/lib/python3.11/site-packages/flask/app.py", "<string>"}) {
        EXPECT_EQ(role("![jit]!run_module", own), FrameRole::RunTimeCode) << own;
        EXPECT_EQ(role("![jit]!std::find", own), FrameRole::RunTimeCode) << own;
    }
    for (const char* library :
         {"/usr/lib/python3.11/threading.py", "<frozen importlib._bootstrap>"})
        EXPECT_EQ(role("![jit]!wait", library), FrameRole::ScriptLibrary) << library;
    EXPECT_EQ(role("![jit]!Builtins_JSEntry"), FrameRole::Interpreter);
}

const Names plumbing_functions{
    "std::more",       "__gnu_cxx::more",  "__cxxabiv1::more",    "__lll_more",
    "lll_more",        "futex_waitmore",   "__futex_more",        "futex_abstimed_waitmore",
    "___pthread_more", "__gthread_more",   "__pthread_more",      "pthread_more",
    "__GI_more",       "runtime.more",     "runtime/more",        "internal/runtime/more",
    "core::more",      "alloc::more",      "<core::more",         "<alloc::more",
    "<std::more",      "operator newmore", "operator deletemore", "rb_native_more",
    "native_cond_more"};

TEST(FrameRoles, FunctionsOfRuntimesWithinAProgramArePlumbing) {
    for (const std::string& function : plumbing_functions)
        EXPECT_EQ(role(function), FrameRole::Plumbing) << function;
    EXPECT_EQ(role("read@plt"), FrameRole::Plumbing);
    EXPECT_EQ(role("void std::__introsort_loop<int*>(int*)"), FrameRole::Plumbing);
    EXPECT_EQ(role("std_work"), FrameRole::Code);
    EXPECT_EQ(role("void app::sort(std::vector<int>)"), FrameRole::Code);
    for (const std::string folder : {"/usr/include/c++/12/bits/", "/llvm/c++/v1/", "/rustc/abc/"})
        EXPECT_EQ(role("work", folder + "file.h"), FrameRole::Plumbing) << folder;
    EXPECT_EQ(role("work", "/src/include/file.h"), FrameRole::Code);
}

const Names interpreter_functions{"Py_BytesMain",
                                  "Py_RunMain",
                                  "pymain_more",
                                  "Py_Main",
                                  "run_modmore",
                                  "run_eval_code_obj",
                                  "_PyRun_more",
                                  "PyRun_more",
                                  "PyEval_more",
                                  "_PyEval_more",
                                  "_PyFunction_Vectorcall",
                                  "PyObject_Callmore",
                                  "_PyObject_Callmore",
                                  "_PyObject_Vectorcallmore",
                                  "_PyObject_MakeTpCall",
                                  "_PyObject_FastCallmore",
                                  "PyObject_Vectorcallmore",
                                  "_PyVectorcall_more",
                                  "PyVectorcall_more",
                                  "vectorcall_more",
                                  "object_vacall",
                                  "cfunction_more",
                                  "method_vectorcallmore",
                                  "_PyMethodDef_more",
                                  "slot_tp_more",
                                  "type_callmore",
                                  "builtin_execmore",
                                  "wrapperdescr_more",
                                  "function_code_fastcall",
                                  "do_call_coremore",
                                  "trampoline_call",
                                  "pyrun_more",
                                  "gen_send_exmore",
                                  "gen_iternextmore",
                                  "Builtins_JSEntrymore",
                                  "Builtins_JSRunmore",
                                  "Builtins_InterpreterEntryTrampolinemore",
                                  "Builtins_ArgumentsAdaptormore",
                                  "Builtins_Call_more",
                                  "Builtins_CallFunctionmore",
                                  "Builtins_Constructmore",
                                  "Builtins_CallApiCallbackmore",
                                  "Builtins_CallApiGettermore",
                                  "Builtins_CEntrymore",
                                  "Builtins_ReflectApplymore",
                                  "Builtins_FunctionPrototypeApplymore",
                                  "Builtins_PromiseFulfillReactionJobmore",
                                  "Builtins_RunMicrotasksmore",
                                  "Builtins_AsyncFunctionAwaitResolvemore",
                                  "Builtins_HandleApiCallmore",
                                  "v8::internal::Execution::more",
                                  "v8::internal::(anonymous namespace)::Invokemore",
                                  "v8::Function::Callmore",
                                  "v8::Script::Runmore",
                                  "node::InternalCallbackScopemore",
                                  "node::InternalMakeCallbackmore",
                                  "node::MakeCallbackmore",
                                  "node::AsyncWrap::MakeCallbackmore",
                                  "node::Startmore",
                                  "node::LoadEnvironmentmore",
                                  "node::StartExecutionmore",
                                  "node::SpinEventLoopmore",
                                  "node::NodeMainInstance::more",
                                  "node::ExecuteBootstrappermore",
                                  "node::builtins::BuiltinLoader::CompileAndCallmore",
                                  "uv_run",
                                  "uv__run_more",
                                  "uv__io_poll",
                                  "BytecodeHandler:more",
                                  "Builtin:more",
                                  "Stub:more",
                                  "JavaMain",
                                  "JavaCalls::more",
                                  "JNI_CreateJavaVMmore",
                                  "jni_Callmore",
                                  "jni_invokemore",
                                  "call_stub",
                                  "StubRoutinesmore",
                                  "Interpreter",
                                  "thread_entry",
                                  "JavaThread::more",
                                  "Thread::call_run",
                                  "thread_native_entry",
                                  "ThreadJavaMain",
                                  "ruby_run_node",
                                  "ruby_execmore",
                                  "rb_ec_execmore",
                                  "rb_vm_execmore",
                                  "vm_execmore",
                                  "vm_callmore",
                                  "vm_sendishmore",
                                  "rb_vm_more",
                                  "rb_vm_callmore",
                                  "rb_ensure",
                                  "rb_rescue",
                                  "rb_rescue2",
                                  "rb_vrescue2",
                                  "rb_protect",
                                  "rb_nogvl",
                                  "rb_thread_io_blocking_region",
                                  "rb_thread_call_without_gvlmore",
                                  "rb_call0",
                                  "rb_funcallmore",
                                  "rb_yieldmore",
                                  "vm_yieldmore",
                                  "invoke_blockmore",
                                  "Perl_runops_more",
                                  "perl_run",
                                  "Perl_call_sv",
                                  "luaV_executemore",
                                  "luaD_more",
                                  "lua_pcallmore",
                                  "lua_callmore",
                                  "luaV_finishmore",
                                  "ccall",
                                  "execute_ex",
                                  "zend_executemore",
                                  "zend_call_function",
                                  "php_executemore",
                                  "runtime.main",
                                  "runtime.goexitmore"};

TEST(FrameRoles, LoopsThatRunAScriptAreItsInterpreter) {
    for (const std::string& function : interpreter_functions)
        EXPECT_EQ(role(function), FrameRole::Interpreter) << function;
    for (const std::string function : {"uv_runner", "rb_ensured", "Interpreters", "JavaMainly"})
        EXPECT_EQ(role(function), FrameRole::Code) << function;
}

const Names runtime_modules{"nodemore",      "libnodemore",   "java",
                            "libjvm",        "libjava",       "libjli",
                            "pythonmore",    "libpythonmore", "rubymore",
                            "librubymore",   "phpmore",       "libphpmore",
                            "monomore",      "libcoreclr",    "dotnet",
                            "libclrjit",     "libhostfxr",    "luajitmore",
                            "libluajitmore", "beammore",      "perlmore",
                            "libperlmore",   "deno",          "bun",
                            "libv8more",     "libmozjsmore",  "libjavascriptcoregtkmore"};

TEST(FrameRoles, RuntimesOfLanguagesAreKnownByTheirFile) {
    for (const std::string& module : runtime_modules) {
        EXPECT_TRUE(is_language_runtime("/usr/bin/" + module)) << module;
        EXPECT_TRUE(is_language_runtime("/usr/lib/" + module + ".so.1")) << module;
        EXPECT_FALSE(is_language_runtime("/usr/bin/x" + module)) << module;
    }
    for (const std::string path : {"/usr/bin/app", "/usr/bin/javac", "/usr/bin/bunny", ""})
        EXPECT_FALSE(is_language_runtime(path)) << path;
}

const Names wait_wrappers{"WaitEventSetWaitmore",
                          "WaitLatchmore",
                          "PGSemaphoreLock",
                          "ConditionVariableSleep",
                          "ConditionVariableTimedSleep",
                          "LWLockAcquiremore",
                          "ProcWaitForSignal",
                          "pg_usleep",
                          "MDL_wait::timed_waitmore",
                          "inline_mysql_cond_more",
                          "psi_cond_more",
                          "safe_cond_more",
                          "my_cond_more",
                          "os_event::waitmore",
                          "os_event_waitmore",
                          "vio_io_wait",
                          "mysql_socket_pollmore",
                          "os::PlatformEvent::parkmore",
                          "os::PlatformMonitor::waitmore",
                          "Parker::parkmore",
                          "PosixSemaphore::waitmore",
                          "ObjectMonitor::more",
                          "ObjectSynchronizer::more",
                          "Monitor::waitmore",
                          "Unsafe_Park",
                          "sqlite3InvokeBusyHandler",
                          "sqliteDefaultBusyCallback",
                          "sqlite3OsSleep",
                          "unixSleep",
                          "sqlite3VfsSleep",
                          "g_cond_waitmore",
                          "g_mutex_lockmore",
                          "g_poll",
                          "uv_cond_*wait",
                          "uv_sem_wait",
                          "uv_mutex_lock",
                          "uv__io_poll",
                          "QWaitCondition::waitmore",
                          "QMutex::lockmore",
                          "QSemaphore::acquiremore",
                          "QSemaphore::tryAcquiremore",
                          "boost::condition_variablemore",
                          "boost::mutex::lockmore",
                          "absl::Mutex::more",
                          "absl::CondVar::more",
                          "apr_thread_cond_more",
                          "apr_thread_mutex_lock",
                          "apr_poll"};

TEST(FrameRoles, HelpersThatWaitAreWrappers) {
    for (const std::string& function : wait_wrappers)
        EXPECT_TRUE(is_wait_wrapper(function)) << function;
    for (const std::string function : {"g_polls", "uv_sem_waiter", "exec_simple_query", ""})
        EXPECT_FALSE(is_wait_wrapper(function)) << function;
}

TEST(FrameRoles, ModulesHaveShortNames) {
    EXPECT_EQ(module_name("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"), "libz");
    EXPECT_EQ(module_name("/usr/lib/libz.so"), "libz");
    EXPECT_EQ(module_name("/usr/lib/libz.sort"), "libz.sort");
    EXPECT_EQ(module_name("/usr/bin/node"), "node");
    EXPECT_EQ(module_name("node"), "node");
    EXPECT_EQ(module_name("[vdso]"), "[vdso]");
    EXPECT_EQ(module_name("/usr/lib/python3/zlib.cpython-311-x86_64-linux-gnu.so"), "zlib");
    EXPECT_EQ(module_name("/lib/libc-2.31.so"), "libc");
    EXPECT_EQ(module_name("/lib/libpthread-2.31.so"), "libpthread");
    EXPECT_EQ(module_name("/lib/libm-2.31.so"), "libm-2.31");
    EXPECT_EQ(module_name(""), "");
}

TEST(FrameRoles, FunctionsOfTheCLibraryHavePlainNames) {
    EXPECT_EQ(plain_function("___pthread_mutex_lock"), "pthread_mutex_lock");
    EXPECT_EQ(plain_function("__GI___clock_nanosleep@@GLIBC_2.17"), "clock_nanosleep");
    EXPECT_EQ(plain_function("read"), "read");
    EXPECT_EQ(plain_function("__"), "__");
    EXPECT_EQ(plain_function("GI_read"), "read");
    EXPECT_EQ(plain_function(""), "");
}

}  // namespace
}  // namespace lagtrap::analysis::frame_role_test
