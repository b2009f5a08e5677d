// Turns the changes of one commit into one write batch. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_BATCH_BUILDER_H_
#define FRESHET_STORAGE_INTERNAL_BATCH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "storage/internal/store_impl.h"

namespace freshet {

// Looks up hosts in the store, but installs new hosts only after the batch was written, so that a
// failed commit changes nothing. Owner thread only.
class Store::Impl::BatchBuilder {
 public:
  explicit BatchBuilder(const Impl& store) : store_(store) {}

  // Precondition: `changes` is valid (storage/internal/validate.h). Not OK: Internal if a row is
  // larger than storage::kMaxRowBytes; other errors if hosts could not be read.
  [[nodiscard]] Status Add(const Changes& changes);
  [[nodiscard]] rocksdb::WriteBatch* batch() { return &batch_; }
  // Makes the new hosts and serials known. Must be called after the batch was written.
  void Install();

 private:
  struct NewHost {
    Slot slot;
    uint32_t serial = 0;
  };

  void Put(storage::Family family, const std::string& key);
  void Delete(storage::Family family, const std::string& key);
  [[nodiscard]] Status AddPage(const PageWrite& write);
  [[nodiscard]] Status AddEpoch(const EpochRecord& epoch);
  void AddRemoval(const PageRecord& page);
  [[nodiscard]] Status AddHost(const HostRecord& host);
  void AddHostRemoval(const std::string& host);
  // Returns the serial of a host, or a new serial if the store does not have the host. Writes the
  // row of a new host if `write_new`; otherwise the caller writes it.
  [[nodiscard]] StatusOr<uint32_t> HostSerial(Slot slot, const std::string& host, bool write_new);
  [[nodiscard]] Status AddLeases(const Changes& changes);
  void AddSerialMarks();
  void InstallPages();

  const Impl& store_;
  // A page in the batch: its row is a part of `rows_`.
  struct Row {
    PageNumber page;
    size_t end = 0;
    bool created = false;
  };

  rocksdb::WriteBatch batch_;
  std::string value_;
  Status row_;  // error of the first row that is too large
  std::vector<Row> written_;
  std::string rows_;
  std::vector<PageNumber> removed_;
  absl::flat_hash_map<std::string, NewHost> new_hosts_;
  std::vector<std::string> removed_hosts_;
  uint16_t shard_ = 0;
  storage::LeaseWrite leases_;
  absl::flat_hash_map<Slot, uint32_t> next_host_serials_;
  absl::flat_hash_map<Slot, uint64_t> removed_up_to_;  // highest removed serial, by slot
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_INTERNAL_BATCH_BUILDER_H_
