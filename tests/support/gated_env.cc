#include "tests/support/gated_env.h"

#include <utility>

namespace freshet {

// A file whose reads pass the gate. Thread-safe like the wrapped file.
class GatedEnv::File final : public rocksdb::RandomAccessFileWrapper {
 public:
  File(std::unique_ptr<rocksdb::RandomAccessFile> file, std::shared_ptr<Gate> gate)
      : RandomAccessFileWrapper(file.get()), file_(std::move(file)), gate_(std::move(gate)) {}

  rocksdb::Status Read(uint64_t offset, size_t n, rocksdb::Slice* result,
                       char* scratch) const override {
    gate_->Pass();
    return file_->Read(offset, n, result, scratch);
  }
  // Calls Read() for each request, so that these reads wait at the gate, too.
  rocksdb::Status MultiRead(rocksdb::ReadRequest* requests, size_t count) override {
    return RandomAccessFile::MultiRead(requests, count);
  }
  // Refuses to read ahead. RocksDB then uses Read(), which waits at the gate.
  rocksdb::Status Prefetch(uint64_t, size_t) override { return rocksdb::Status::NotSupported(); }

 private:
  std::unique_ptr<rocksdb::RandomAccessFile> file_;
  std::shared_ptr<Gate> gate_;
};

// A file that is read in sequence. Its reads pass the gate. Owner thread only, like the wrapped
// file.
class GatedEnv::StreamedFile final : public rocksdb::SequentialFileWrapper {
 public:
  StreamedFile(std::unique_ptr<rocksdb::SequentialFile> file, std::shared_ptr<Gate> gate)
      : SequentialFileWrapper(file.get()), file_(std::move(file)), gate_(std::move(gate)) {}

  rocksdb::Status Read(size_t n, rocksdb::Slice* result, char* scratch) override {
    gate_->Pass();
    return file_->Read(n, result, scratch);
  }

 private:
  std::unique_ptr<rocksdb::SequentialFile> file_;
  std::shared_ptr<Gate> gate_;
};

GatedEnv::GatedEnv(std::string suffix)
    : rocksdb::EnvWrapper(rocksdb::Env::Default()),
      suffix_(std::move(suffix)),
      gate_(std::make_shared<Gate>()) {}
GatedEnv::~GatedEnv() = default;

void GatedEnv::Close() { gate_->Close(); }
void GatedEnv::Open() { gate_->Open(); }
void GatedEnv::AwaitVisitor() { gate_->AwaitVisitor(); }
void GatedEnv::LetOnePass() { gate_->LetOnePass(); }

rocksdb::Status GatedEnv::NewRandomAccessFile(const std::string& name,
                                              std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                              const rocksdb::EnvOptions& options) {
  rocksdb::Status status = target()->NewRandomAccessFile(name, file, options);
  if (status.ok() && name.ends_with(suffix_)) {
    *file = std::make_unique<File>(std::move(*file), gate_);
  }
  return status;
}

rocksdb::Status GatedEnv::NewSequentialFile(const std::string& name,
                                            std::unique_ptr<rocksdb::SequentialFile>* file,
                                            const rocksdb::EnvOptions& options) {
  rocksdb::Status status = target()->NewSequentialFile(name, file, options);
  if (status.ok() && name.ends_with(suffix_)) {
    *file = std::make_unique<StreamedFile>(std::move(*file), gate_);
  }
  return status;
}

}  // namespace freshet
