#include "server/api/request_id.h"

#include <algorithm>

#include "fmt/format.h"

namespace freshet {

bool IsRequestId(std::string_view id) {
  constexpr std::string_view kOthers = "-_.:/+=@";
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::all_of(id.begin(), id.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

RequestIds::RequestIds(Instant begun) : prefix_(fmt::format("{:x}-", begun.micros())) {}

std::string RequestIds::Next() {
  return prefix_ + fmt::format("{:x}", last_.fetch_add(1, std::memory_order_relaxed) + 1);
}

std::string TakeRequestId(RequestIds& ids, grpc::CallbackServerContext& call) {
  std::string id;
  const auto given = call.client_metadata().find(kRequestIdName);
  if (given != call.client_metadata().end()) {
    const std::string_view text(given->second.data(), given->second.size());
    if (IsRequestId(text)) id = text;
  }
  if (id.empty()) id = ids.Next();
  call.AddInitialMetadata(kRequestIdName, id);
  return id;
}

}  // namespace freshet
