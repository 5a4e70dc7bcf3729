// SPDX-License-Identifier: Apache-2.0
// Chat templates: Jinja, which is Python's expressions. A renderer without a sandbox lets them walk from any value to the interpreter.
// Internal to this folder.
#pragma once

#include <string_view>

namespace assay::scan {

/// The first word in a template's expressions that reaches for the interpreter ("__globals__"), or puts such a word together; a view of
/// `text`, or "" for none. Cost: linear.
std::string_view reaching_word(std::string_view text);

/// True for a file of templates by its name: "chat_template.jinja".
bool is_named_as_template(std::string_view name);

}  // namespace assay::scan
