// Makes a usable store of a damaged one. What stands twice in a database is taken from where it can
// be read; what is derived is made anew; what is lost is said.
//
//   lost                      becomes
//   urls or texts             rebuilt from each other, nothing is lost
//   urls and texts            the page cannot be saved
//   states                    the page is kept, as one never crawled, with default settings
//   details                   the page is kept, without validators and observations
//   hosts                     the host has the default politeness
//   leases                    the page is free again; a result of that lease is an observation
//   sources                   a name that was lost or stands twice is kept reserved as lost-N
//   meta                      settings as configured; the site model is learned anew; fingerprints
//                             are made with a new secret
//   a page stored twice       the one of the lower number
//   the end of the log        what was acknowledged last, as far as the log cannot be read
#ifndef FRESHET_STORAGE_REPAIR_H_
#define FRESHET_STORAGE_REPAIR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "storage/options.h"
#include "storage/store.h"

namespace freshet::storage {

// Tables, the files that hold most rows. Of one that cannot be read at all nobody knows what it
// held: neither how many pages nor that they were there. Value type, thread-compatible.
struct TableDamage {
  uint64_t tables = 0;      // that there were, or should have been
  uint64_t unreadable = 0;  // of them, as a whole; missing ones included
  uint64_t unreadable_bytes = 0;
  uint64_t damaged = 0;  // of them, in parts
  uint64_t damaged_bytes = 0;
  uint64_t damaged_rows = 0;  // that those held, what could be read included
  // Whether it is known which tables there should have been. Else those that are missing are not
  // counted.
  bool complete = true;
};

// Value type, thread-compatible.
struct RepairReport {
  bool intact = false;  // nothing was wrong, nothing was done
  // What the store holds now.
  uint64_t pages = 0;
  uint64_t hosts = 0;
  uint64_t leases = 0;
  // What could not be saved.
  uint64_t lost_pages = 0;  // of which something was left
  uint64_t lost_leases = 0;
  uint64_t lost_rows = 0;  // others that were there but could not be read
  // What stood in there and is neither saved nor counted above cannot be told from what never was.
  TableDamage tables;
  std::vector<std::string> notes;  // what was found, one line each, at most kMaxNotes
  std::string original;            // directory to which the damaged files were moved
  static constexpr size_t kMaxNotes = 100;
};

// What is more to know about a store than storage/ does.
struct RepairChecks {
  // Finds what is wrong with it. Whoever is told of problems by more than Store::Verify repairs by
  // more: what the look before the repair and the one after it find is what counts.
  std::function<StatusOr<VerifyReport>(const Store& store)> verify = [](const Store& store) {
    return store.Verify();
  };
  // Whether a policy of this name can be followed; one that cannot is not kept.
  std::function<bool(const std::string& policy)> knows_policy = [](const std::string&) {
    return true;
  };
};

// Repairs the database in `dir`, which no process has open. Works on a copy below `dir` (tables are
// linked, so it takes the space of the new tables), and only when the new store is complete and
// verified are the files in place moved to `dir`/damaged-N and the new ones into their place.
// Nothing of the original is ever deleted or changed.
//
// FailedPrecondition: in use, or written by a newer release. NotFound: no database, not even a
// damaged one. Any other status: not repaired, everything is where it was. Thread-safe.
[[nodiscard]] StatusOr<RepairReport> Repair(const std::string& dir, const StoreOptions& options,
                                            const RepairChecks& checks = {});

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_REPAIR_H_
