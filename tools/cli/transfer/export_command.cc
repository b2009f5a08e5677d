// export: writes everything stored about pages to standard output, or to a file. A later run can
// complete an interrupted export to a file.
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/page_list.h"
#include "tools/cli/table.h"
#include "tools/cli/transfer/page_rows.h"
#include "tools/cli/transfer/resume_state.h"

namespace freshet::cli {
namespace {

// The number of uncompressed bytes that are written to the file at a time. An interrupted export
// loses at most this number of bytes.
constexpr size_t kPartBytes = size_t{4} << 20;
constexpr int kWindowOfGzip = 16 + MAX_WBITS;

struct ExportOptions {
  std::shared_ptr<ListOptions> list;
  std::string format = "jsonl";
  std::string output;
  bool resume = false;

  [[nodiscard]] bool tsv() const { return format == "tsv"; }
};

std::string LineOf(const v1::PageRecord& record, bool tsv) {
  return (tsv ? PageRow(record.page()) : ToJsonLine(record)) + "\n";
}

absl::Status WriteError(const std::string& path) {
  return absl::DataLossError(fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

// Returns the text compressed as one member of a gzip file. A file can have several members.
std::string Compressed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowOfGzip, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib takes a pointer to non-const, but only reads through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A file that grows by parts. Each part is on disk before the new end of the file is recorded.
// Owner thread only.
class PartedFile {
 public:
  explicit PartedFile(std::string path) : path_(std::move(path)) {}
  ~PartedFile() {
    if (file_ >= 0) close(file_);
  }
  PartedFile(const PartedFile&) = delete;
  PartedFile& operator=(const PartedFile&) = delete;

  // Opens the file and truncates it to `bytes` bytes. InvalidArgument: the file is shorter.
  absl::Status Open(uint64_t bytes) {
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) return WriteError(path_);
    if (lseek(file_, 0, SEEK_END) < static_cast<off_t>(bytes)) {
      return absl::InvalidArgumentError(fmt::format("{} is shorter than it was", path_));
    }
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0 || lseek(file_, 0, SEEK_END) < 0) {
      return WriteError(path_);
    }
    return absl::OkStatus();
  }

  absl::Status Append(std::string_view part) {
    while (!part.empty()) {
      const ssize_t wrote = write(file_, part.data(), part.size());
      if (wrote < 0 && errno != EINTR) return WriteError(path_);
      if (wrote > 0) part.remove_prefix(static_cast<size_t>(wrote));
    }
    return fdatasync(file_) == 0 ? absl::OkStatus() : WriteError(path_);
  }

 private:
  const std::string path_;
  int file_ = -1;
};

// Writes the pages of a stream to a file. Owner thread only.
class FileExport {
 public:
  FileExport(Session& session, const ExportOptions& options)
      : session_(session),
        options_(options),
        gzip_(options.output.ends_with(".gz")),
        state_path_(options.output + ".resume"),
        file_(options.output) {}

  ExitCode Run(v1::ExportPagesRequest request) {
    absl::Status status = Begin(&request);
    if (status.ok() && complete_) {
      session_.Note(fmt::format("{}: this export is complete", options_.output));
      return kAccepted;
    }
    if (!status.ok()) return Lost(status);
    Progress progress(session_.progress_style(), "pages");
    const auto stub = v1::PagesService::NewStub(session_.channel());
    grpc::ClientContext context;
    const auto stream = stub->ExportPages(&context, request);
    v1::ExportPagesResponse response;
    while (status.ok() && stream->Read(&response)) {
      for (const auto& record : response.pages()) part_ += LineOf(record, options_.tsv());
      state_.token = response.next_page_token();
      state_.pages += static_cast<uint64_t>(response.pages_size());
      progress.Add(static_cast<uint64_t>(response.pages_size()));
      if (part_.size() >= kPartBytes) status = WritePart();
    }
    if (!status.ok()) context.TryCancel();
    const grpc::Status ended = stream->Finish();
    if (status.ok()) status = WritePart();
    if (!status.ok()) return Lost(status);
    return Conclude(ended);
  }

