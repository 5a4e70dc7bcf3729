// SPDX-License-Identifier: Apache-2.0
// THE table of commands. A new one is a cmd_x.cpp and a row here.
#include "cli/commands.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/run.hpp"
#include "report/diff_report.hpp"

namespace assay::cli {
namespace {

constexpr Argument kFile = {"FILE", Value::path, true, false, "a checkpoint, one of its shards, or a folder"};
constexpr Argument kPatterns = {"NAME", Value::text, false, true, "a tensor, a front part of names (model.layers.0), or a glob ('*.bias')"};
constexpr Flag kWhere = {"--where", 'w', Value::text, "FILTER",
                         "choose tensors: 'q_proj layer:0-3 role:expert dtype:bf16 size>1M -bias'; "
                         "assay help filters tells all"};
constexpr Flag kColumns = {"--columns", 'c', Value::text, "LIST",
                           "the columns of the table: name,role,size; a wrong one lists them all. Only for text"};
constexpr Flag kReverse = {"--reverse", 'r', Value::none, "", "the other way round"};
constexpr Flag kLimit = {"--limit", 'n', Value::number, "N", "at most N rows"};
constexpr Flag kThreads = {"--threads", 'j', Value::number, "N",
                           "threads; as many as processors without it, at most 8. The answer is the same for any N"};
constexpr Flag kDepth = {"--depth", 'd', Value::number, "N", "at most N levels"};

constexpr Flag kRange = {"--range", 0, Value::text, "R",
                         "the value of the last colour: auto, max, a percentile of the cells (p99), or a number"};
constexpr Flag kSize = {"--size", 0, Value::text, "RxC", "at most R rows and C columns of cells"};
constexpr Flag kAs = {"--as", 0, Value::choice, "auto|kitty|iterm|sixel|24bit|256|16|ascii", "how to draw in the terminal; auto asks it"};
constexpr Flag kTheme = {"--theme", 0, Value::choice, "dark|light", "the background; dark in the terminal, light in a file without it"};
constexpr Flag kOutput = {"--output", 'o', Value::path, "FILE", "write a PNG file instead; - is standard output"};
constexpr Flag kForce = {"--force", 'f', Value::none, "", "replace a file that is there"};

constexpr Argument kFileOnly[] = {kFile};
constexpr Argument kFileAndPatterns[] = {kFile, kPatterns};

constexpr Example kInfoExamples[] = {{"assay model.safetensors", "what is in the file"},
                                     {"assay info model/ --json", "the same for a program"}};

constexpr Flag kTensorsFlags[] = {
    kWhere,
    kColumns,
    {"--sort", 's', Value::choice, "name|file|size|numel|dtype|offset", "order of the rows; name in text, file in JSON without it"},
    kReverse,
    kLimit};
constexpr Example kTensorsExamples[] = {
    {"assay tensors model.safetensors", "every tensor, names in natural order"},
    {"assay ls model/ --sort size -n 10", "the ten largest"},
    {"assay tensors model.pt model.layers.0", "those of one layer"},
    {"assay tensors model.pt --where 'q_proj|k_proj layer:0-3'", "by filter"},
    {"assay ls model/ -w role:attn.q -c name,layer,role,size,file", "one part of every layer, and what to say of it"}};

constexpr Flag kTreeFlags[] = {kDepth, kWhere};
constexpr Example kTreeExamples[] = {{"assay tree model.safetensors", "the names as a tree, equal layers as one"},
                                     {"assay tree model/ -d 3", "its upper three levels"}};

constexpr Flag kStatsFlags[] = {
    kWhere,
    kColumns,
    {"--sort", 's', Value::choice, "name|file|min|max|mean|std|absmax|l2|skew|kurtosis|zeros|nan|inf|subnormal",
     "order of the rows; numbers from the largest"},
    kReverse,
    kLimit,
    {"--top", 0, Value::number, "N", "the N worst tensors only"},
    {"--by", 0, Value::choice, "nan|inf|zeros|subnormal|absmax|std|mean|min|max|l2|skew|kurtosis",
     "what the worst is: the largest share, or the furthest from 0 (kurtosis is excess: 0 for a normal distribution); nan without it, then absmax"},
    {"--sample", 0, Value::none, "", "of a tensor above 16 MiB look at one MiB in sixteen only; its numbers are marked as not exact"},
    {"--no-quantiles", 0, Value::none, "", "leave quantiles and distinct values out of JSON: several times faster"},
    kThreads};
constexpr Example kStatsExamples[] = {{"assay stats model.safetensors", "exact statistics of every tensor"},
                                      {"assay stats model.pt --top 5 --by absmax", "where the largest values are"},
                                      {"assay stats model.pt lm_head.weight --json", "of one tensor, for a program"}};

constexpr Argument kHeadArguments[] = {kFile,
                                       {"NAME", Value::text, true, false, "a tensor, or a pattern for several"},
                                       {"N", Value::number, false, false, "how many values; 8 without it"}};
constexpr Flag kHeadFlags[] = {{"--from", 0, Value::number, "I", "start at element I, counted in row-major order"}};
constexpr Example kHeadExamples[] = {{"assay head model.pt lm_head.weight", "the first 8 values"},
                                     {"assay head model.pt '*.bias' 3", "the first 3 of every bias"},
                                     {"assay head model.pt w 4 --from 4096", "4 values from element 4096 on"}};

constexpr Flag kDumpFlags[] = {
    kWhere, {"--limit-values", 0, Value::number, "N", "stop before more than N values in all; 268435456 without it, 0 for no limit"}};
constexpr Example kDumpExamples[] = {{"assay dump model.pt lm_head.bias", "every value of a tensor"},
                                     {"assay dump model.pt --where 'size<1M' --ndjson", "of all small tensors, one a line"}};

constexpr Argument kTensorAndSlice[] = {kFile,
                                        {"NAME", Value::text, true, false, "a tensor"},
                                        {"SLICE", Value::text, false, false, "a part of it, as in numpy: '[0:8, -1]'; all of it without"}};
constexpr Flag kShowFlags[] = {
    {"--format", 'F', Value::text, "FORMS",
     "number (four digits), exact, hex, bits (sign, exponent and mantissa apart), or several with commas; number without it"},
    {"--limit", 'n', Value::number, "N", "at most N rows, from both ends; 24 without it"},
    {"--all", 'a', Value::none, "", "every row and column, however many"}};
constexpr Example kShowExamples[] = {{"assay show model.safetensors lm_head.weight '[0:8, -4:]'", "the corner of a matrix"},
                                     {"assay show model.pt w '[1203, 77]'", "one element: its value, code, bits and place in the file"},
                                     {"assay show model.pt w '[::100, 0:4]' -F number,hex", "every 100th row, with codes"}};

constexpr Argument kHistArguments[] = {
    kFile, {"NAME", Value::text, false, true, "a tensor; several, patterns, or what --where chooses are stacked on one axis"}};
constexpr Flag kHistFlags[] = {
    kWhere,
    {"--scale", 's', Value::choice, "linear|log|symlog", "of the values; log is of magnitudes, symlog keeps signs"},
    {"--range", 0, Value::text, "LOW,HIGH", "the values at both ends; what lies outside is counted"},
    {"--bins", 'b', Value::number, "N", "as many as columns fit without it, 100 in JSON; of whole numbers every bin holds equally many"},
    {"--log-counts", 0, Value::none, "", "heights are logarithms of counts"},
    {"--height", 0, Value::number, "N", "lines of bars; 10 without it, 1 where several are stacked"},
    kThreads};
constexpr Example kHistExamples[] = {{"assay hist model.safetensors lm_head.weight", "how its values are spread"},
                                     {"assay hist model.safetensors '*.q_proj.weight'", "one role over all layers"},
                                     {"assay hist model.pt w --scale symlog", "with all outliers in sight"},
                                     {"assay hist model.pt w --json --bins 256 --range=-1,1", "bins for a program"}};

constexpr Flag kHeatmapFlags[] = {{"--pool", 'p', Value::choice, "absmax|mean|rms|zeros",
                                   "what a cell shows of its elements; without it the value of largest magnitude, with its sign"},
                                  {"--sample", 0, Value::none, "", "one element a cell: reads only what is drawn; marked as sampled"},
                                  {"--rows", 0, Value::number, "AXIS", "the axis down the rows; others that are left are stacked"},
                                  {"--cols", 0, Value::number, "AXIS", "the axis along the columns; the last one without it"},
                                  kRange,
                                  kSize,
                                  kAs,
                                  kTheme,
                                  kOutput,
                                  kForce,
                                  kThreads};
constexpr Example kHeatmapExamples[] = {
    {"assay heatmap model.safetensors lm_head.weight", "all of a tensor at one glance"},
    {"assay heatmap model.pt w '[1200:1300, 64:192]'", "a part of it"},
    {"assay heatmap model.pt conv.weight --rows 2 --cols 3", "kernels, stacked"},
    {"assay heatmap model.safetensors embed.weight --sample -o embed.png", "a quick look at a large one, as a file"}};

constexpr Argument kDiffArguments[] = {
    {"A", Value::path, true, false, "a checkpoint"},
    {"B", Value::path, true, false, "the one to compare with it; container, shards, prefixes and dtypes may differ"},
    kPatterns};
constexpr Flag kDiffFlags[] = {
    kWhere,
    {"--top", 'n', Value::number, "N", "at most N changed tensors; 20 without it in text, 0 for all"},
    {"--by", 's', Value::choice, report::kDiffKeys, "what the worst is; rel without it, the L2 norm of the change over that of A"},
    {"--names", 0, Value::none, "", "names, dtypes and shapes only; reads no values"},
    {"--tolerance", 't', Value::text, "ABS[,REL]", "changes up to ABS + REL*|a| are none, and another dtype alone is none either"},
    {"--reshape", 0, Value::none, "", "compare values in row-major order where only the shapes differ"},
    {"--rank", 0, Value::none, "", "estimate the rank of every changed matrix, however large"},
    {"--heatmap", 0, Value::text, "NAME", "draw how one tensor changed instead; the flags below are for it"},
    kRange,
    kSize,
    kAs,
    kTheme,
    kOutput,
    kForce,
    kThreads};
constexpr Example kDiffExamples[] = {{"assay diff base.safetensors tuned.pt", "what changed, the most moved tensors first"},
                                     {"assay diff base/ tuned/ --where layer:0-3", "in the first layers only"},
                                     {"assay diff f32.pt bf16.pt --tolerance 0,0.004", "the same up to rounding?"},
                                     {"assay diff a.pt b.pt --names", "only which tensors there are"},
                                     {"assay diff base/ tuned/ --heatmap lm_head.weight -o change.png", "where a tensor changed"}};

constexpr Argument kScanArguments[] = {{"FILE", Value::path, true, true, "files and folders; folders with all that is in them"}};
constexpr Flag kScanFlags[] = {
    {"--allow", 0, Value::text, "NAME", "take this name for harmless: my.module.Class; may be given often"},
    {"--exclude", 0, Value::text, "GLOB",
     "leave out files and folders below a folder whose name or path is like this: '*.log', 'old/', 'models/old/*'; may be given often"},
    {"--sarif", 0, Value::none, "", "a SARIF 2.1.0 log of the findings instead; not with --json or --ndjson"},
    kThreads};
constexpr Example kScanExamples[] = {{"assay scan model.pt", "what would run if it were loaded"},
                                     {"assay scan ~/models", "every file below a folder: a line for each that is not OK; -v lists all"},
                                     {"assay scan model.pt --allow my.module.Config", "names that you know"},
                                     {"assay scan models/ --sarif > scan.sarif", "for tools that collect findings"}};

constexpr Argument kPickleArguments[] = {
    {"FILE", Value::path, true, false, "a file with a pickle in it: a checkpoint, an archive, a pickle itself"},
    {"MEMBER", Value::text, false, false, "which one of an archive: constants.pkl; data.pkl without it"}};
constexpr Flag kPickleFlags[] = {{"--ops", 0, Value::none, "", "the opcodes instead of the values"}, kDepth, kLimit};
constexpr Example kPickleExamples[] = {{"assay pickle model.pt", "the values of its main pickle, each with its offset"},
                                       {"assay pickle model.pt --ops", "its opcodes"},
                                       {"assay pickle script.pt constants.pkl", "another pickle of the same archive"},
                                       {"assay pickle checkpoint/.metadata -d 4", "the upper four levels"}};

constexpr Example kFormatsExamples[] = {{"assay formats", "what can be read"}};

constexpr Argument kSynthArguments[] = {
    {"OUT", Value::path, true, false, "the file to write: .safetensors, or .pt .pth .bin for a torch zip"}};
constexpr Flag kSynthFlags[] = {{"--dtype", 0, Value::choice, "f32|bf16|f16", "f32 without it"},
                                {"--format", 0, Value::choice, "safetensors|torch-zip", "instead of what the name says"},
                                {"--seed", 0, Value::number, "N", "7 without it"},
                                kForce};
constexpr Example kSynthExamples[] = {{"assay synth demo.safetensors", "write a small mixture-of-experts model to try things on"},
                                      {"assay synth demo.pt --dtype bf16", "the same as a torch checkpoint"}};

constexpr Flag kMapFlags[] = {{"--all", 'a', Value::none, "", "every part on a line of its own, however many there are"}};
constexpr Example kMapExamples[] = {{"assay map model.safetensors", "what lies where, to scale"},
                                    {"assay map model.pt --ndjson", "one part a line, for a program"}};

constexpr Flag kMoeFlags[] = {{"--similar", 0, Value::text, "X", "the least cosine of two experts to report, from 0 to 1; 0.9 without it"},
                              {"--no-align", 0, Value::none, "", "do not look for experts that differ in the order of their neurons only"},
                              {"--plan", 0, Value::number, "K", "which K experts of each layer to keep, and why the others could go"},
                              kThreads};
constexpr Example kMoeExamples[] = {{"assay moe model/", "layers, routers, dead, identical and similar experts"},
                                    {"assay moe model.safetensors --similar 0.5", "what upcycling left alike"},
                                    {"assay moe model.safetensors --plan 4", "a pruning plan; no file is changed"}};

constexpr Flag kDoctorFlags[] = {kWhere, kThreads};
constexpr Example kDoctorExamples[] = {{"assay doctor model.safetensors", "what is wrong with the values"},
                                       {"assay doctor model/ --where layer:30-31", "of two layers"},
                                       {"assay doctor model/ --json", "the same for a program; exit 1 when there is a warning"}};

constexpr Flag kVerifyFlags[] = {{"--values", 0, Value::none, "", "look for NaN, infinities and matrices of zeros in the same pass"},
                                 {"--sha256", 0, Value::text, "HEX", "the digest that the file should have"},
                                 {"--sums", 0, Value::path, "SUMS", "digests by file name, as sha256sum writes them"},
                                 {"--lfs", 0, Value::path, "POINTER", "the Git LFS pointer of the file"},
                                 kThreads};
constexpr Example kVerifyExamples[] = {
    {"assay verify model.pt", "structure, sizes, every check sum"},
    {"assay verify model/ --values --json", "a folder with its index and config.json, values too, for a program"},
    {"assay verify model.safetensors --sums SHA256SUMS", "against a list of digests"}};

constexpr Argument kHelpArguments[] = {{"COMMAND", Value::text, false, false, "the command to explain; filters: what --where takes"}};
constexpr Example kHelpExamples[] = {{"assay help tensors", "how to use a command"}};

constexpr Command kCommands[] = {
    {"info",
     "",
     "what a checkpoint is and holds",
     "The default command: assay FILE is assay info FILE. Reads headers and the last page, whatever the size of the file.",
     kFileOnly,
     {},
     kInfoExamples,
     false,
     run_info},
    {"tensors", "ls", "list the tensors",
     "Reads headers only. Tensors whose bytes cannot be right are listed too, marked as not readable. Of a zip archive with more than 128 "
     "members only 128 local headers are looked at, unless one of them is wrong; info, verify, --columns and --json look at all.",
     kFileAndPatterns, kTensorsFlags, kTensorsExamples, true, run_tensors},
    {"tree", "", "the names as a tree, repeated layers as one",
     "Numbered siblings of equal structure stand as one line with their count; where one differs, the line says which.", kFileOnly,
     kTreeFlags, kTreeExamples, false, run_tree},
    {"stats", "", "exact statistics of the values",
     "Reads every element. Moments are over finite values; zeros, NaN and infinities are counted. JSON also has exact quantiles, for which dtypes "
     "above 16 bits are read again. The little picture is drawn from at most 65536 elements. After Ctrl-C what is known is printed.",
     kFileAndPatterns, kStatsFlags, kStatsExamples, true, run_stats},
    {"head", "", "the first values of a tensor", "In logical (row-major) order, whatever the strides.", kHeadArguments, kHeadFlags,
     kHeadExamples, true, run_head},
    {"dump", "", "all values of tensors",
     "One line a tensor: name, dtype, shape, then every value. Tabs stand between the fields, spaces between values. Floats are the "
     "shortest text that reads back to the same number. Values are streamed, never held.",
     kFileAndPatterns, kDumpFlags, kDumpExamples, true, run_dump},
    {"show", "", "numbers of a slice, as a table",
     "Slices are written as in numpy: indices, start:stop:step, negative ones from the end, '...'. Of more than two dimensions all but the "
     "last are stacked. What does not fit is left out from the middle; --json has all of it.",
     kTensorAndSlice, kShowFlags, kShowExamples, false, run_show},
    {"hist", "", "histograms of tensors",
     "Counts are exact. Kinds of up to 16 bits are counted value by value in one pass, wider ones in two. Quantile marks of those are within "
     "0.4 %.",
     kHistArguments, kHistFlags, kHistExamples, true, run_hist},
    {"heatmap", "", "a picture of a tensor",
     "Every cell stands for a block of elements. Shows hot columns and dead rows by name. Reads the tensor once, or with --sample "
     "only the elements that are drawn.",
     kTensorAndSlice, kHeatmapFlags, kHeatmapExamples, false, run_heatmap},
    {"diff", "", "what changed between two checkpoints",
     "Tensors are paired by name, then by name without prefixes (module., _orig_mod., model., or one that the names of a side share), then "
     "by content. Equal bytes count as identical; of the others every value is compared. NaN equals NaN; a NaN against a number is a change "
     "that is counted apart, and the measures are over positions where both values are finite. Codes of one side with scales beside them "
     "(x_scale) are compared as the numbers they make. Weights are listed before optimizer state. Exit 0 identical, 1 different, 2 where a "
     "part could not be compared.",
     kDiffArguments, kDiffFlags, kDiffExamples, true, run_diff},
    {"scan", "", "what would run if a file were loaded",
     "Finds pickles wherever they are, in archives of any depth, and tells which names they import and what they would call; nothing is run. "
     "Exit 0 only where everything was looked at and every name is known to be harmless, 1 for dangerous or unknown names, 2 where "
     "something is malformed or could not be looked at. Of several files those that are not OK are listed, with -v all. Never reads the "
     "bytes of tensors.",
     kScanArguments, kScanFlags, kScanExamples, true, run_scan},
    {"map", "", "where in the file everything is, byte by byte",
     "Every byte has one owner: headers, directories, members, tensors, padding; what has none is shown as such, and so are bytes that two "
     "claim. Reads headers only.",
     kFileOnly, kMapFlags, kMapExamples, true, run_map},
    {"pickle", "", "what a pickle says: its values, or its opcodes",
     "Shows any pickle of a file as data, nothing is run: of a zip or tar its main one or MEMBER, of a legacy stream all in turn. Offsets are "
     "those of the file. A value that fits stands on one line; one that was shown above is named by its offset.",
     kPickleArguments, kPickleFlags, kPickleExamples, true, run_pickle},
    {"moe", "", "the experts of a mixture: layers, routers, dead, identical and similar ones",
     "Experts are found by their names, in every family's spelling; config.json beside the file confirms the count. Reads every expert "
     "once. Exit 1 when there are none.",
     kFileOnly, kMoeFlags, kMoeExamples, true, run_moe},
    {"doctor", "", "what is wrong with the values, why it matters, and what to do",
     "Looks for NaN, zeros, swapped bytes, broken index buffers, untrained adapters, layers unlike their neighbours in values, shapes, "
     "dtypes or in what they lack, lost and copied tensors. Reads every element once. Of tensors that were chosen, only these are read and "
     "held beside each other, and nothing counts as missing. Exit 1 when there is a warning.",
     kFileAndPatterns, kDoctorFlags, kDoctorExamples, false, run_doctor},
    {"verify", "", "is the file whole, and what it should be",
     "Checks structure, that every byte has one owner, the CRC-32 of every zip member, sizes against shapes, local headers, index against "
     "shards, config.json, and SHA-256 where a digest is known: given, or in the name of a Hugging Face cache's file. Reads every byte once "
     "where there is a digest or a check sum to compare, headers only where there is none. Exit 0 when nothing that was checked is wrong, 1 "
     "when something is, 2 when the file cannot be opened.",
     kFileOnly, kVerifyFlags, kVerifyExamples, false, run_verify},
    {"formats", "", "the formats that can be read", "", {}, {}, kFormatsExamples, true, run_formats},
    {"synth", "", "write a small synthetic model",
     "A seeded mixture-of-experts transformer of 2 million parameters: the same bytes on every machine.", kSynthArguments, kSynthFlags,
     kSynthExamples, false, run_synth},
    {"help", "", "explain a command", "", kHelpArguments, {}, kHelpExamples, false, run_help},
};

constexpr Flag kCommonFlags[] = {
    {"--json", 0, Value::none, "", "one JSON document on standard output, also on failure"},
    {"--color", 0, Value::choice, "auto|always|never", "colour; auto is only on a terminal, and not with NO_COLOR"},
    {"--no-color", 0, Value::none, "", "the same as --color never"},
    {"--width", 0, Value::number, "N", "columns of the terminal; tables are cut and lines continued to fit, 0 never"},
    {"--ascii", 0, Value::none, "", "no characters beyond ASCII"},
    {"--bytes", 0, Value::none, "", "sizes as exact numbers of bytes"},
    {"--no-mmap", 0, Value::none, "", "read files instead of mapping them: for files that are being written"},
    {"--quiet", 'q', Value::none, "", "only the answer: no notes, no progress"},
    {"--verbose", 'v', Value::none, "", "say more on standard error"},
    {"--help", 'h', Value::none, "", "explain the command"},
};

constexpr Flag kNdjson = {"--ndjson", 0, Value::none, "", "one JSON object a line instead of one document"};

constexpr Flag kProgramFlags[] = {
    {"--version", 'V', Value::none, "", "the version; with -v how it was built"},
    {"--generate", 0, Value::choice, "man|complete-bash|complete-zsh|complete-fish|markdown",
     "print the manual page, completions, or docs/commands.md"},
};

bool is_called(const Flag& flag, std::string_view name) {
  return flag.name == name || (flag.letter != 0 && name.size() == 2 && name[0] == '-' && name[1] == flag.letter);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const Flag> common_flags() { return kCommonFlags; }
const Flag& ndjson_flag() { return kNdjson; }
std::span<const Flag> program_flags() { return kProgramFlags; }

const Command* find_command(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kCommands, [&](const Command& c) { return c.name == name || (!c.alias.empty() && c.alias == name); });
  return found == std::end(kCommands) ? nullptr : found;
}

std::string_view nearest_command(std::string_view word) {
  if (word.find_first_of("./") != std::string_view::npos) return "";  // a file
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  const std::string meant = lowered(word);
  const auto close = nearest(meant, names, 1);
  if (!close.empty()) return close[0];
  // Two letters that changed places are the most usual slip, and in a short word more than a third of it.
  const auto swapped = std::ranges::find_if(names, [&](std::string_view name) { return std::ranges::is_permutation(name, meant); });
  return swapped == names.end() ? std::string_view() : *swapped;
}

const Flag* find_flag(const Command& command, std::string_view name) {
  for (const Flag& flag : command.flags)
    if (is_called(flag, name)) return &flag;
  for (const Flag& flag : kCommonFlags)
    if (is_called(flag, name)) return &flag;
  return command.lists && is_called(kNdjson, name) ? &kNdjson : nullptr;
}

}  // namespace assay::cli
