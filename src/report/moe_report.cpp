// SPDX-License-Identifier: Apache-2.0
#include "report/moe_report.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/doctor/roles.hpp"
#include "base/text.hpp"
#include "report/screens.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

using analysis::Expert;
using analysis::Moe;
using analysis::MoeLayer;
using analysis::MoePlan;

void optional_number(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.key(key);
  if (value) json.number(*value);
  else json.null();
}

template <class T>
void optional_integer(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
  json.key(key);
  if (value) json.integer(*value);
  else json.null();
}

std::string_view stacking_name(analysis::Stacking stacking) {
  constexpr std::string_view kNames[] = {"per-expert", "fused", "rows", "columns"};
  return kNames[static_cast<std::size_t>(stacking)];
}

std::string_view why_name(MoePlan::Why why) {
  constexpr std::string_view kNames[] = {"dead", "identical", "similar", "least-routed", "least-norm"};
  return kNames[static_cast<std::size_t>(why)];
}

std::string cosine_text(double cosine) { return short_number(std::round(cosine * 1e4) / 1e4); }

std::string why_text(const MoePlan::Drop& drop) {
  switch (drop.why) {
    case MoePlan::Why::dead: return "dead";
    case MoePlan::Why::identical: return concat("identical to ", drop.of.value_or(0));
    case MoePlan::Why::similar: return concat("cosine ", cosine_text(drop.value), " with ", drop.of.value_or(0));
    case MoePlan::Why::least_routed: return concat("smallest router row, norm ", short_number(drop.value));
    case MoePlan::Why::least_norm: return concat("smallest norm, ", short_number(drop.value));
  }
  return "";
}

void write_router(JsonWriter& json, const Checkpoint& checkpoint, const MoeLayer& layer) {
  json.key("router");
  if (layer.routers.empty()) return json.null();
  const Tensor& tensor = checkpoint.tensors[layer.routers[0].tensor];
  json.begin_object();
  json.key("name").text(tensor.name);
  json.key("shape").numbers(tensor.shape);
  json.key("experts").integer(layer.routers[0].experts);
  json.end_object();
}

void write_expert(JsonWriter& json, const Expert& expert) {
  json.begin_object();
  json.key("expert").integer(expert.index);
  json.key("parameters").integer(expert.parameters);
  json.key("bytes").integer(expert.bytes);
  json.key("measured").boolean(expert.measured);
  optional_number(json, "norm", expert.norm);
  optional_number(json, "absmax", expert.absmax);
  optional_number(json, "router_norm", expert.router_norm);
  if (expert.not_finite > 0) json.key("not_finite").integer(expert.not_finite);
  if (!expert.dead.empty()) json.key("dead").text(expert.dead);
  if (!expert.lacking.empty()) {
    json.key("lacking").begin_array();
    for (const std::string& name : expert.lacking) json.text(name);
    json.end_array();
  }
  json.end_object();
}

void write_pairs(JsonWriter& json, const MoeLayer& layer) {
  json.key("identical").begin_array();
  for (const auto& [a, b] : layer.identical) {
    const std::uint64_t pair[] = {a, b};
    json.numbers(pair);
  }
  json.end_array();
  json.key("similar").begin_array();
  for (const analysis::SimilarPair& pair : layer.similar) {
    json.begin_object();
    json.key("a").integer(pair.a);
    json.key("b").integer(pair.b);
    json.key("cosine").number(pair.cosine);
    if (pair.aligned_cosine) json.key("aligned_cosine").number(*pair.aligned_cosine);
    json.end_object();
  }
  json.end_array();
  if (layer.identical_count > layer.identical.size()) json.key("identical_count").integer(layer.identical_count);
  if (layer.similar_count > layer.similar.size()) json.key("similar_count").integer(layer.similar_count);
  optional_number(json, "mean_cosine", layer.mean_cosine);
}

