// SPDX-License-Identifier: Apache-2.0
// pickle: the values of any pickle in a file, or its opcodes.
#include <algorithm>

#include "analysis/pickles.hpp"
#include "analysis/scan/scan.hpp"
#include "base/text.hpp"
#include "cli/run.hpp"
#include "containers/joblib.hpp"
#include "report/pickle_report.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

using analysis::PickleReader;
using analysis::PickleStream;

class Run {
 public:
  explicit Run(Context& context) : context_(context), answer_(context) {
    extent_.rows = context.options.number("--limit", extent_.rows);
    extent_.depth = static_cast<std::size_t>(context.options.number("--depth", extent_.depth));
    extent_.stop = interrupted;
    ops_ = context.options.has("--ops");
  }
  int operator()();

 private:
  Result<PickleReader> open();
  Error name_pickles(Error error, const std::shared_ptr<ByteSource>& source) const;
  Error no_pickle(const PickleStream& stream) const;
  bool write_all(PickleReader& reader, PickleStream first);
  void write(const PickleStream& stream);
  void write_json(report::JsonWriter& json, const PickleStream& stream);
  void write_text(const PickleStream& stream);
  void note_rest(const PickleReader& reader);

  Context& context_;
  Answer answer_;
  std::unique_ptr<FileSet> files_;
  std::string file_;
  const Limits limits_;
  report::PickleExtent extent_;
  bool ops_ = false;
  std::uint64_t written_ = 0;  // pickles so far
  report::PickleOmitted omitted_;
};

/// The file that was asked for; of a folder the one pickle that describes it.
Result<PickleReader> Run::open() {
  auto files = open_path(context_.options.word(0), context_.options.has("--no-mmap") ? MapMode::never : MapMode::automatic);
  if (!files) return std::unexpected(std::move(files).error());
  files_ = *std::move(files);
  file_ = files_->primary();
  if (file_.empty()) file_ = ".metadata";
  auto source = files_->open(file_);
  if (!source && files_->primary().empty() && source.error().code() == Code::no_such_file)
    return fail(Error(Code::usage, "a folder; name one of its files"));
  if (!source) return std::unexpected(std::move(source).error());
  auto reader = PickleReader::open(*source, context_.options.word(1), limits_);
  if (!reader && reader.error().code() == Code::no_such_member) return fail(name_pickles(std::move(reader).error(), *source));
  return reader;
}

/// Advises of the members that are pickles, as a scan finds them by their bytes, whatever their names are.
Error Run::name_pickles(Error error, const std::shared_ptr<ByteSource>& source) const {
  constexpr std::size_t kMostNamed = 20, kMostTried = 100;  // each reads the directory again
  const auto scanned = scan::scan_file(*source, file_, {});
  if (!scanned || scanned->members.size() < 2) return error;
  std::vector<std::string> names;
  std::size_t tried = 0;
  for (const scan::Member& member : scanned->members) {
    if (member.streams == 0 || member.name.empty() || tried++ >= kMostTried) continue;
    if (PickleReader::open(source, member.name, limits_)) names.push_back(member.name);
  }
  const auto is_told = [&](const std::string& name) { return error.what().find(quote(name)) != std::string::npos; };
  if (!names.empty() && std::ranges::all_of(names, is_told)) return error;
  std::string words = names.empty() ? "no pickle was found in it" : concat("pickles in it: ", name_list(names, kMostNamed));
  return std::move(error).advise(std::move(words)).fact("pickles", std::move(names));  // unless a near name is advised
}

/// What the file is instead.
Error Run::no_pickle(const PickleStream& stream) const {
  const Error& broken = *stream.graph->broken();
  auto opened = assay::open(*files_, limits_);
  if (!opened) return std::move(opened).error();
  if (opened->format == "pickle" || opened->format == "torch-legacy")
    return Error(broken.code(), broken.what()).at(broken.where().offset.value_or(0));
  return Error(Code::no_pickle, concat("a file of format ", opened->format, ", in which there is no pickle"));
}

void Run::write_json(report::JsonWriter& json, const PickleStream& stream) {
  const pickle::Graph& graph = *stream.graph;
  json.begin_object();
  json.key("member").text(stream.member);
  json.key("number").integer(stream.number);
  json.key("in_file").boolean(stream.in_file);
  json.key("offset").integer(graph.begin_offset());
  json.key("end").integer(graph.end_offset());
  json.key("protocol").integer(graph.protocol());
  if (graph.salvage_root() != pickle::kNoNode) json.key("root").integer(graph.salvage_root());
  joblib::ArrayReader arrays(limits_);
  json.key(ops_ ? "ops" : "values").begin_array();
  if (ops_) omitted_ = report::write_pickle_ops(json, stream.bytes, stream.with_arrays ? &arrays : nullptr, limits_, extent_);
  else omitted_ = report::write_pickle_values(json, graph, extent_);
  json.end_array();
  if (omitted_.rows) json.key("cut").boolean(true);
  json.end_object();
}

