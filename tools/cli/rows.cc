#include "tools/cli/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/wrong_value.h"
#include "tools/cli/cells.h"
#include "tools/cli/odd_numbers.h"
#include "tools/cli/url_argument.h"

namespace freshet::cli {
namespace {

absl::Status RowError(uint64_t row, std::string_view reason) {
  return absl::InvalidArgumentError(fmt::format("row {}: {}", row, reason));
}

// Returns the proper name of a column. nullopt = there is no such column.
std::optional<std::string_view> ColumnNamed(const RowFormat& format, std::string_view name) {
  for (const auto& [alias, column] : format.aliases) {
    if (alias == name) return column;
  }
  const auto it = std::find(format.columns.begin(), format.columns.end(), name);
  if (it == format.columns.end()) return std::nullopt;
  return *it;
}

// Returns for example ", did you mean url?" if a column has a similar name.
std::string MeantColumn(const RowFormat& format, std::string_view name) {
  return DidYouMean(name, {format.columns.begin(), format.columns.end()});
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

// Whether a line without tabs is probably CSV. URLs can contain commas, too, but rarely before a
// number or another URL.
bool LooksLikeCsv(std::string_view line) {
  const size_t comma = line.find_first_of(",;");
  if (comma == std::string_view::npos) return false;
  const std::string_view last = Trimmed(line.substr(line.find_last_of(",;") + 1));
  const std::string_view next = Trimmed(line.substr(comma + 1));
  return line.front() == '"' || IsNumber(last) || next.substr(0, 7) == "http://" ||
         next.substr(0, 8) == "https://";
}

// Reads the rows of one input. Owner thread only.
class TextRows : public RowSource {
 public:
  TextRows(std::unique_ptr<ByteSource> bytes, RowFormat format, bool csv)
      : lines_(std::move(bytes)), format_(std::move(format)), csv_(csv) {}

  absl::StatusOr<bool> Next(Row* row) override {
    while (true) {
      absl::StatusOr<bool> more = lines_.Next(&line_);
      row->number = lines_.line_number();
      if (!more.ok() || !*more) return more;
      const std::string_view text = Trimmed(line_);
      if (text.empty()) continue;
      row->fields.clear();
      if (form_ == Form::kUnknown) {
        absl::StatusOr<bool> header = TellForm(text);
        // If the header cannot be understood, no later line can be either.
        if (!header.ok()) return absl::FailedPreconditionError(header.status().message());
        if (*header) continue;
      }
      const absl::Status status = Parse(row);
      if (!status.ok()) return status;
      return true;
    }
  }

  [[nodiscard]] bool WouldWait() const override { return lines_.WouldWait(); }

 private:
  enum class Form { kUnknown, kJson, kTable, kCsv, kPlain };

  // Detects the format by the first line. Returns true if that line was a header.
  absl::StatusOr<bool> TellForm(std::string_view first) {
    if (first.front() == '{') {
      form_ = Form::kJson;
      return false;
    }
    for (const char separator : {'\t', ',', ';'}) {
      // A header with a single column has no separator, so it would match as TSV. If the name of
      // the input ends like that of a CSV file, it is read as CSV, where the cell can be in quotes.
      if (csv_ && separator == '\t' && line_.find('\t') == std::string::npos) continue;
      const std::optional<std::vector<std::string>> cells =
          separator == '\t' ? Owned(SplitAt(line_, "\t", false)) : SplitCsv(line_, separator);
      if (!cells || !AnyKnown(*cells)) continue;
      form_ = separator == '\t' ? Form::kTable : Form::kCsv;
      separator_ = separator;
      const absl::Status status = TakeHeader(*cells);
      if (!status.ok()) return status;
      return true;
    }
    if (csv_) {
      return RowError(lines_.line_number(),
                      fmt::format("CSV needs a first line that names its columns, of {}",
                                  fmt::join(format_.columns, ", ")));
    }
    if (!IsTabbed() && LooksLikeCsv(first)) return CsvError(lines_.line_number());
    form_ = Form::kPlain;
    return false;
  }

  static std::vector<std::string> Owned(const std::vector<std::string_view>& cells) {
    return {cells.begin(), cells.end()};
  }

  [[nodiscard]] bool AnyKnown(const std::vector<std::string>& cells) const {
    return std::any_of(cells.begin(), cells.end(), [this](const std::string& cell) {
      return ColumnNamed(format_, Trimmed(cell)).has_value();
    });
  }

  absl::Status TakeHeader(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) {
      const std::optional<std::string_view> column = ColumnNamed(format_, Trimmed(cell));
      if (!column) {
        return RowError(lines_.line_number(),
                        fmt::format("unknown column {}{}", Quoted(Trimmed(cell)),
                                    MeantColumn(format_, Trimmed(cell))));
      }
      if (std::find(header_.begin(), header_.end(), *column) != header_.end()) {
        return RowError(lines_.line_number(), fmt::format("column '{}' is there twice", *column));
      }
      header_.push_back(*column);
    }
    return absl::OkStatus();
  }

  absl::Status Parse(Row* row) const {
    switch (form_) {
      case Form::kJson:
        return ParseJson(row);
      case Form::kTable:
        return ParseCells(SplitAt(line_, "\t", false), header_, row);
      case Form::kCsv: {
        const std::optional<std::vector<std::string>> cells = SplitCsv(line_, separator_);
        if (!cells) return RowError(row->number, "a quote is not closed in its line");
        return ParseCells({cells->begin(), cells->end()}, header_, row);
      }
      case Form::kPlain:
      case Form::kUnknown:
        break;
    }
    // A line without tabs is split at spaces, which no URL contains.
    const bool tabs = IsTabbed();
    if (!tabs && LooksLikeCsv(Trimmed(line_))) return CsvError(row->number);
    return ParseCells(SplitAt(Trimmed(line_), tabs ? "\t" : " ", !tabs), format_.positional, row);
  }

  [[nodiscard]] bool IsTabbed() const { return line_.find('\t') != std::string::npos; }

  [[nodiscard]] absl::Status CsvError(uint64_t row) const {
    return RowError(
        row, fmt::format("looks like CSV, which needs a first line that names its columns, "
                         "such as '{}'; '{}' alone there means that commas belong to the URLs",
                         fmt::join(format_.positional, ","), format_.positional.front()));
  }

  static absl::Status ParseCells(const std::vector<std::string_view>& cells,
                                 const std::vector<std::string_view>& columns, Row* row) {
    if (cells.size() > columns.size()) {
      return RowError(row->number, fmt::format("{} columns where at most {} are expected",
                                               cells.size(), columns.size()));
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view value = Trimmed(cells[i]);
      if (!value.empty()) row->fields.emplace_back(columns[i], value);
    }
    return absl::OkStatus();
  }

  absl::Status ParseJson(Row* row) const {
    const nlohmann::json object = ParseObject(line_);
    if (!object.is_object()) return RowError(row->number, "not an object of JSON");
    for (const auto& [name, value] : object.items()) {
      const std::optional<std::string_view> column = ColumnNamed(format_, name);
      if (!column)
        return RowError(row->number, fmt::format("unknown field {}{}", Quoted(name),
                                                 MeantColumn(format_, name)));
      if (value.is_null()) continue;
      if (value.is_structured()) {
        return RowError(row->number, fmt::format("{}: neither text nor number", name));
      }
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (!text.empty()) row->fields.emplace_back(*column, std::move(text));
    }
    return absl::OkStatus();
  }

  LineSource lines_;
  RowFormat format_;
  const bool csv_;  // the name of the input ends like that of a CSV file
  Form form_ = Form::kUnknown;
  char separator_ = ',';  // separator of CSV cells
  std::vector<std::string_view> header_;
  std::string line_;
};

// Reads rows from arguments, and from files among them. Owner thread only.
class ArgumentRows : public RowSource {
 public:
  ArgumentRows(std::vector<std::string> arguments, RowFormat format,
               bool (*names_item)(std::string_view), int input)
      : arguments_(std::move(arguments)),
        format_(std::move(format)),
        names_item_(names_item),
        input_(input) {}

