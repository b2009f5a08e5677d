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

// A signal that arrived while its page was leased: it may be newer than the fetch.
struct LeaseSignal {
  Instant time;
  SourceClass source_class;
  bool operator==(const LeaseSignal&) const = default;
};

struct LeaseRecord {
  LeaseId id;
  PageNumber page;
  std::string worker;  // the name that the worker gives itself
  // The client that the worker belongs to: kIdentityClient and the name of an identity, or the
  // network of the worker; empty = an old release wrote the record.
  std::string client;
  Instant assigned;
  Instant deadline;
  std::vector<LeaseSignal> signals;  // the newest, at most limits::kMaxSignalsDuringLease
  // The host of a page that was removed while leased; empty = the page exists, or the lease is
  // over.
  std::string host;
  // The lease has ended. The store keeps such a lease for a while, with id and page alone, to
  // recognise late and repeated results.
  bool over = false;
  bool reported = false;  // a result was taken; only of a lease that is over
  bool operator==(const LeaseRecord&) const = default;
};

// How LeaseRecord::client begins where it names an identity.
inline constexpr std::string_view kIdentityClient = "identity ";

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_LEASE_H_
