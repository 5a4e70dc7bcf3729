// SPDX-License-Identifier: Apache-2.0
// What tensors say when they are looked at together.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/doctor/checks.hpp"
#include "analysis/kernels/kernels.hpp"
#include "analysis/summary.hpp"
#include "assay/values.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::analysis::doctor {

Work<bool> same_elements(const Checkpoint& checkpoint, const Tensor& a, const Tensor& b) {
  constexpr std::size_t kBlock = 16384;
  if (a.dtype != b.dtype || a.numel != b.numel) co_return false;
  ASSAY_TAKE(const TensorReader from_a, TensorReader::open(checkpoint, a));
  ASSAY_TAKE(const TensorReader from_b, TensorReader::open(checkpoint, b));
  const auto whole_a = from_a.plain_view(), whole_b = from_b.plain_view();
  if (whole_a && whole_b) co_return kernels::best().same(whole_a->data(), whole_b->data(), whole_a->size());
  const std::size_t size = from_a.raw_size();
  std::vector<std::byte> x(kBlock * size), y(kBlock * size);
  for (std::uint64_t at = 0; at < a.numel; at += kBlock) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, a.numel - at));
    ASSAY_READ(from_a.read_raw(at, n, std::span(x.data(), n * size)));
    ASSAY_READ(from_b.read_raw(at, n, std::span(y.data(), n * size)));
    if (std::memcmp(x.data(), y.data(), n * size) != 0) co_return false;
  }
  co_return true;
}

void check_placeholders(const Checkpoint& checkpoint, Chart& chart) {
  std::vector<std::string> empty;
  std::uint64_t count = 0, single = 0, weights = 0, empty_weights = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool weight = tensor.name.ends_with("weight") || tensor.name.ends_with(".w");
    weights += weight;
    single += weight && tensor.numel <= 1;
    if (tensor.readable && (tensor.numel == 0 || tensor.storage == kNone)) {
      ++count;
      empty_weights += weight;
      if (empty.size() < 100) empty.emplace_back(tensor.name);
    }
  }
  const std::uint64_t all = checkpoint.tensors.size();
  const std::string first = name_list(empty, 1, 1), some = name_list(empty, 3, count);
  if (count > 0 && count == all) {
    chart.add(Code::placeholders, Severity::warning,
              all == 1 ? concat("the only tensor, ", first, ", is empty") : concat("all ", all, " tensors are empty, as ", first, " is"),
              "", {{"count", count}, {"names", std::move(empty)}});
  } else if (empty_weights > 0) {
    chart.add(Code::placeholders, Severity::warning, concat(count, " of ", all, " tensors ", count == 1 ? "is" : "are", " empty: ", some),
              "", {{"count", count}, {"names", std::move(empty)}});
  } else if (weights >= 4 && single == weights) {
    chart.add(Code::placeholders, Severity::warning, concat("all ", weights, " weights have one element only"), "", {{"count", weights}});
  }
}

void note_old_names(const Checkpoint& checkpoint, Chart& chart) {
  std::vector<std::string> names;
  std::uint64_t count = 0;
  for (const Tensor& tensor : checkpoint.tensors)
    if ((tensor.name.ends_with("LayerNorm.gamma") || tensor.name.ends_with("LayerNorm.beta")) && ++count <= 100)
      names.emplace_back(tensor.name);
  if (count == 0) return;
  std::string message = concat(counted(count, "name ends", "names end"),
                               " in LayerNorm.gamma or LayerNorm.beta, which transformers takes for .weight and .bias when it loads them: ",
                               name_list(names, 2, count));
  chart.add(Code::odd_name, Severity::note, std::move(message), "", {{"count", count}, {"names", std::move(names)}});
}

namespace {

/// The factors of what an adapter adds to one weight: where one of them is 0, so is their product.
struct AdapterModule {
  std::string_view path;
  std::uint32_t first;            // tensor
  std::uint32_t zero = kNone;     // a factor that is all 0
  bool down = false, up = false;  // of a pair
  bool rescales = false;          // DoRA's magnitudes act by themselves
};

struct Half {
  std::string_view name;
  bool AdapterModule::* side;
};
constexpr Half kHalves[] = {{"lora_A", &AdapterModule::down},           {"lora_B", &AdapterModule::up},
                            {"lora_down", &AdapterModule::down},        {"lora_up", &AdapterModule::up},
                            {"lora_embedding_A", &AdapterModule::down}, {"lora_embedding_B", &AdapterModule::up},
                            {"lora.down", &AdapterModule::down},        {"lora.up", &AdapterModule::up}};

/// Where the words of the adapter begin in a name.
std::size_t adapter_words(std::string_view name) {
  // "lora_unet_…" at the front of a name is a place in the model.
  for (const std::string_view mark : {".lora_", ".lora.", "_lora.", ".hada_w", ".lokr_w", ".alpha", ".dora_scale"})
    if (const std::size_t at = name.rfind(mark); at != name.npos) return at + 1;
  return std::ranges::any_of(kHalves, [&](const Half& half) { return name.starts_with(half.name); }) ? 0 : name.npos;
}

}  // namespace

