// A rocksdb::Env whose reads of some files wait until the test lets them go on: so that a start can
// be looked at while it is under way.
#ifndef FRESHET_TESTS_SUPPORT_GATED_ENV_H_
#define FRESHET_TESTS_SUPPORT_GATED_ENV_H_

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "tests/support/gate.h"

namespace freshet {

// Thread-safe. The gate is open at first.
class GatedEnv final : public rocksdb::EnvWrapper {
 public:
  // Gates files whose names end so: tables, or with ".log" write-ahead logs.
  explicit GatedEnv(std::string suffix = ".sst");
  ~GatedEnv() override;

  // From here on reads wait, until Open.
  void Close();
  void Open();
  // Waits until a read waits at the closed gate.
  void AwaitVisitor();
  // Lets one of the reads that wait go on. Precondition: one does.
  void LetOnePass();

  rocksdb::Status NewRandomAccessFile(const std::string& name,
                                      std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override;
  rocksdb::Status NewSequentialFile(const std::string& name,
                                    std::unique_ptr<rocksdb::SequentialFile>* file,
                                    const rocksdb::EnvOptions& options) override;

 private:
  class File;
  class StreamedFile;
  const std::string suffix_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_GATED_ENV_H_
