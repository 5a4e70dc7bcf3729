// SPDX-License-Identifier: Apache-2.0
// What tensor names alone say: which part of a training checkpoint a tensor belongs to, and which wrappers stood around the model when
// it was saved.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::model {

/// The sections that hold tensors, in this order: model, optimizer, ema, scheduler, callbacks, other. Everything is model in a
/// checkpoint that is nothing but a state dict. Cost: linear in the names.
std::vector<Section> find_sections(const Checkpoint& checkpoint);

/// The section that a tensor of an opened checkpoint is counted in. Cost: that of looking at its name.
std::string_view section_of(const Checkpoint& checkpoint, const Tensor& tensor);

/// The name as the bare model has it: without "module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module." and
/// "_forward_module.". A "module" counts only at the front, behind "state_dict." or its like, and next to another wrapper.
std::string without_wrappers(std::string_view name);

/// True for a component that is a number: "12".
bool is_number(std::string_view text);
/// The name with each dotted number replaced by '#': equal for the same tensor of every layer and expert.
std::string numberless(std::string_view name);

/// One note that counts the names with wrappers in them and shows one without.
void note_wrappers(Checkpoint& checkpoint);

}  // namespace assay::model
