// A rocksdb::Env whose reads of some files wait for the test, so that a test can examine a start
// while it is in progress.
#ifndef FRESHET_TESTS_SUPPORT_GATED_ENV_H_
#define FRESHET_TESTS_SUPPORT_GATED_ENV_H_

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "tests/support/gate.h"

namespace freshet {

// An environment with a gate, which is open at first. Thread-safe.
class GatedEnv final : public rocksdb::EnvWrapper {
 public:
  // Gates files with this suffix: tables, or with ".log" write-ahead logs.
  explicit GatedEnv(std::string suffix = ".sst");
  ~GatedEnv() override;

  // Makes reads wait until Open().
  void Close();
  void Open();
  // Waits until a read waits at the closed gate.
  void AwaitVisitor();
  // Lets one waiting read pass. Precondition: there is one.
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
