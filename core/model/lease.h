// The record of a lease, as the store keeps it. Value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_LEASE_H_
#define FRESHET_CORE_MODEL_LEASE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/model/signal.h"

namespace freshet {

// A signal that arrived while its page was leased, so it can be newer than the fetch.
struct LeaseSignal {
  Instant time;
  SourceClass source_class;
  bool operator==(const LeaseSignal&) const = default;
};

struct LeaseRecord {
  LeaseId id;
  PageNumber page;
  std::string worker;  // the name that the worker gives itself
  // The client that the worker belongs to: kIdentityClient followed by the name of an identity, or
  // else the worker's network. Empty = a record of an old release.
  std::string client;
  Instant assigned;
  Instant deadline;
  std::vector<LeaseSignal> signals;  // the newest, at most limits::kMaxSignalsDuringLease
  // The host of a page that was removed while it was leased. Empty = the page exists, or the lease
  // has ended.
  std::string host;
  // The lease has ended. The store keeps an ended lease for a while, with only its id and page, to
  // recognise late and repeated results.
  bool over = false;
  bool reported = false;  // a result was accepted; only set if `over` is set
  bool operator==(const LeaseRecord&) const = default;
};

// The prefix of LeaseRecord::client if it names an identity.
inline constexpr std::string_view kIdentityClient = "identity ";

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_LEASE_H_
