# spur_proto: the messages, on protobuf-lite. spur_proto_grpc: the service stubs for grpc++, for daemons only.
file(GLOB SPUR_PROTOS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/spur/v1/*.proto)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
set(gen ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${gen})
set(pb_sources) 
set(grpc_sources)
foreach(proto IN LISTS SPUR_PROTOS)
  get_filename_component(stem ${proto} NAME_WE)
  set(base ${gen}/spur/v1/${stem})
  add_custom_command(OUTPUT ${base}.pb.cc ${base}.pb.h ${base}.grpc.pb.cc ${base}.grpc.pb.h
    COMMAND ${PROTOC} -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${gen} --grpc_out=${gen}
            --plugin=protoc-gen-grpc=${GRPC_PLUGIN} --dependency_out=${base}.d ${proto}
    DEPENDS ${proto} DEPFILE ${base}.d COMMENT "protoc ${stem}.proto")
  list(APPEND pb_sources ${base}.pb.cc)
  list(APPEND grpc_sources ${base}.grpc.pb.cc)
endforeach()
find_library(PROTOBUF_LITE_STATIC libprotobuf-lite.a REQUIRED)
add_library(spur_proto STATIC ${pb_sources})
target_include_directories(spur_proto SYSTEM PUBLIC ${gen})
target_link_libraries(spur_proto PUBLIC protobuf::libprotobuf-lite)
add_library(spur_proto_grpc STATIC ${grpc_sources})
target_link_libraries(spur_proto_grpc PUBLIC spur_proto ${GRPCPP_LINK_LIBRARIES})

# spur_etcd_proto: what we use of etcd's API, for os/etcd_client.
set(etcd ${gen}/etcd/v3/rpc)
add_custom_command(OUTPUT ${etcd}.pb.cc ${etcd}.pb.h ${etcd}.grpc.pb.cc ${etcd}.grpc.pb.h
  COMMAND ${PROTOC} -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${gen} --grpc_out=${gen}
          --plugin=protoc-gen-grpc=${GRPC_PLUGIN} ${CMAKE_SOURCE_DIR}/proto/etcd/v3/rpc.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/proto/etcd/v3/rpc.proto COMMENT "protoc etcd")
add_library(spur_etcd_proto STATIC ${etcd}.pb.cc ${etcd}.grpc.pb.cc)
target_include_directories(spur_etcd_proto SYSTEM PUBLIC ${gen})
target_link_libraries(spur_etcd_proto PUBLIC protobuf::libprotobuf-lite ${GRPCPP_LINK_LIBRARIES})