void check_adapters(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart) {
  std::map<std::string_view, AdapterModule> modules;
  for (const Patient& patient : patients) {
    const std::string_view name = checkpoint.tensors[patient.tensor].name;
    const std::size_t at = patient.role == TensorRole::adapter || patient.role == TensorRole::scale ? adapter_words(name) : name.npos;
    if (at == name.npos) continue;
    const std::string_view path = name.substr(0, at), words = name.substr(at);
    AdapterModule& module = modules.try_emplace(path, AdapterModule{path, patient.tensor}).first->second;
    module.rescales = module.rescales || words.find("magnitude") != words.npos || words.find("dora_scale") != words.npos;
    for (const Half& half : kHalves)
      if (words.starts_with(half.name)) module.*half.side = true;
    if (patient.all_zero() && !patient.sampled() && !name.ends_with("bias") && module.zero == kNone) module.zero = patient.tensor;
  }
  std::vector<const AdapterModule*> dead, halves;
  for (const auto& [path, module] : modules) {
    if (module.zero != kNone && !module.rescales) dead.push_back(&module);
    else if (module.down != module.up && checkpoint.complete) halves.push_back(&module);
  }
  const auto named = [&](std::uint32_t tensor) { return checkpoint.tensors[tensor].name; };
  for (const AdapterModule* module : halves)
    chart.share(Code::dead_adapter, Severity::warning, "has no other half: this part of the adapter cannot be applied",
                "have no other half: these parts of the adapter cannot be applied", module->first);
  if (dead.size() > 1 && dead.size() == modules.size()) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < dead.size() && i < 100; ++i) names.emplace_back(named(dead[i]->zero));
    std::string message = concat("the adapter changes nothing: all of its ", dead.size(),
                                 " modules have a factor that is all 0: ", name_list(names, 3, dead.size()));
    chart.add(Code::dead_adapter, Severity::warning, std::move(message), "",
              {{"count", std::uint64_t{dead.size()}}, {"names", std::move(names)}});
    return;
  }
  for (const AdapterModule* module : dead)
    chart.share(Code::dead_adapter, Severity::warning, "is all 0: this part of the adapter changes nothing",
                "are all 0: these parts of the adapter change nothing", module->zero);
}

void tell_ties(const Checkpoint& checkpoint, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ties, Chart& chart) {
  constexpr std::size_t kSingly = 4, kListed = 100;
  const auto name = [&](std::uint32_t tensor) { return checkpoint.tensors[tensor].name; };
  if (ties.size() <= kSingly) {
    for (const auto& [tensor, to] : ties)
      chart.add(Code::tied_tensors, Severity::note, concat(quote(name(tensor)), " is tied to ", quote(name(to)), ": both are one storage"),
                name(tensor), {{"to", std::string(name(to))}});
    return;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ties.size() && i < kListed; ++i) names.emplace_back(name(ties[i].first));
  std::string message =
      concat(ties.size(), " tensors are tied to others, of whose storages they are a second name: ", name_list(names, 3, ties.size()));
  chart.add(Code::tied_tensors, Severity::note, std::move(message), "",
            {{"count", std::uint64_t{ties.size()}}, {"names", std::move(names)}});
}

namespace {

/// What quantised weights are multiplied by; not the scales of activations, and not zero points, which may be 0.
bool is_weight_scale(std::string_view name) {
  constexpr std::string_view kEnds[] = {
      "weight_scale", "weight_scale_inv", "weight_scale_2", "weight.scales", "qscale_weight", "weight.absmax",
      "SCB",          "scales",           "_scales",        "weight_scales"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) {
    return name.ends_with(end) && (end[0] == '_' || name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
  });
}

}  // namespace

