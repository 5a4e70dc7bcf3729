// SPDX-License-Identifier: Apache-2.0
// A FileSet over a path: a file with its neighbours, or a folder.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "assay/source.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/names.hpp"
#include "bytes/open_error_native.hpp"

namespace assay {

namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

class PathSet final : public FileSet {
 public:
  PathSet(std::string label, std::string folder, std::string primary, MapMode mode)
      : label_(std::move(label)), folder_(std::move(folder)), primary_(std::move(primary)), mode_(mode) {}

  const std::string& label() const override { return label_; }
  const std::string& primary() const override { return primary_; }

  Result<std::vector<Entry>> list() const override {
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir(folder_.c_str()));
    if (!folder) return fail(open_error(folder_, errno));
    std::vector<Entry> entries;
    for (errno = 0; const dirent* item = ::readdir(folder.get()); errno = 0) {
      const std::string_view name = item->d_name;
      if (name == "." || name == "..") continue;
      struct stat status;
      if (::fstatat(::dirfd(folder.get()), item->d_name, &status, 0) != 0) {
        entries.push_back({std::string(name), 0, false});  // a dangling link, most likely: opening it tells
      } else if (S_ISDIR(status.st_mode)) {
        entries.push_back({std::string(name), 0, true});
      } else if (S_ISREG(status.st_mode)) {
        entries.push_back({std::string(name), static_cast<std::uint64_t>(status.st_size), false});
      }
    }
    if (errno != 0) return fail(Code::io_error, concat("the folder ", quote(folder_), " cannot be listed: ", system_text(errno)));
    std::ranges::sort(entries, {}, &Entry::name);
    return entries;
  }

  /// Links are followed wherever they lead: a download cache keeps the bytes elsewhere, and whoever made the link owns the folder.
  Result<std::shared_ptr<ByteSource>> open(std::string_view name) const override {
    // The user named the primary, so its name may be anything.
    if (!primary_.empty() && name == primary_) return open_file(label_, mode_);
    ASSAY_TRY(const std::string plain, name_within_set(name));
    return open_file(concat(folder_, '/', plain), mode_);
  }

 private:
  std::string label_, folder_, primary_;
  MapMode mode_;
};

}  // namespace

Result<std::unique_ptr<FileSet>> open_path(const std::string& path, MapMode mode) {
  struct stat status;
  if (path.find('\0') != std::string::npos) return fail(open_error(path, ENOENT));
  if (::stat(path.c_str(), &status) != 0) return fail(open_error(path, errno));
  if (S_ISDIR(status.st_mode)) return std::make_unique<PathSet>(path, path, std::string(), mode);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return std::make_unique<PathSet>(path, ".", path, mode);
  return std::make_unique<PathSet>(path, path.substr(0, std::max<std::size_t>(slash, 1)), path.substr(slash + 1), mode);
}

}  // namespace assay