  absl::StatusOr<bool> Next(Row* row) override {
    while (true) {
      if (file_) {
        absl::StatusOr<bool> more = file_->Next(row);
        if (!more.ok() && arguments_.size() > 1) return OfFile(more.status());
        if (!more.ok() || *more) return more;
        file_.reset();
      }
      if (next_ == arguments_.size()) return false;
      const std::string& argument = arguments_[next_];
      if (argument == "-") {
        file_ = ReadRows(ByteSource::FromDescriptor(input_), format_);
      } else if (!names_item_(argument) && std::filesystem::is_regular_file(argument)) {
        absl::StatusOr<std::unique_ptr<ByteSource>> bytes = ByteSource::Open(argument);
        if (!bytes.ok()) {
          return absl::NotFoundError(
              fmt::format("{}: {}", argument, std::string(bytes.status().message())));
        }
        const bool csv = argument.ends_with(".csv") || argument.ends_with(".csv.gz");
        file_ = std::make_unique<TextRows>(*std::move(bytes), format_, csv);
      } else {
        return TakeItem(row);
      }
      ++next_;
    }
  }

  [[nodiscard]] bool WasTyped() const override { return file_ == nullptr; }
  [[nodiscard]] bool WouldWait() const override { return file_ && file_->WouldWait(); }