void check_scales(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart) {
  const auto parent = [](std::string_view name) { return name.substr(0, std::min(name.rfind('.'), name.size())); };
  std::set<std::string_view> scaled;  // modules that have a scale
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.name.substr(tensor.name.rfind('.') + 1).find("scale") != std::string_view::npos) scaled.insert(parent(tensor.name));
  for (const Patient& patient : patients) {
    chart.about(patient.sampled());
    const Tensor& tensor = checkpoint.tensors[patient.tensor];
    if (patient.role == TensorRole::scale && patient.all_zero() && is_weight_scale(tensor.name))
      chart.share(Code::all_zero, Severity::warning, "is all 0: the weights that it scales become 0",
                  "are all 0: the weights that they scale become 0", patient.tensor);
    const bool eight_bits = tensor.dtype == DType::f8_e4m3 || tensor.dtype == DType::f8_e5m2 || tensor.dtype == DType::f8_e4m3fnuz ||
                            tensor.dtype == DType::f8_e5m2fnuz;
    if (!eight_bits || tensor.shape.size() < 2 || patient.role == TensorRole::scale || scaled.contains(parent(tensor.name))) continue;
    // A plain cast keeps the weights' own spread; values that fill the range of the dtype were divided by something.
    if (patient.stats.std.value_or(0) < 1)
      chart.share(Code::missing_scale, Severity::note, "is of 8 bits and has no scale; its spread is that of a plain cast",
                  "are of 8 bits and have no scale; their spread is that of a plain cast", patient.tensor);
    else
      chart.share(Code::missing_scale, Severity::warning, "is of 8 bits, fills their range, and has no scale",
                  "are of 8 bits, fill their range, and have no scale", patient.tensor);
  }
  chart.about(false);
}

namespace {

struct Copy {
  std::uint32_t first, second;
};

/// Tensors that are equal and stand at different places, each with the first of its kind.
Work<std::vector<Copy>> find_copies(const Checkpoint& checkpoint, const std::vector<const Patient*>& eligible) {
  // What equal tensors surely share; only those are compared.
  using Key = std::tuple<DType, std::uint64_t, std::uint64_t, double, double, double, double>;
  std::map<Key, std::vector<std::uint32_t>> alike;
  for (const Patient* patient : eligible) {
    const Stats& s = patient->stats;
    if (s.nan > 0) continue;
    alike[{checkpoint.tensors[patient->tensor].dtype, s.numel, s.zeros, s.min.value_or(0), s.max.value_or(0), s.mean.value_or(0),
           s.l2.value_or(0)}]
        .push_back(patient->tensor);
  }
  std::vector<Copy> copies;
  for (const auto& [key, tensors] : alike) {
    std::vector<std::uint32_t> firsts;  // different from each other
    for (const std::uint32_t t : tensors) {
      bool known = false;
      for (std::size_t i = 0; i < firsts.size() && i < 16 && !known; ++i) {
        auto same = co_await same_elements(checkpoint, checkpoint.tensors[firsts[i]], checkpoint.tensors[t]);
        if (!same) continue;  // whoever could not be read has its finding
        known = *same;
        if (known) copies.push_back({firsts[i], t});
      }
      if (!known) firsts.push_back(t);
    }
  }
  sort_stable(copies, {}, &Copy::second);
  co_return copies;
}

}  // namespace

