#include "server/api/reflection_service.h"

#include <memory>
#include <set>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/api/caller_stream.h"
#include "server/api/unary.h"

namespace freshet {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// A bound that is above the size of the largest answer, which is a file with all its imports.
constexpr size_t kMostOfFile = size_t{64} << 10;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

// Adds the file and its imports, each once.
void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>* added,
             FileDescriptorResponse* response) {
  if (!added->insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  response->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddFile(file->dependency(i), added, response);
  }
}

Status ShowFile(const FileDescriptor* file, ServerReflectionResponse* response) {
  if (file == nullptr) return MakeStatus(absl::StatusCode::kNotFound, "there is no such file");
  std::set<const FileDescriptor*> added;
  AddFile(file, &added, response->mutable_file_descriptor_response());
  return absl::OkStatus();
}

const FileDescriptor* FileOfExtension(const std::string& message, int number) {
  const Descriptor* type = Pool().FindMessageTypeByName(message);
  const FieldDescriptor* field =
      type == nullptr ? nullptr : Pool().FindExtensionByNumber(type, number);
  return field == nullptr ? nullptr : field->file();
}

Status ShowExtensions(const std::string& message, ServerReflectionResponse* response) {
  const Descriptor* type = Pool().FindMessageTypeByName(message);
  if (type == nullptr) return MakeStatus(absl::StatusCode::kNotFound, "there is no such message");
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  auto& numbers = *response->mutable_all_extension_numbers_response();
  numbers.set_base_type_name(message);
  for (const FieldDescriptor* field : extensions) numbers.add_extension_number(field->number());
  return absl::OkStatus();
}

Status Show(const ServerReflectionRequest& request, const std::vector<std::string>& services,
            ServerReflectionResponse* response) {
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return ShowFile(Pool().FindFileByName(request.file_by_filename()), response);
    case ServerReflectionRequest::kFileContainingSymbol:
      return ShowFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()), response);
    case ServerReflectionRequest::kFileContainingExtension: {
      const auto& extension = request.file_containing_extension();
      return ShowFile(FileOfExtension(extension.containing_type(), extension.extension_number()),
                      response);
    }
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return ShowExtensions(request.all_extension_numbers_of_type(), response);
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) {
        response->mutable_list_services_response()->add_service()->set_name(name);
      }
      return absl::OkStatus();
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  return MakeStatus(absl::StatusCode::kUnimplemented, "message_request: is unset");
}

// One call. Thread-safe.
class ReflectionStream final : public CallerStream {
 public:
  static constexpr std::string_view kPath =
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

  using Services = std::shared_ptr<const std::vector<std::string>>;

  ReflectionStream(const ServerContext& context, grpc::CallbackServerContext& call,
                   Services services)
      : CallerStream(context, kPath, call), services_(std::move(services)) {}

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    const uint64_t place = OpenAck();
    ServerReflectionRequest request;
    ServerReflectionResponse response;
    StatusOr<const Caller*> caller = GetCaller();
    Status status = caller.status();
    if (status.ok()) {
      Charge(**caller, 1);
      status = ReadRequest(*bytes, &request, MostBytes(context_));
    }
    if (status.ok()) status = Show(request, *services_, &response);
    if (!status.ok()) {
      response.mutable_error_response()->set_error_code(status.raw_code());
      response.mutable_error_response()->set_error_message(std::string(status.message()));
    }
    response.set_valid_host(request.host());
    *response.mutable_original_request() = std::move(request);
    Acknowledge(place, SerialiseMessage(response));
  }

  // The answer repeats the request.
  [[nodiscard]] size_t MostAnswered(size_t message_bytes) const override {
    return kMostOfFile + message_bytes;
  }

  const Services services_;
};

}  // namespace

std::vector<CallMethod> ReflectionMethods(const ServerContext& context,
                                          std::vector<std::string> services) {
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(services));
  return {{ReflectionStream::kPath, [&context, shared](ServerCall* call) -> Reactor* {
             NoteStream(ReflectionStream::kPath, context, *call);
             const auto stream = std::make_shared<ReflectionStream>(context, *call, shared);
             stream->Begin(&context.streams);
             return stream.get();
           }}};
}

}  // namespace freshet
