# Entries per second of the embedded journal; prints JSON lines. Not built by default.
add_executable(journal_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/journal_bench.cc)
target_link_libraries(journal_bench PRIVATE spur_os spur_warnings)