Work<void> check_copies(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart) {
  constexpr std::uint64_t kLeastElements = 16;
  std::vector<const Patient*> eligible;
  std::map<std::string_view, std::uint64_t> in_module;  // tensors that could be copies, by layer
  for (const Patient& patient : patients) {
    const bool usual = patient.role == TensorRole::index || patient.role == TensorRole::counter || patient.role == TensorRole::mask;
    if (patient.tied || patient.stats.numel < kLeastElements || patient.constant() || patient.all_zero() || patient.sampled() || usual)
      continue;
    if (distinct_elements(checkpoint.tensors[patient.tensor]) != patient.stats.numel) continue;
    eligible.push_back(&patient);
    ++in_module[layer_module(checkpoint.tensors[patient.tensor].name)];
  }
  ASSAY_AWAIT(const std::vector<Copy> copies, find_copies(checkpoint, eligible));
  const auto name = [&](std::uint32_t t) { return checkpoint.tensors[t].name; };
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> between;  // copies from layer to layer, each under the same name
  const auto modules = [&](const Copy& copy) { return std::pair(layer_module(name(copy.first)), layer_module(name(copy.second))); };
  const auto matches = [&](const Copy& copy) {
    const auto [a, b] = modules(copy);
    return !a.empty() && !b.empty() && a != b && name(copy.first).substr(a.size()) == name(copy.second).substr(b.size());
  };
  for (const Copy& copy : copies)
    if (matches(copy)) ++between[modules(copy)];
  const auto whole = [&](const std::pair<std::string_view, std::string_view>& pair) {
    const auto found = between.find(pair);
    return found != between.end() && found->second >= 2 && found->second == in_module[pair.first] &&
           found->second == in_module[pair.second];
  };
  for (const auto& [pair, count] : between) {
    if (!whole(pair)) continue;
    chart.add(Code::identical_layers, Severity::warning,
              concat(quote(pair.second), " holds the same values as ", quote(pair.first), " in all its ", count, " tensors"), "",
              {{"count", count}, {"of", std::string(pair.first)}, {"layer", std::string(pair.second)}});
  }
  for (const Copy& copy : copies) {
    if (matches(copy) && whole(modules(copy))) continue;
    chart.add(Code::duplicate_content, Severity::note,
              concat(quote(name(copy.second)), " holds the same values as ", quote(name(copy.first)), ", stored again"), name(copy.second),
              {{"of", std::string(name(copy.first))}});
  }
  co_return {};
}

Work<void> check_tied(const Checkpoint& checkpoint, const ModelConfig& config, const std::vector<Patient>& patients, Chart& chart) {
  constexpr std::string_view kHeads[] = {"lm_head.weight", "embed_out.weight", "output.weight"};
  constexpr std::string_view kEmbeddings[] = {"embed_tokens.weight", "wte.weight",    "word_embeddings.weight", "tok_embeddings.weight",
                                              "embed_in.weight",     "shared.weight", "embeddings.weight"};
  constexpr std::string_view kGenerators[] = {"CausalLM", "ConditionalGeneration", "LMHead"};
  if (!config.tie_word_embeddings || !checkpoint.complete) co_return {};
  const auto ends_with_any = [](std::string_view name, std::span<const std::string_view> ends) {
    return std::ranges::any_of(
        ends, [&](std::string_view end) { return name == end || (name.ends_with(end) && name[name.size() - end.size() - 1] == '.'); });
  };
  const Tensor *head = nullptr, *embedding = nullptr;
  bool any_head = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.name.find("lora_") != std::string_view::npos) co_return {};  // an adapter leaves both out
    any_head = any_head || tensor.name.starts_with("lm_head") || tensor.name.find(".lm_head") != std::string_view::npos;
    if (head == nullptr && ends_with_any(tensor.name, kHeads) && tensor.shape.size() == 2) head = &tensor;
    if (embedding == nullptr && ends_with_any(tensor.name, kEmbeddings)) embedding = &tensor;
  }
  const bool generates =
      config.architectures.empty() || std::ranges::any_of(config.architectures, [&](const std::string& name) {
        return std::ranges::any_of(kGenerators, [&](std::string_view word) { return name.find(word) != std::string::npos; });
      });
  if (embedding == nullptr || !generates) co_return {};
  const std::string said = concat(config.file, " says tie_word_embeddings is ", *config.tie_word_embeddings ? "true" : "false");
  if (!*config.tie_word_embeddings) {
    if (head == nullptr && !any_head)
      chart.add(Code::missing_tied_weight, Severity::warning,
                concat(said, ", and there is no lm_head.weight beside ", quote(embedding->name), ": the output layer is lost"),
                embedding->name);
    co_return {};
  }
  if (head == nullptr || !head->readable || !embedding->readable) co_return {};
  const auto measured = [&](const Tensor* tensor) {
    return std::ranges::find_if(patients, [&](const Patient& patient) { return &checkpoint.tensors[patient.tensor] == tensor; });
  };
  if (measured(head) == patients.end() || measured(embedding) == patients.end() || measured(head)->tied) co_return {};
  if (measured(head)->sampled() || measured(embedding)->sampled()) co_return {};
  ASSAY_AWAIT(const bool same, same_elements(checkpoint, *head, *embedding));
  if (!same)
    chart.add(
        Code::missing_tied_weight, Severity::warning,
        concat(said, ", and ", quote(head->name), " is not the same as ", quote(embedding->name), ": loaders that tie drop one of them"),
        head->name);
  co_return {};
}

}  // namespace assay::analysis::doctor
