// SPDX-License-Identifier: Apache-2.0
// The reader under hostile load: files with a byte flipped, and cut short. Whatever is done to a file,
//
//   there is an answer, within a second and 64 MiB; nothing is read outside (sanitizers tell);
//   a host that supplies ranges gets the same answer as one that maps the file;
//   the byte map gives every byte to one owner; a scan answers too;
//   when verify finds nothing wrong, what it calls readable has the values that the whole file has, as far as check sums reach: in a zip
//   for any change, in other formats for cuts.
//
// hostile [--full | --each N] [--seed S] FILE|FOLDER…      N changes of each kind to each file (of every place with --full), chosen by the
// seed
#include <malloc.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/scan/scan.hpp"
#include "analysis/verify/pass.hpp"
#include "assay/values.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

namespace {

// What is allocated through operator new, and the most there was.
std::atomic<std::size_t> g_held = 0, g_most = 0;

void* allocate(std::size_t n) {
  void* const memory = std::malloc(n == 0 ? 1 : n);
  if (memory == nullptr) return nullptr;
  const std::size_t held = g_held += ::malloc_usable_size(memory);
  if (held > g_most) g_most = held;
  return memory;
}
void release(void* memory) {
  if (memory == nullptr) return;
  g_held -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t n) {
  if (void* const memory = allocate(n)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace assay {
namespace {

namespace fs = std::filesystem;
using fuzz::Bytes;
using fuzz::require;

constexpr std::size_t kMostMemory = std::size_t{64} << 20;
constexpr double kMostSeconds = 1;
constexpr std::size_t kEveryPlace = ~std::size_t{0};
constexpr std::uintmax_t kLargestFile = 256 * 1024;
constexpr std::size_t kSmallFile = 16 * 1024;  // whose every place a full run changes
constexpr std::size_t kPlacesOfLarge = 4096;   // of a larger file, in a full run
#ifdef __has_feature                           // clang's way to ask
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowness = 20;  // of a sanitizer
#else
constexpr double kSlowness = 1;
#endif

std::string g_case;  // what is being done, for whoever stops the program

/// A hash of each readable tensor's dtype, shape and codes, by name.
std::map<std::string, std::uint64_t, std::less<>> contents_of(const Checkpoint& checkpoint) {
  constexpr std::uint64_t kMostElements = 1 << 16;
  std::map<std::string, std::uint64_t, std::less<>> contents;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.readable || tensor.storage == kNone || tensor.numel > kMostElements) continue;
    std::string said = concat(dtype_name(tensor.dtype), bracketed(tensor.shape), tensor.conj ? "c" : "", tensor.neg ? "n" : "");
    if (const auto reader = TensorReader::open(checkpoint, tensor)) {
      std::vector<std::byte> codes(static_cast<std::size_t>(tensor.numel) * reader->raw_size());
      if (!reader->read_raw(0, tensor.numel, codes)) continue;
      said.append(reinterpret_cast<const char*>(codes.data()), codes.size());
    }
    contents.emplace(tensor.name, std::hash<std::string>()(said));
  }
  return contents;
}

struct Totals {
  std::uint64_t cases = 0, opened = 0, passed = 0;
  double slowest = 0;
  std::size_t largest = 0;
  std::string slowest_case, largest_case;
};

/// One file, whole at first.
class Victim {
 public:
  Victim(std::string name, std::vector<std::byte> bytes) : name_(std::move(name)), whole_(std::move(bytes)) {
    if (const auto checkpoint = fuzz::open_bytes(whole_, name_)) {
      contents_ = contents_of(*checkpoint);
      has_sums_ = checkpoint->container == "zip" && all_known(*checkpoint);
    }
  }
  const std::vector<std::byte>& whole() const { return whole_; }
  /// What a good answer to the changed bytes must hold to.
  void attack(Bytes bytes, bool cut, Totals& totals) const;

 private:
  static bool all_known(const Checkpoint& checkpoint) {
    const auto pass = analysis::Pass::plan(checkpoint, {});
    return pass && std::ranges::all_of(pass->members(), [](const analysis::MemberCheck& member) { return member.known(); });
  }
  void open_in_memory(Bytes bytes, bool cut, Totals& totals) const;

  std::string name_;
  std::vector<std::byte> whole_;
  std::map<std::string, std::uint64_t, std::less<>> contents_;
  bool has_sums_ = false;
};

void Victim::open_in_memory(Bytes bytes, bool cut, Totals& totals) const {
  SourceSet set("set", name_);
  set.add(name_, MemorySource::borrow(bytes));
  const auto checkpoint = open(set);
  if (!checkpoint) {
    require(
        !checkpoint.error().what().empty() && checkpoint.error().code() != Code::need_range && checkpoint.error().code() != Code::internal,
        "an error says what is wrong with the file");
    return;
  }
  ++totals.opened;
  fuzz::check_whole(*checkpoint);
  fuzz::read_some_values(*checkpoint);
  if (!fuzz::passes_verify(set, *checkpoint)) return;
  ++totals.passed;
  if (!has_sums_ && !cut) return;
  for (const auto& [tensor, hash] : contents_of(*checkpoint)) {
    const auto found = contents_.find(tensor);
    require(found != contents_.end() && found->second == hash,
            concat("what verify finds nothing wrong with is unchanged, not so ", quote(tensor)));
  }
}

/// SIGPROF, unless it is asked for again, after so many seconds of processor time.
void wake_after(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

void Victim::attack(Bytes bytes, bool cut, Totals& totals) const {
  wake_after(10 * kMostSeconds * kSlowness);
  const std::clock_t start = std::clock();  // of this process alone: the machine may be busy
  const std::size_t held = g_held;
  g_most = held;
  open_in_memory(bytes, cut, totals);
  const auto report = scan::scan_file(*MemorySource::borrow(bytes), name_, {});
  require(report.has_value(), "a scan of bytes at hand does not fail");
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const std::size_t memory = g_most - held;
  if (seconds > totals.slowest) totals.slowest = seconds, totals.slowest_case = g_case;
  if (memory > totals.largest) totals.largest = memory, totals.largest_case = g_case;
  ++totals.cases;
  require(seconds <= kMostSeconds * kSlowness, "an answer comes within a second");
  require(memory <= kMostMemory, "an answer needs at most 64 MiB");
  // By ranges: the same answer, though it may take many questions.
  require(fuzz::told(fuzz::open_bytes(bytes, name_)) == fuzz::told(fuzz::open_by_ranges(bytes, name_)),
          "a file opened by ranges is the same");
}

/// All places below `size`, or `each` of them, the first and last ones among them.
std::vector<std::size_t> places(std::size_t size, std::size_t each, std::mt19937& random) {
  std::vector<std::size_t> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = i;
  if (size <= each) return all;
  std::ranges::shuffle(all, random);
  all.resize(each);
  all.push_back(0);
  all.push_back(size - 1);
  return all;
}

void attack_file(const fs::path& path, std::size_t each, std::uint32_t seed, Totals& totals) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  g_case = concat(path.string(), " as it is");
  const Victim victim(path.filename().string(), {data, data + text.size()});
  victim.attack(victim.whole(), false, totals);
  std::mt19937 random(seed);
  const bool full = each == kEveryPlace;
  if (full && text.size() > kSmallFile) each = kPlacesOfLarge;
  std::vector<std::byte> changed = victim.whole();
  for (const std::size_t at : places(changed.size(), each, random)) {
    // One bit, and in a full run all of them too.
    for (const std::byte flip : {std::byte{1} << (random() % 8), std::byte{0xff}}) {
      if (flip == std::byte{0xff} && !full) continue;
      g_case = concat(path.string(), " byte ", at, " xor ", std::to_integer<int>(flip));
      changed[at] ^= flip;
      victim.attack(changed, false, totals);
      changed[at] ^= flip;
    }
  }
  for (const std::size_t size : places(changed.size(), each, random)) {
    g_case = concat(path.string(), " cut to ", size);
    const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
    if (size > 0) std::memcpy(exact.get(), changed.data(), size);
    victim.attack({exact.get(), size}, true, totals);
  }
}

void tell_case(int signal) {
  std::fprintf(stderr, "%s: %s\n", signal == SIGPROF ? "no answer" : "stopped", g_case.c_str());
  std::_Exit(1);
}

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  std::size_t each = 60;
  std::uint32_t seed = 1;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--full") each = kEveryPlace;
    else if (word == "--each" && i + 1 < argc) each = static_cast<std::size_t>(number(argv[++i]));
    else if (word == "--seed" && i + 1 < argc) seed = static_cast<std::uint32_t>(number(argv[++i]));
    else if (!fs::is_directory(word)) files.emplace_back(word);
    else
      for (const auto& entry : fs::recursive_directory_iterator(word))
        if (entry.is_regular_file() && entry.file_size() <= kLargestFile) files.push_back(entry.path());
  }
  if (files.empty()) return std::fprintf(stderr, "usage: %s [--full | --each N] [--seed S] FILE|FOLDER...\n", argv[0]), 2;
  std::ranges::sort(files);
  for (const int signal : {SIGPROF, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, tell_case);
  Totals totals;
  for (const fs::path& file : files) attack_file(file, each, seed, totals);
  std::printf("%zu files, %llu cases: %llu opened, %llu found nothing wrong by verify\nslowest %.3f s: %s\nlargest %.1f MiB: %s\n",
              files.size(), static_cast<unsigned long long>(totals.cases), static_cast<unsigned long long>(totals.opened),
              static_cast<unsigned long long>(totals.passed), totals.slowest, totals.slowest_case.c_str(),
              static_cast<double>(totals.largest) / (1 << 20), totals.largest_case.c_str());
  return 0;
}