 private:
  absl::Status Begin(v1::ExportPagesRequest* request) {
    state_.request = request->ShortDebugString() + " " + options_.format;
    if (options_.resume) {
      const auto loaded = LoadExportState(state_path_);
      if (!loaded.ok()) return loaded.status();
      if (*loaded && (*loaded)->request != state_.request) {
        return absl::InvalidArgumentError(
            fmt::format("{} is of an export of something else", state_path_));
      }
      if (*loaded) state_ = **loaded;
      // If the file exists without a state file, its export is complete.
      complete_ = !*loaded && access(options_.output.c_str(), F_OK) == 0;
      if (complete_) return absl::OkStatus();
    }
    if (!state_.token.empty()) request->set_page_token(state_.token);
    limit_ = request->has_limit() ? request->limit() : 0;
    if (limit_ > 0) {
      request->set_limit(request->limit() - std::min(request->limit() - 1, state_.pages));
    }
    const absl::Status opened = file_.Open(state_.bytes);
    if (!opened.ok()) return opened;
    if (state_.bytes == 0 && options_.tsv()) part_ = PageRowHeader() + "\n";
    return Save(state_, state_path_);
  }

  absl::Status WritePart() {
    if (part_.empty()) return absl::OkStatus();
    const std::string written = gzip_ ? Compressed(part_) : std::exchange(part_, {});
    part_.clear();
    const absl::Status status = file_.Append(written);
    if (!status.ok()) return status;
    state_.bytes += written.size();
    return Save(state_, state_path_);
  }

  ExitCode Conclude(const grpc::Status& ended) {
    const std::string count =
        fmt::format("{} {}", ShowCount(state_.pages), state_.pages == 1 ? "page" : "pages");
    const bool limited = limit_ > 0 && state_.pages >= limit_;
    if (ended.ok() && (state_.token.empty() || limited)) {
      unlink(state_path_.c_str());
      session_.Note(state_.token.empty()
                        ? fmt::format("{}, complete", count)
                        : fmt::format("{}, more follows: --page-token {}", count, state_.token));
      return kAccepted;
    }
    const ExitCode code = session_.Fail(
        ended.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server ended the list early")
                   : ended);
    if (code == kRefused && state_.pages == 0) {
      unlink(state_path_.c_str());
      return code;
    }
    session_.Complain(fmt::format("{} in {}; to continue, run the same command with --resume",
                                  count, options_.output));
    return code;
  }

  // DataLoss means that output was lost (for example on a full disk); all other errors are bad
  // usage.
  ExitCode Lost(const absl::Status& status) {
    const ExitCode code = session_.Fail(status);
    return absl::IsDataLoss(status) ? kOutputLost : code;
  }

  Session& session_;
  const ExportOptions& options_;
  const bool gzip_;
  const std::string state_path_;
  PartedFile file_;
  ExportState state_;
  std::string part_;
  uint64_t limit_ = 0;  // 0 = no limit
  bool complete_ = false;
};

ExitCode Export(Session& session, const ExportOptions& options) {
  v1::ExportPagesRequest request;
  absl::Status status = FillList(*options.list, &request);
  if (status.ok()) status = session.Connect();
  if (!status.ok()) return session.Fail(status);
  if (!options.output.empty()) return FileExport(session, options).Run(std::move(request));
  const auto stub = v1::PagesService::NewStub(session.channel());
  Progress progress(session.progress_style(), "pages");
  grpc::ClientContext context;
  const auto stream = stub->ExportPages(&context, request);
  if (options.tsv()) session.out() << PageRowHeader() << '\n';
  return PrintStream<v1::ExportPagesResponse>(
      session, *options.list, context, *stream, [&](const v1::ExportPagesResponse& part) {
        for (const auto& record : part.pages()) session.out() << LineOf(record, options.tsv());
        progress.Add(static_cast<uint64_t>(part.pages_size()));
      });
}

}  // namespace

void AddExportCommand(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("export", "Print everything stored about pages, for `freshet import`");
  const auto options = std::make_shared<ExportOptions>();
  options->list = AddListOptions(*command);
  command
      ->add_option(
          "--format", options->format,
          "jsonl has everything; tsv has settings and the last crawl, one row for each page")
      ->check(CLI::IsMember({"jsonl", "tsv"}))
      ->capture_default_str();
  auto* output = command->add_option(
      "--output,-o", options->output,
      "File to write instead of standard output; compressed if its name ends in .gz");
  command
      ->add_flag("--resume", options->resume,
                 "Continue an interrupted run that wrote to the same file")
      ->needs(output)
      ->excludes("--page-token");
  command->callback([options, &action] {
    action = [options](Session& session) { return Export(session, *options); };
  });
}

}  // namespace freshet::cli