void Run::write_text(const PickleStream& stream) {
  const pickle::Graph& graph = *stream.graph;
  if (stream.number > 1) context_.out.put('\n');
  std::string title = stream.member.empty() ? report::shown_name(context_.style, file_) : report::shown_name(context_.style, stream.member);
  if (stream.number > 1) title = concat("pickle ", stream.number);
  context_.out.put(toned(context_.style, report::Tone::strong, title));
  context_.out.put(concat("  protocol ", graph.protocol(), ", ", counted(graph.end_offset() - graph.begin_offset(), "byte", "bytes"),
                          stream.in_file ? concat(" at ", hex(graph.begin_offset())) : std::string(", offsets within the unpacked member"),
                          "\n"));
  joblib::ArrayReader arrays(limits_);
  if (ops_)
    omitted_ = report::write_pickle_ops(context_.out, context_.style, stream.bytes, graph, stream.with_arrays ? &arrays : nullptr, limits_,
                                        extent_);
  else omitted_ = report::write_pickle_tree(context_.out, context_.style, graph, extent_);
  if (omitted_.rows && !interrupted()) context_.out.put(concat("more follows; --limit is ", extent_.rows, "\n"));
  if (omitted_.deeper != 0)
    context_.out.put(concat(counted(omitted_.deeper, "value goes", "values go"), " deeper than ", counted(extent_.depth, "level", "levels"),
                            "; --depth shows more\n"));
}

void Run::write(const PickleStream& stream) {
  const pickle::Graph& graph = *stream.graph;
  ++written_;
  if (report::JsonWriter* json = answer_.json()) {
    write_json(*json, stream);
  } else if (context_.mode == Mode::ndjson) {
    joblib::ArrayReader arrays(limits_);
    if (ops_)
      omitted_ =
          report::write_pickle_op_lines(context_.out, stream.bytes, written_, stream.with_arrays ? &arrays : nullptr, limits_, extent_);
    else omitted_ = report::write_pickle_value_lines(context_.out, graph, written_, extent_);
  } else {
    write_text(stream);
  }
  if (!graph.broken()) return;
  Finding finding = Finding::from(*graph.broken());
  finding.where.member = stream.member;
  if (!stream.in_file) finding.where.offset.reset();
  answer_.findings().add(std::move(finding));
  answer_.is_incomplete();
}

void Run::note_rest(const PickleReader& reader) {
  if (reader.rest().empty() || interrupted()) return;
  if (report::JsonWriter* json = answer_.json()) {
    json->key("rest").begin_object();
    json->key("what").text(reader.rest());
    json->key("offset").integer(reader.rest_offset());
    json->key("size").integer(reader.rest_size());
    json->end_object();
  } else if (context_.mode == Mode::text) {
    const bool storages = reader.rest() == "storages";
    context_.out.put(concat("\n", grouped(reader.rest_size()), storages ? " bytes of storages" : " bytes", " follow at ",
                            hex(reader.rest_offset()), storages ? "" : concat(": ", reader.rest()), "\n"));
  }
}

bool Run::write_all(PickleReader& reader, PickleStream first) {
  report::JsonWriter* json = answer_.json();
  if (json != nullptr) json->key("pickles").begin_array();
  std::optional<Error> failed;
  for (std::optional<PickleStream> stream = std::move(first); stream && !interrupted();) {
    write(*stream);
    auto next = reader.next();
    if (next) stream = *std::move(next);
    else failed = std::move(next).error(), stream.reset();
  }
  if (json != nullptr) json->end_array();
  note_rest(reader);
  if (failed) answer_.findings().add(Finding::from(*failed)), answer_.is_incomplete();
  return !failed;
}

int Run::operator()() {
  auto reader = open();
  if (!reader) return answer_.fail(reader.error());
  auto first = reader->next();
  if (!first) return answer_.fail(first.error());
  if (!*first) return answer_.fail(Error(Code::no_pickle, "no pickle in this file"));
  const pickle::Graph& graph = *(*first)->graph;
  if (graph.broken() && (*first)->member.empty() && graph.salvage_root() == pickle::kNoNode) return answer_.fail(no_pickle(**first));
  write_all(*reader, *std::move(*first));
  return answer_.done();
}

}  // namespace

int run_pickle(Context& context) { return Run(context)(); }

}  // namespace assay::cli
