// SPDX-License-Identifier: Apache-2.0
#include "cli/write_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace assay::cli {
namespace {

std::unexpected<Error> cannot_write(const std::string& path) {
  const int reason = errno;
  return fail(Code::io_error, concat("cannot write ", quote(path), ": ", std::strerror(reason)));
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ::fsync(file) == 0;
}

}  // namespace

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, bool replace) {
  struct stat there = {};
  if (!replace && ::lstat(path.c_str(), &there) == 0)
    return fail(std::move(Error(Code::usage, concat(quote(path), " is there already"))).advise("--force replaces it"));
  const std::string temporary = concat(path, ".", ::getpid(), ".tmp");
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return cannot_write(path);
  const bool written = write_all(file, bytes);
  const int reason = errno;
  ::close(file);
  if (!written) {
    ::unlink(temporary.c_str());
    errno = reason;
    return cannot_write(path);
  }
  // link() fails where the path has come into being meanwhile; rename() would replace it.
  const bool placed = replace ? ::rename(temporary.c_str(), path.c_str()) == 0 : ::link(temporary.c_str(), path.c_str()) == 0;
  if (!replace && !placed && (errno == EPERM || errno == ENOTSUP || errno == ENOSYS)) {
    if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  }
  const int place_reason = errno;
  if (!placed || !replace) ::unlink(temporary.c_str());
  errno = place_reason;
  return placed ? Result<void>() : Result<void>(cannot_write(path));
}

}  // namespace assay::cli