 private:
  // Adds the file name, because the rows of each file are counted from 1.
  [[nodiscard]] absl::Status OfFile(const absl::Status& status) const {
    return {status.code(),
            fmt::format("{}: {}", arguments_[next_ - 1], std::string(status.message()))};
  }
  // Errors here are errors of the command line, not of a row.
  absl::StatusOr<bool> TakeItem(Row* row) {
    if (!names_item_(arguments_[next_]) && !NamesLease(arguments_[next_])) {
      return absl::FailedPreconditionError(
          fmt::format("argument {}: {}", next_ + 1, NeitherUrlNorFile(arguments_[next_])));
    }
    row->number = ++items_;
    row->fields.clear();
    size_t column = 0;
    do {
      if (!IsUtf8(arguments_[next_])) {
        return absl::FailedPreconditionError(
            fmt::format("argument {}: not valid UTF-8", next_ + 1));
      }
      row->fields.emplace_back(format_.positional[column++], arguments_[next_++]);
    } while (column < format_.positional.size() && next_ < arguments_.size() &&
             arguments_[next_] != "-" && !names_item_(arguments_[next_]));
    return true;
  }

  // Whether the argument is a number and thus names a lease, if rows may name leases.
  [[nodiscard]] bool NamesLease(std::string_view argument) const {
    return std::find(format_.columns.begin(), format_.columns.end(), "lease_id") !=
               format_.columns.end() &&
           !argument.empty() && argument.find_first_not_of("0123456789") == std::string_view::npos;
  }

  std::vector<std::string> arguments_;
  RowFormat format_;
  bool (*names_item_)(std::string_view);
  int input_;
  size_t next_ = 0;
  uint64_t items_ = 0;
  std::unique_ptr<RowSource> file_;
};

}  // namespace

const std::string* Row::Find(std::string_view column) const {
  for (const auto& [name, value] : fields) {
    if (name == column) return &value;
  }
  return nullptr;
}

std::unique_ptr<RowSource> ReadRows(std::unique_ptr<ByteSource> bytes, const RowFormat& format) {
  return std::make_unique<TextRows>(std::move(bytes), format, false);
}

std::unique_ptr<RowSource> RowsOfArguments(std::vector<std::string> arguments,
                                           const RowFormat& format,
                                           bool (*names_item)(std::string_view), int input) {
  if (arguments.empty()) return ReadRows(ByteSource::FromDescriptor(input), format);
  return std::make_unique<ArgumentRows>(std::move(arguments), format, names_item, input);
}

}  // namespace freshet::cli
