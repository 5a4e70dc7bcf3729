// SPDX-License-Identifier: Apache-2.0
// Files on disk: mapped where that is safe and quick, read with pread elsewhere.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#include <algorithm>
#include <cerrno>
#include <limits>

#include "assay/source.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/open_error_native.hpp"
#include "bytes/sigbus_native.hpp"

namespace assay {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// What tells that a file was written to.
struct Stamp {
  std::uint64_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Result<Stamp> stamp_of(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return fail(Code::io_error, concat("the file cannot be looked at: ", system_text(errno)));
#ifdef __APPLE__
  const timespec& written = status.st_mtimespec;
#else
  const timespec& written = status.st_mtim;
#endif
  Stamp stamp{static_cast<std::uint64_t>(status.st_size), written.tv_sec, written.tv_nsec};
  if (S_ISBLK(status.st_mode)) {
    // A disk has no size of its own in stat; pread keeps its own offset, so moving this one does no harm.
    const off_t end = ::lseek(fd, 0, SEEK_END);
    if (end < 0) return fail(Code::io_error, concat("the size of the device cannot be told: ", system_text(errno)));
    stamp.size = static_cast<std::uint64_t>(end);
  }
  return stamp;
}

Error ends_early(std::uint64_t at, std::uint64_t opened_size) {
  return Error(Code::file_changed, concat("the file ends at byte ", at, ", it had ", opened_size, " bytes when it was opened"))
      .at(at)
      .expected_found(opened_size, at);
}

class PreadFile : public ByteSource {
 public:
  PreadFile(Descriptor descriptor, Stamp opened) : descriptor_(std::move(descriptor)), opened_(opened) {}

  std::uint64_t size() const override { return opened_.size; }

  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ASSAY_CHECK(available(offset, out.size()));
    constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // some systems refuse 2 GiB and more
    while (!out.empty()) {
      const ssize_t n = ::pread(descriptor_.get(), out.data(), std::min(out.size(), kMostPerCall), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(Error(Code::io_error, concat("reading ", out.size(), " bytes failed: ", system_text(errno))).at(offset));
      if (n == 0) return fail(ends_early(offset, opened_.size));
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Result<void> check_unchanged() const override {
    ASSAY_TRY(const Stamp now, stamp_of(descriptor_.get()));
    if (now == opened_) return {};
    if (now.size < opened_.size) return fail(ends_early(now.size, opened_.size));
    if (now.size == opened_.size) return fail(Code::file_changed, "the file was written to while it was open");
    return fail(Error(Code::file_changed, concat("the file grew from ", opened_.size, " to ", now.size, " bytes while it was open"))
                    .expected_found(opened_.size, now.size));
  }

 protected:
  /// True when the file is at least as long as when it was opened.
  bool whole() const {
    const auto now = stamp_of(descriptor_.get());
    return now && now->size >= opened_.size;
  }

 private:
  Descriptor descriptor_;
  Stamp opened_;
};

class MappedFile final : public PreadFile {
 public:
  MappedFile(Descriptor descriptor, Stamp opened, std::span<const std::byte> bytes, LiveMapping* mapping)
      : PreadFile(std::move(descriptor), opened), bytes_(bytes), mapping_(mapping) {}
  ~MappedFile() override {
    leave_mapping(mapping_);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// Nothing once the file has shrunk: the bytes are then read with pread, which says so. What shrinks later raises SIGBUS.
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override {
    if (!within(offset, n, bytes_.size()) || lost() || !whole()) return std::nullopt;
    return ByteView(bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(n)), offset);
  }

  Result<void> check_unchanged() const override {
    ASSAY_CHECK(PreadFile::check_unchanged());
    if (lost()) return fail(Code::file_changed, "some of the file could not be read while it was open");
    return {};
  }

 private:
  bool lost() const { return mapping_->lost.load(std::memory_order_acquire); }

  std::span<const std::byte> bytes_;
  LiveMapping* mapping_;
};

/// Each page fault of a map would be a round trip there, and the far side may cut the file short at any time.
bool on_network(int fd) {
#ifdef __linux__
  constexpr std::uint32_t kNetworkFileSystems[] = {
      0x00006969,  // NFS
      0x0000517b,  // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB 2
      0x65735546,  // FUSE: sshfs, s3fs, gcsfuse
      0x01021997,  // 9p
      0x00c36400,  // Ceph
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x20030528,  // OrangeFS
      0x01161970,  // GFS2
      0x7461636f,  // OCFS2
      0x5346414f,  // AFS
      0x6b414653,  // AFS in the kernel
      0x73757245,  // Coda
      0x0000564c,  // NCP
      0xaad7aaea,  // PanFS
      0x786f4256,  // VirtualBox shared folders
      0xbacbacbc,  // VMware shared folders
      0x7c7c6013,  // Parallels shared folders
  };
  struct statfs status;
  if (::fstatfs(fd, &status) != 0) return false;
  return std::ranges::find(kNetworkFileSystems, static_cast<std::uint32_t>(status.f_type)) != std::end(kNetworkFileSystems);
#else
  struct statfs status;
  return ::fstatfs(fd, &status) == 0 && (status.f_flags & MNT_LOCAL) == 0;
#endif
}

/// Refuses what is not a file that can be read at any offset.
Result<void> check_kind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return {};
  if (S_ISDIR(mode)) return fail(Code::io_error, concat(quote(path), " is a folder, not a file"));
  const std::string_view kind = S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device without a size";
  return fail(Code::not_seekable, concat(quote(path), " is ", kind));
}

Result<Descriptor> open_descriptor(const std::string& path) {
  if (path.find('\0') != std::string::npos) return fail(Code::no_such_file, concat(quote(path), " holds a NUL and can be no file"));
  // Looked at before it is opened, since opening a pipe already disturbs its writer; and after, since it may be another by then.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return fail(open_error(path, errno));
  ASSAY_CHECK(check_kind(path, status.st_mode));
  int fd;
  do fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(open_error(path, errno));
  Descriptor descriptor(fd);
  if (::fstat(fd, &status) != 0) return fail(open_error(path, errno));
  ASSAY_CHECK(check_kind(path, status.st_mode));
  return descriptor;
}

}  // namespace

Result<std::shared_ptr<ByteSource>> open_file(const std::string& path, MapMode mode) {
  ASSAY_TRY(Descriptor descriptor, open_descriptor(path));
  ASSAY_TRY(const Stamp stamp, stamp_of(descriptor.get()));
  const int fd = descriptor.get();
  const bool map = mode == MapMode::automatic && stamp.size > 0 && stamp.size <= std::numeric_limits<std::size_t>::max() && !on_network(fd);
  if (map) {
    const auto size = static_cast<std::size_t>(stamp.size);
    void* begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (begin != MAP_FAILED) {
      if (LiveMapping* mapping = enter_mapping(begin, size))
        return std::make_shared<MappedFile>(std::move(descriptor), stamp, std::span(static_cast<const std::byte*>(begin), size), mapping);
      ::munmap(begin, size);
    }
  }
  return std::make_shared<PreadFile>(std::move(descriptor), stamp);
}

}  // namespace assay
