// Empty source: CMake precompiles headers only for a library that has a source
// (cmake/PrecompiledHeaders.cmake).
