# Library headers that most sources of a kind include, parsed once: parsing is half the time of a build. Sources still
# include what they use: the linters compile each without precompiled headers (tools/lint/lint.sh).

set(freshet_headers_base
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <mutex> <optional> <random> <set> <span> <string> <string_view> <thread> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/status.h> <absl/status/statusor.h>
  <absl/strings/str_cat.h> <fmt/format.h>)
set(freshet_headers_store ${freshet_headers_base} <rocksdb/db.h> <rocksdb/env.h>)
# The API's own headers rarely change, and any source with one of them includes gRPC.
set(freshet_headers_rpc ${freshet_headers_base}
  <freshet/v1/admin.grpc.pb.h> <freshet/v1/ingest.grpc.pb.h> <freshet/v1/pages.grpc.pb.h>
  <freshet/v1/scheduler.grpc.pb.h> <google/protobuf/arena.h> <grpcpp/grpcpp.h>)
set(freshet_headers_test ${freshet_headers_base} <gmock/gmock.h> <gtest/gtest.h>)
set(freshet_headers_rpc_test ${freshet_headers_rpc} <gmock/gmock.h> <gtest/gtest.h>)

option(FRESHET_PRECOMPILED "Parse the headers of libraries once; linters do without" ON)

# freshet_precompiled(KIND DEPS x y): parses freshet_headers_KIND; DEPS are its libraries beyond base. Targets with the
# same compiler options share the result by freshet_use_precompiled(TARGET KIND).
function(freshet_precompiled KIND)
  if(NOT FRESHET_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${KIND}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(freshet_precompiled_${KIND} OBJECT ${source})
  target_link_libraries(freshet_precompiled_${KIND} PRIVATE freshet_flags absl::flat_hash_map absl::flat_hash_set
    absl::statusor absl::strings fmt::fmt ${ARG_DEPS})
  target_precompile_headers(freshet_precompiled_${KIND} PRIVATE ${freshet_headers_${KIND}})
endfunction()

function(freshet_use_precompiled TARGET KIND)
  if(FRESHET_PRECOMPILED)
    target_precompile_headers(${TARGET} REUSE_FROM freshet_precompiled_${KIND})
  endif()
endfunction()

# Precompiles for a target whose compiler options or libraries are unique.
function(freshet_precompile_alone TARGET KIND)
  if(FRESHET_PRECOMPILED)
    target_precompile_headers(${TARGET} PRIVATE ${freshet_headers_${KIND}})
  endif()
endfunction()
