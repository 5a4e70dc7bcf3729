// SPDX-License-Identifier: Apache-2.0
#include "report/documents.hpp"

#include <cmath>
#include <vector>

#include "analysis/summary.hpp"
#include "assay/version.hpp"

namespace assay::report {
namespace {

void text_key(JsonWriter& json, std::string_view key, std::string_view value) { json.key(key).text(value); }
void number_key(JsonWriter& json, std::string_view key, std::uint64_t value) { json.key(key).integer(value); }

void optional_text_key(JsonWriter& json, std::string_view key, std::string_view value) {
  if (!value.empty()) text_key(json, key, value);
}

void write_where(JsonWriter& json, const Where& where) {
  optional_text_key(json, "file", where.file);
  optional_text_key(json, "member", where.member);
  optional_text_key(json, "tensor", where.tensor);
  if (where.offset) number_key(json, "offset", *where.offset);
  if (where.length) number_key(json, "length", *where.length);
}

bool is_envelope_key(std::string_view key) {
  for (const std::string_view own : {"severity", "code", "message", "hint", "file", "member", "tensor", "offset", "length"})
    if (key == own) return true;
  return false;
}

void write_facts(JsonWriter& json, const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (is_envelope_key(fact.key)) continue;
    json.key(fact.key);
    // Not std::visit: it throws, and the core is built without exceptions.
    if (const auto* u = std::get_if<std::uint64_t>(&fact.value)) json.integer(*u);
    else if (const auto* i = std::get_if<std::int64_t>(&fact.value)) json.integer(*i);
    else if (const auto* d = std::get_if<double>(&fact.value)) json.number(*d);
    else if (const auto* b = std::get_if<bool>(&fact.value)) json.boolean(*b);
    else if (const auto* s = std::get_if<std::string>(&fact.value)) json.text(*s);
    else if (const auto* list = std::get_if<std::vector<std::string>>(&fact.value)) {
      json.begin_array();
      for (const std::string& item : *list) json.text(item);
      json.end_array();
    } else {
      json.null();
    }
  }
}

void write_metadata_value(JsonWriter& json, const MetadataEntry& entry) {
  using Kind = MetadataEntry::Kind;
  switch (entry.kind) {
    case Kind::null: return json.null();
    case Kind::boolean: return json.boolean(entry.boolean);
    case Kind::integer: return json.integer(entry.integer);
    case Kind::real: return json.number(entry.real);
    case Kind::text: return json.text(entry.text);
    case Kind::json: return json.raw(entry.text);
    case Kind::object: break;
  }
  json.begin_object();
  text_key(json, "object", entry.text);
  json.end_object();
}

void optional_number_key(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.key(key);
  if (value) json.number(*value);
  else json.null();
}

void write_quantizer(Writer& out, const Quantizer& quantizer) {
  out.put(", \"quantizer\": {\"scheme\": ");
  write_json_text(out, quantizer_scheme_name(quantizer.scheme));
  if (quantizer.per_channel()) {
    out.put(", \"axis\": ");
    out.number(quantizer.axis);
    out.put(", \"scales\": ");
    write_json_text(out, quantizer.scales.name);
    out.put(", \"zero_points\": ");
    write_json_text(out, quantizer.zero_points.name);
  } else {
    const std::string_view quote = std::isfinite(quantizer.scale) ? "" : "\"";
    out.put(", \"scale\": ");
    out.put(quote);
    write_number(out, quantizer.scale);
    out.put(quote);
    out.put(", \"zero_point\": ");
    out.number(quantizer.zero_point);
  }
  out.put('}');
}

void write_outline_node(JsonWriter& json, const Checkpoint& checkpoint, const analysis::OutlineNode& node) {
  text_key(json, "name", node.label);
  number_key(json, "times", node.times);
  number_key(json, "tensors", node.tensors);
  number_key(json, "parameters", node.parameters);
  number_key(json, "bytes", node.bytes);
  if (node.tensor != kNone) {
    const Tensor& tensor = checkpoint.tensors[node.tensor];
    text_key(json, "dtype", dtype_name(tensor.dtype));
    json.key("shape").numbers(tensor.shape);
  }
  if (node.present == node.of) return;
  number_key(json, "present", node.present);
  number_key(json, "of", node.of);
  for (const auto* list : {&node.missing, &node.only}) {
    if (list->empty()) continue;
    json.key(list == &node.missing ? "missing" : "only").begin_array();
    for (const std::string& place : *list) json.text(place);
    json.end_array();
  }
}

}  // namespace

