// SPDX-License-Identifier: Apache-2.0
#include "bytes/open_error_native.hpp"

#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"

namespace assay {

namespace {

/// Where the chain of links that starts at `path` ends, as its last link spells it; "" when `path` is no link.
std::string last_target(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  std::string target;
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // "link/" would be the target, not the link
  for (int i = 0; i < kMostLinks; ++i) {
    char buffer[PATH_MAX];
    const ssize_t n = ::readlink(path.c_str(), buffer, sizeof buffer);
    if (n <= 0) break;
    target.assign(buffer, static_cast<std::size_t>(n));
    if (target.front() == '/') path = target;
    else path.replace(path.rfind('/') + 1, std::string::npos, target);
  }
  return target;
}

}  // namespace

std::string system_text(int error) { return lowered(std::strerror(error)); }

Error open_error(const std::string& path, int error) {
  if (error == ENOENT) {
    if (const std::string target = last_target(path); !target.empty())
      return Error(Code::dangling_link, concat(quote(path), " links to ", quote(target), ", which does not exist")).fact("target", target);
  }
  if (error == ENOENT && path == "-")
    return Error(Code::not_seekable, "'-' would be standard input, and tensors are sought by their place in a file");
  if (error == ENOENT || error == ENOTDIR) return Error(Code::no_such_file, concat(quote(path), " does not exist"));
  Error failure(Code::io_error, concat(quote(path), " cannot be opened: ", system_text(error)));
  if (error == EMFILE) return std::move(failure).advise("raise the number of files a process may open: ulimit -n");
  return failure;
}

}  // namespace assay
