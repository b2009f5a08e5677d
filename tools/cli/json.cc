#include "tools/cli/json.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <cmath>

#include "absl/strings/escaping.h"
#include "core/base/safe_text.h"

namespace freshet::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;
using nlohmann::ordered_json;

// A double can hold every integer up to this one exactly, so readers that parse numbers as doubles
// lose nothing.
constexpr uint64_t kExact = uint64_t{1} << 53;

ordered_json Integer(int64_t value) {
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  if (magnitude <= kExact) return value;
  return std::to_string(value);
}

ordered_json Integer(uint64_t value) {
  if (value <= kExact) return value;
  return std::to_string(value);
}

ordered_json Real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

ordered_json Bytes(const std::string& value) { return absl::Base64Escape(value); }

ordered_json MessageValue(const Message& message) {
  if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
    return TimeUtil::ToString(static_cast<const google::protobuf::Timestamp&>(message));
  }
  if (message.GetDescriptor() == google::protobuf::Duration::descriptor()) {
    return TimeUtil::ToString(static_cast<const google::protobuf::Duration&>(message));
  }
  return ToJson(message);
}

// Returns the value of a field, or of element `i` if the field is repeated.
ordered_json FieldValue(const Message& message, const FieldDescriptor& field, int i) {
  const Reflection& get = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? get.GetRepeatedInt32(message, &field, i) : get.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? get.GetRepeatedUInt32(message, &field, i) : get.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return Integer(many ? get.GetRepeatedInt64(message, &field, i)
                          : get.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Integer(many ? get.GetRepeatedUInt64(message, &field, i)
                          : get.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Real(many ? get.GetRepeatedDouble(message, &field, i)
                       : get.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Real(static_cast<double>(many ? get.GetRepeatedFloat(message, &field, i)
                                           : get.GetFloat(message, &field)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? get.GetRepeatedBool(message, &field, i) : get.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (many ? get.GetRepeatedEnum(message, &field, i) : get.GetEnum(message, &field))
          ->name();
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          many ? get.GetRepeatedString(message, &field, i) : get.GetString(message, &field);
      if (field.type() == FieldDescriptor::TYPE_BYTES) return Bytes(text);
      return text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(many ? get.GetRepeatedMessage(message, &field, i)
                               : get.GetMessage(message, &field));
  }
  return nullptr;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  ordered_json object = ordered_json::object();
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int f = 0; f < type.field_count(); ++f) {
    const FieldDescriptor& field = *type.field(f);
    if (field.is_repeated()) {
      ordered_json list = ordered_json::array();
      for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
        list.push_back(FieldValue(message, field, i));
      }
      object[field.name()] = std::move(list);
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      object[field.name()] = FieldValue(message, field, 0);
    }
  }
  return object;
}

std::string JsonText(const ordered_json& value) {
  return SafeJson(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

std::string ToJsonLine(const Message& message) { return JsonText(ToJson(message)); }

}  // namespace freshet::cli