void begin_document(JsonWriter& json, std::string_view command, std::string_view path) {
  json.begin_object();
  std::string schema("assay.");
  schema += command;
  schema += "/1";
  text_key(json, "schema", schema);
  text_key(json, "assay", version());
  optional_text_key(json, "path", path);
}

void end_document(JsonWriter& json, bool complete, const Findings& findings, const Error* error) {
  json.key("complete").boolean(complete && error == nullptr);
  json.key("findings").begin_array();
  for (const Finding& finding : findings.list()) write_finding(json, finding);
  json.end_array();
  bool any_left_out = false;
  for (const auto& [code, count] : findings.counts()) any_left_out = any_left_out || findings.suppressed(code) > 0;
  if (any_left_out) {
    json.key("findings_left_out").begin_object();
    for (const auto& [code, count] : findings.counts())
      if (findings.suppressed(code) > 0) number_key(json, code_name(code), findings.suppressed(code));
    json.end_object();
  }
  if (error != nullptr) {
    json.key("error");
    write_error(json, *error);
  }
  json.end_object();
}

void write_finding(JsonWriter& json, const Finding& finding) {
  json.begin_object();
  text_key(json, "severity", severity_name(finding.severity));
  text_key(json, "code", code_name(finding.code));
  text_key(json, "message", finding.message);
  write_where(json, finding.where);
  write_facts(json, finding.facts);
  json.end_object();
}

void write_error(JsonWriter& json, const Error& error) {
  json.begin_object();
  text_key(json, "code", code_name(error.code()));
  text_key(json, "message", error.what());
  optional_text_key(json, "hint", error.hint());
  write_where(json, error.where());
  write_facts(json, error.facts());
  json.end_object();
}

void write_info_keys(JsonWriter& json, const Checkpoint& checkpoint, const analysis::Summary& summary) {
  constexpr std::size_t kMostTies = 1000;
  text_key(json, "format", checkpoint.format);
  text_key(json, "container", checkpoint.container);
  number_key(json, "file_size", summary.file_size);
  json.key("files").begin_array();
  for (const CheckpointFile& file : checkpoint.files) {
    json.begin_object();
    text_key(json, "name", file.name);
    number_key(json, "size", file.size);
    json.end_object();
  }
  json.end_array();
  number_key(json, "tensor_count", summary.tensor_count);
  number_key(json, "unreadable", summary.unreadable);
  number_key(json, "elements", summary.elements);
  number_key(json, "parameters", summary.parameters);
  number_key(json, "tensor_bytes", summary.tensor_bytes);
  json.key("dtypes").begin_array();
  for (const analysis::DTypeCount& count : summary.dtypes) {
    json.begin_object();
    text_key(json, "dtype", dtype_name(count.dtype));
    number_key(json, "tensors", count.tensors);
    number_key(json, "elements", count.elements);
    number_key(json, "bytes", count.bytes);
    json.end_object();
  }
  json.end_array();
  json.key("metadata").begin_object();
  for (const MetadataEntry& entry : checkpoint.metadata) {
    json.key(entry.key);
    write_metadata_value(json, entry);
  }
  json.end_object();
  json.key("ties").begin_array();
  for (std::size_t i = 0; i < summary.ties.size() && i < kMostTies; ++i) {
    json.begin_object();
    json.key("name").text(checkpoint.tensors[summary.ties[i].tensor].name);
    json.key("to").text(checkpoint.tensors[summary.ties[i].to].name);
    json.end_object();
  }
  json.end_array();
  json.key("sections").begin_array();
  for (const Section& section : checkpoint.sections) {
    json.begin_object();
    text_key(json, "name", section.name);
    number_key(json, "tensors", section.tensors);
    number_key(json, "bytes", section.bytes);
    json.end_object();
  }
  json.end_array();
}