void write_plan(JsonWriter& json, const Moe& moe, const MoePlan& plan) {
  json.begin_object();
  json.key("keep").integer(plan.keep);
  json.key("parameters_saved").integer(plan.parameters_saved);
  json.key("bytes_saved").integer(plan.bytes_saved);
  json.key("layers").begin_array();
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    json.begin_object();
    json.key("prefix").text(moe.layers[i].prefix);
    optional_integer(json, "layer", moe.layers[i].layer);
    json.key("keep").numbers(plan.layers[i].keep);
    json.key("drop").begin_array();
    for (const MoePlan::Drop& drop : plan.layers[i].drop) {
      json.begin_object();
      json.key("expert").integer(drop.expert);
      json.key("why").text(why_name(drop.why));
      if (drop.of) json.key("of").integer(*drop.of);
      json.key("value").number(drop.value);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

void write_moe_layer(JsonWriter& json, const Checkpoint& checkpoint, const MoeLayer& layer) {
  json.begin_object();
  json.key("prefix").text(layer.prefix);
  optional_integer(json, "layer", layer.layer);
  json.key("extra").boolean(layer.extra);
  json.key("experts").integer(layer.count);
  json.key("experts_from").text(layer.count_from);
  json.key("fused").boolean(layer.stacking != analysis::Stacking::per_expert);
  json.key("stacking").text(stacking_name(layer.stacking));
  json.key("layout").text(analysis::layout_name(layer.layout));
  json.key("layout_from").text(layer.layout_from);
  write_router(json, checkpoint, layer);
  if (layer.sampled) json.key("exact").boolean(false);
  json.key("shared").begin_array();
  for (const std::string& name : layer.shared) json.text(name);
  json.end_array();
  json.key("dead").numbers(layer.dead);
  write_pairs(json, layer);
  json.key("missing").numbers(layer.missing);
  if (layer.missing_count > layer.missing.size()) json.key("missing_count").integer(layer.missing_count);
  json.key("each").begin_array();
  for (const Expert& expert : layer.experts) write_expert(json, expert);
  json.end_array();
  json.end_object();
}

void write_moe_keys(JsonWriter& json, const Checkpoint& checkpoint, const Moe& moe, const MoePlan* plan) {
  json.key("detected").boolean(moe.detected());
  json.key("expert_count").integer(moe.expert_count);
  optional_integer(json, "top_k", moe.top_k);
  json.key("top_k_from").text(moe.top_k_from);
  if (std::ranges::any_of(moe.layers, &MoeLayer::sampled)) json.key("exact").boolean(false);
  json.key("layers").begin_array();
  for (const MoeLayer& layer : moe.layers) write_moe_layer(json, checkpoint, layer);
  json.end_array();
  if (plan == nullptr) return;
  json.key("plan");
  write_plan(json, moe, *plan);
}

namespace {

/// "0=3  1~5 0.987  2~6 0.91 (aligned)  dead 4  missing 7": what is worth a look, at most a few of each.
std::string note_text(const Style& style, const MoeLayer& layer) {
  constexpr std::size_t kShown = 4;
  std::string out;
  const auto add = [&](const std::string& text) { out += concat(out.empty() ? "" : "  ", text); };
  const auto more = [&](std::uint64_t all, std::size_t shown) {
    if (all > shown) add(concat("and ", all - shown, " more"));
  };
  const auto list = [&](std::string_view word, std::span<const std::uint64_t> numbers, std::uint64_t all) {
    if (numbers.empty()) return;
    std::string text(word);
    for (std::size_t i = 0; i < numbers.size() && i < 2 * kShown; ++i) text += concat(i == 0 ? " " : ", ", numbers[i]);
    add(all > 2 * kShown ? concat(text, ellipsis(style)) : text);
  };
  list("dead", layer.dead, layer.dead.size());
  list("missing", layer.missing, layer.missing_count);
  std::size_t shown = std::min(layer.identical.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) add(concat(layer.identical[i].first, "=", layer.identical[i].second));
  more(layer.identical_count, shown);
  shown = std::min(layer.similar.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::SimilarPair& pair = layer.similar[i];
    add(concat(pair.a, "~", pair.b, " ", cosine_text(pair.aligned_cosine.value_or(pair.cosine)),
               pair.aligned_cosine ? " (reordered)" : ""));
  }
  more(layer.similar_count, shown);
  const auto unmeasured = std::ranges::count_if(layer.experts, [](const Expert& expert) { return !expert.measured; });
  if (unmeasured > 0) add(concat(unmeasured, " not measured"));
  return out;
}

std::string range_text(const MoeLayer& layer, std::optional<double> Expert::* member) {
  std::optional<double> least, most;
  for (const Expert& expert : layer.experts) {
    const std::optional<double>& value = expert.*member;
    if (!value) continue;
    least = std::min(least.value_or(*value), *value);
    most = std::max(most.value_or(*value), *value);
  }
  if (!least) return "-";
  const std::string low = short_number(*least), high = short_number(*most);
  return low == high ? low : concat(low, " to ", high);
}

std::string last_part(std::string_view module, std::string_view prefix) {
  const std::string_view rest =
      module.starts_with(prefix) && !prefix.empty() && module.size() > prefix.size() ? module.substr(prefix.size() + 1) : module;
  return std::string(rest);
}

/// The one name that all layers have but for their number, "model.layers.#.mlp"; "" where they differ in more than that.
std::string common_name(const Moe& moe) {
  const std::string name = analysis::numberless(moe.layers[0].prefix);
  for (std::size_t i = 0; i < moe.layers.size(); ++i) {
    const MoeLayer& layer = moe.layers[i];
    if (!layer.layer || analysis::numberless(layer.prefix) != name || (i > 0 && layer.layer == moe.layers[i - 1].layer)) return "";
  }
  return name;
}

std::string layer_text(const Style& style, const MoeLayer& layer, bool numbered) {
  return (numbered ? decimal(*layer.layer) : shown_name(style, layer.prefix)) + (layer.extra ? " (extra)" : "");
}

void write_layers(Writer& out, const Style& style, const Checkpoint& checkpoint, const Moe& moe, bool numbered) {
  const bool wide = style.width == 0 || style.width >= 100;
  std::vector<Column> columns = {{.title = "LAYER", .right = numbered, .flexible = !numbered}, {.title = "EXPERTS", .right = true}};
  if (wide) columns.insert(columns.end(), {{.title = "STORED"}, {.title = "EACH", .right = true}});
  columns.insert(columns.end(), {{.title = "ROUTER"}, {.title = "SHARED"}, {.title = "NORM"}});
  if (wide) columns.push_back({.title = "ROUTER ROWS"});
  columns.push_back({.title = "NOTE", .flexible = numbered, .cut_end = true});
  Table table(std::move(columns));
  for (const MoeLayer& layer : moe.layers) {
    table.cell(layer_text(style, layer, numbered));
    table.cell(layer.missing_count > 0 ? concat(layer.experts.size(), " of ", layer.count) : decimal(layer.count));
    if (wide) {
      table.cell(stacking_name(layer.stacking), Tone::faint);
      table.cell(layer.experts.empty() ? std::string() : count_text(layer.experts[0].parameters));
    }
    if (layer.routers.empty()) {
      table.cell("none", Tone::caution);
    } else {
      const Tensor& router = checkpoint.tensors[layer.routers[0].tensor];
      table.cell(shown_name(style, last_part(router.name, layer.prefix)) + " " + shape_text(style, router.shape), Tone::faint);
    }
    table.cell(layer.shared.empty() ? std::string() : shown_name(style, last_part(layer.shared[0], layer.prefix)), Tone::faint);
    table.cell(range_text(layer, &Expert::norm));
    if (wide) table.cell(layer.routers.empty() ? std::string() : range_text(layer, &Expert::router_norm));
    table.cell(note_text(style, layer), layer.dead.empty() && layer.missing.empty() ? Tone::accent : Tone::bad);
  }
  table.write(out, style);
}

void write_plan_screen(Writer& out, const Style& style, const Moe& moe, const MoePlan& plan, bool numbered) {
  out.put(concat("\nkeeping ", plan.keep, plan.keep == 1 ? " expert" : " experts", " per layer saves ", count_text(plan.parameters_saved),
                 " parameters, ", bytes_text(style, plan.bytes_saved), style.exact_bytes ? " bytes" : "", "; no file is changed\n"));
  Table table({{.title = "LAYER", .right = numbered, .flexible = !numbered}, {.title = "DROP", .right = true}, {.title = "WHY"}});
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    for (const MoePlan::Drop& drop : plan.layers[i].drop) {
      table.cell(layer_text(style, moe.layers[i], numbered));
      table.cell(decimal(drop.expert));
      table.cell(why_text(drop));
    }
  }
  if (table.rows() > 0) table.write(out, style);
}

}  // namespace

void write_moe_screen(Writer& out, const Style& style, std::string_view title, const Checkpoint& checkpoint, const Moe& moe,
                      const MoePlan* plan) {
  out.put(toned(style, Tone::strong, shown_name(style, title)));
  if (!moe.detected()) {
    out.put(": no experts\n");
    return;
  }
  std::uint64_t least = moe.expert_count;
  for (const MoeLayer& layer : moe.layers) least = std::min(least, layer.count);
  out.put(concat(": ", counted(moe.layers.size(), "layer", "layers"), " of ", least == moe.expert_count ? "" : concat(least, " to "),
                 moe.expert_count, " experts"));
  if (moe.top_k) out.put(concat(", top-k ", *moe.top_k, " (", escape(moe.top_k_from, 80), ")"));
  const MoeLayer& first = moe.layers[0];
  if (!first.count_from.empty()) out.put(concat("; counted by ", escape(first.count_from, 80)));
  if (first.layout != analysis::ExpertLayout::unknown)
    out.put(concat("; ", analysis::layout_name(first.layout), " layout by ", escape(first.layout_from, 80)));
  const std::string common = common_name(moe);
  if (!common.empty()) out.put(concat("\nin ", shown_name(style, common)));
  out.put("\n\n");
  write_layers(out, style, checkpoint, moe, !common.empty());
  if (plan != nullptr) write_plan_screen(out, style, moe, *plan, !common.empty());
}

}  // namespace assay::report
