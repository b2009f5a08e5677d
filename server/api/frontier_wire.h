// Reads and writes the most frequent messages of the crawl-frontier API without the generated
// classes. Metadata stays in its bytes, and nothing is allocated for what a message only claims to
// hold (docs/decisions/0016-crawl-frontier.md).
//
// Repeated and split fields are merged as in protobuf: the last text wins, metadata adds up. All
// functions are thread-safe.
#ifndef FRESHET_SERVER_API_FRONTIER_WIRE_H_
#define FRESHET_SERVER_API_FRONTIER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontier/frontier_urls.h"

namespace freshet {

// A received URL. Its texts are views of the message. Value type, thread-compatible.
struct FrontierUrl {
  std::string_view url;
  std::string_view key;
  std::string_view crawl;
  std::string metadata;  // fields as received
  bool valid = true;     // all texts are UTF-8, with those of the metadata
};

// The value of the first of some metadata keys that an item has, in any case: some client releases
// write all keys in lower case. Among several spellings the given one comes first. Value type,
// thread-compatible.
class FirstMetadata {
 public:
  // `keys` outlive it.
  explicit FirstMetadata(const std::vector<std::string>& keys) : keys_(&keys) {}
  // Considers an entry. Its texts stay valid as long as this is used.
  void Offer(std::string_view key, std::string_view value);
  // Forgets all entries.
  void Clear() { *this = FirstMetadata(*keys_); }
  // Empty = no entry has such a key.
  [[nodiscard]] std::string_view value() const { return value_; }

 private:
  const std::vector<std::string>* keys_;
  // Index of the key, whether it is spelt otherwise, and how: the first one wins.
  std::optional<std::tuple<size_t, bool, std::string_view>> place_;
  std::string_view value_;
};

// The metadata keys that tell the result of a fetch; they outlive all messages.
struct FrontierFetchKeys {
  const std::vector<std::string>& status;
  const std::vector<std::string>& digest;
};

struct FrontierItemMessage {
  explicit FrontierItemMessage(const FrontierFetchKeys& keys)
      : status(keys.status), digest(keys.digest) {}

  FrontierUrl info;
  FirstMetadata status;  // of a known item
  FirstMetadata digest;
  bool given = false;  // discovered or known
  bool known = false;
  uint64_t due = 0;
  std::string_view id;
};

struct FrontierBatchMessage {
  std::string_view id;
  std::vector<FrontierUrl> items;  // the first limits::kMaxUrlsPerBatch
  size_t count = 0;                // number of all
};

// Decode URLItem and DiscoveredBatch. False = the bytes are none. The fields before the fault are
// set.
[[nodiscard]] bool DecodeFrontierItem(std::string_view bytes, FrontierItemMessage* item);
[[nodiscard]] bool DecodeFrontierBatch(std::string_view bytes, FrontierBatchMessage* batch);

// The result of the fetch that a known item tells.
[[nodiscard]] FrontierFetch FetchOf(const FrontierItemMessage& item);

// Makes the put of a received URL: fills in crawl id and key. InvalidArgument: the URL cannot be
// kept, for this reason.
[[nodiscard]] StatusOr<FrontierPut> MakeFrontierPut(FrontierUrl url);

// The part of an id that is sent back: at most as long as a URL.
[[nodiscard]] inline std::string_view FrontierAckId(std::string_view id) {
  return id.substr(0, limits::kMaxUrlBytes);
}
// Encode AckMessage and BatchAck. In an id that is not UTF-8 wrong bytes become '?'.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierAck(std::string_view id, FrontierOutcome outcome);
[[nodiscard]] grpc::ByteBuffer EncodeFrontierBatchAck(std::string_view id,
                                                      const std::vector<FrontierOutcome>& outcomes);
// Encodes URLInfo.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierUrl(const FrontierServed& served);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_WIRE_H_
