// SPDX-License-Identifier: Apache-2.0
// Weights whose spread is unlike that of the same weight in the layers around them.
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/doctor/checks.hpp"
#include "analysis/odd_spread.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis::doctor {
namespace {

/// A weight of a layer, of which spread and largest magnitude are compared.
struct Spread {
  std::uint32_t tensor;
  double std, absmax;
  bool sampled;
};
struct Odd {
  Spread own;
  double around;  ///< the standard deviation in the layers around it
  bool peaked;    ///< a few values far out make it so
  double times() const { return std::max(own.std / around, around / own.std); }
};

/// The name without what stands behind its last number: "model.layers.4", "layers.0.experts.3".
std::string_view place_of(std::string_view name) {
  std::size_t end = 0;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    if (is_number(name.substr(at, dot - at))) end = dot;
    at = dot + 1;
  }
  return name.substr(0, end);
}

/// Of one weight in all layers, in their order: those that are far from the ones around them.
std::vector<Odd> odd_ones(const std::vector<Spread>& layers) {
  constexpr double kPeaked = 3;  // so many times further out than it is wider
  std::vector<double> stds, peaks;
  for (const Spread& layer : layers) {
    stds.push_back(layer.std);
    peaks.push_back(layer.absmax);
  }
  const auto middle = peaks.begin() + static_cast<std::ptrdiff_t>(peaks.size() / 2);
  std::ranges::nth_element(peaks, middle);
  std::vector<Odd> odd;
  for (const auto& [i, around] : odd_spreads(stds))
    odd.push_back({layers[i], around, layers[i].absmax * around > kPeaked * *middle * layers[i].std});
  return odd;
}

void tell_one(const Checkpoint& checkpoint, const Odd& odd, Chart& chart) {
  const std::string_view name = checkpoint.tensors[odd.own.tensor].name;
  std::string message =
      concat(quote(name), " has a standard deviation of ", number_text(odd.own.std), ", the layers around it ", number_text(odd.around));
  std::vector<Fact> facts = {{"std", odd.own.std}, {"neighbours", odd.around}};
  if (odd.peaked) {
    message += concat("; a few values far out make it so, of up to ", number_text(odd.own.absmax));
    facts.push_back({"absmax", odd.own.absmax});
  }
  chart.add(Code::odd_spread, Severity::warning, std::move(message), name, std::move(facts));
}

/// A layer that was scaled as a whole is one fault. `of`: its weights that were compared.
void tell_several(const Checkpoint& checkpoint, std::string_view place, std::vector<Odd>& odd, std::uint64_t of, Chart& chart) {
  constexpr std::size_t kListed = 100;
  sort_stable(odd, std::ranges::greater(), &Odd::times);
  const Odd& most = odd.front();
  const std::string_view name = checkpoint.tensors[most.own.tensor].name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < odd.size() && i < kListed; ++i) names.emplace_back(checkpoint.tensors[odd[i].own.tensor].name);
  const std::string_view which = name.size() > place.size() ? name.substr(place.size() + 1) : name;
  const std::string who =
      odd.size() == of ? concat("all ", of, " weights of ", quote(place)) : concat(odd.size(), " of ", of, " weights of ", quote(place));
  chart.add(Code::odd_spread, Severity::warning,
            concat(who, " have another standard deviation than in the layers around it, ", quote(which), " ", number_text(most.own.std),
                   " where those have ", number_text(most.around)),
            "",
            {{"layer", std::string(place)},
             {"count", std::uint64_t{odd.size()}},
             {"names", std::move(names)},
             {"std", most.own.std},
             {"neighbours", most.around}});
}

}  // namespace

void check_spread(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart) {
  std::map<std::string, std::vector<Spread>> by_name;
  for (const Patient& patient : patients) {
    const Tensor& tensor = checkpoint.tensors[patient.tensor];
    if (patient.role != TensorRole::weight || patient.swapped || patient.tied || dtype_info(tensor.dtype).kind != DTypeKind::real) continue;
    if (!patient.stats.std || !(*patient.stats.std > 0)) continue;
    std::string name = numberless(tensor.name);
    if (name.find('#') == std::string::npos) continue;
    by_name[std::move(name)].push_back({patient.tensor, *patient.stats.std, patient.stats.absmax.value_or(0), patient.sampled()});
  }
  const auto name_of = [&](std::uint32_t tensor) { return checkpoint.tensors[tensor].name; };
  std::map<std::string_view, std::vector<Odd>> by_place;
  std::map<std::string_view, std::uint64_t> compared;
  for (auto& [name, layers] : by_name) {
    sort_stable(layers, [&](const Spread& a, const Spread& b) { return natural_less(name_of(a.tensor), name_of(b.tensor)); });
    if (layers.size() < kOddLeastLayers) continue;
    for (const Spread& layer : layers) ++compared[place_of(name_of(layer.tensor))];
    for (const Odd& odd : odd_ones(layers)) by_place[place_of(name_of(odd.own.tensor))].push_back(odd);
  }
  std::vector<std::string_view> places;
  for (const auto& [place, odd] : by_place) places.push_back(place);
  sort_stable(places, natural_less);
  for (const std::string_view place : places) {
    std::vector<Odd>& odd = by_place[place];
    chart.about(std::ranges::any_of(odd, [](const Odd& one) { return one.own.sampled; }));
    if (odd.size() == 1) tell_one(checkpoint, odd.front(), chart);
    else tell_several(checkpoint, place, odd, compared[place], chart);
  }
  chart.about(false);
}

}  // namespace assay::analysis::doctor