// A listing is a hundred thousand of these: the keys are written as they stand, not one by one through the writer.
void write_tensor(JsonWriter& json, const Checkpoint& checkpoint, const Tensor& tensor) {
  json.begin_value();
  Writer& out = json.out();
  out.put("{\"name\": ");
  write_json_text(out, tensor.name);
  out.put(", \"dtype\": \"");
  out.put(dtype_name(tensor.dtype));
  out.put("\", \"source_dtype\": ");
  write_json_text(out, tensor.source_dtype);
  out.put(", \"shape\": ");
  write_numbers(out, tensor.shape);
  out.put(", \"stride\": ");
  if (tensor.stride.empty() && !tensor.shape.empty()) out.put("null");
  else write_numbers(out, tensor.stride);
  out.put(", \"numel\": ");
  out.number(tensor.numel);
  out.put(", \"nbytes\": ");
  out.number(analysis::tensor_bytes(checkpoint, tensor));
  out.put(", \"file\": ");
  if (const CheckpointFile* file = checkpoint.file_of(tensor)) write_json_text(out, file->name);
  else out.put("null");
  out.put(", \"offset\": ");
  if (const auto offset = checkpoint.file_offset(tensor)) out.number(*offset);
  else out.put("null");
  out.put(", \"storage\": ");
  if (tensor.storage != kNone) out.number(tensor.storage);
  else out.put("null");
  out.put(", \"storage_offset\": ");
  out.number(tensor.storage_offset);
  out.put(tensor.contiguous() ? ", \"contiguous\": true" : ", \"contiguous\": false");
  out.put(tensor.readable ? ", \"readable\": true" : ", \"readable\": false");
  if (tensor.conj) out.put(", \"conj\": true");
  if (tensor.neg) out.put(", \"neg\": true");
  if (tensor.parameter) out.put(", \"parameter\": true");
  if (tensor.quantizer < checkpoint.quantizers.size()) write_quantizer(out, checkpoint.quantizers[tensor.quantizer]);
  out.put('}');
  json.end_value();
}

void write_outline(JsonWriter& json, const Checkpoint& checkpoint, const analysis::Outline& outline, std::size_t max_depth) {
  struct Open {
    std::uint32_t node;
    std::size_t next_child;
  };
  std::vector<Open> path = {{0, 0}};
  json.begin_object();
  write_outline_node(json, checkpoint, outline.nodes[0]);
  json.key("children").begin_array();
  while (!path.empty()) {
    const analysis::OutlineNode& node = outline.nodes[path.back().node];
    if (path.back().next_child < node.children.size() && node.depth < max_depth) {
      const std::uint32_t child = node.children[path.back().next_child++];
      json.begin_object();
      write_outline_node(json, checkpoint, outline.nodes[child]);
      json.key("children").begin_array();
      path.push_back({child, 0});
      continue;
    }
    json.end_array();
    json.end_object();
    path.pop_back();
  }
}

void write_stats(JsonWriter& json, const Tensor& tensor, const analysis::Stats* stats) {
  json.begin_object();
  text_key(json, "name", tensor.name);
  text_key(json, "dtype", dtype_name(tensor.dtype));
  json.key("shape").numbers(tensor.shape);
  number_key(json, "numel", tensor.numel);
  if (stats == nullptr) {
    number_key(json, "measured", 0);
    json.key("exact").boolean(false);
    return json.end_object();
  }
  number_key(json, "measured", stats->measured);
  json.key("exact").boolean(stats->exact);
  optional_number_key(json, "min", stats->min);
  optional_number_key(json, "max", stats->max);
  optional_number_key(json, "mean", stats->mean);
  optional_number_key(json, "std", stats->std);
  optional_number_key(json, "absmax", stats->absmax);
  optional_number_key(json, "l2", stats->l2);
  optional_number_key(json, "skew", stats->skew);
  optional_number_key(json, "kurtosis", stats->kurtosis);
  number_key(json, "zeros", stats->zeros);
  number_key(json, "near_zeros", stats->near_zeros);
  number_key(json, "nan", stats->nan);
  number_key(json, "pos_inf", stats->pos_inf);
  number_key(json, "neg_inf", stats->neg_inf);
  number_key(json, "subnormal", stats->subnormal);
  json.key("distinct");
  if (stats->distinct) json.integer(*stats->distinct);
  else json.null();
  json.key("quantiles").begin_object();
  for (const auto& [p, value] : stats->quantiles) {
    Writer name;
    write_number(name, p);
    json.key(name.text()).number(value);
  }
  json.end_object();
  json.end_object();
}

}  // namespace assay::report
