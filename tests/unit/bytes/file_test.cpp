// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "assay/source.hpp"
#include "bytes/open_error_native.hpp"
#include "bytes/sigbus_native.hpp"
#include "temp_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr MapMode kModes[] = {MapMode::automatic, MapMode::never};

Code failure_of(const std::string& path) {
  const auto opened = open_file(path);
  return opened ? Code::internal : opened.error().code();
}

TEST(OpenFile, ReadsMappedAndUnmapped) {
  const TempFolder folder;
  const std::string path = folder.write("重み.pt", "0123456789");
  for (const MapMode mode : kModes) {
    const auto source = open_file(path, mode);
    ASSERT_TRUE(source.has_value()) << source.error().what();
    EXPECT_EQ((*source)->size(), 10u);
    EXPECT_EQ((*source)->fetch(2, 3)->view().text(), "234");
    EXPECT_TRUE((*source)->fetch(2, 3)->owns());
    EXPECT_EQ((*source)->view(9, 1)->view().text(), "9");
    EXPECT_EQ((*source)->view(9, 1)->view().offset(), 9u);
    EXPECT_EQ((*source)->mapped(0, 10).has_value(), mode == MapMode::automatic);
    EXPECT_EQ((*source)->view(9, 2).error().code(), Code::truncated);
    EXPECT_TRUE((*source)->check_unchanged().has_value());
  }
}

TEST(OpenFile, AnEmptyFileIsAFile) {
  const TempFolder folder;
  const auto source = open_file(folder.write("empty", ""));
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), 0u);
  EXPECT_TRUE((*source)->view(0, 0).has_value());
}

TEST(OpenFile, SaysWhatIsMissing) {
  const TempFolder folder;
  folder.write("file", "x");
  EXPECT_EQ(failure_of(folder / "absent"), Code::no_such_file);
  EXPECT_EQ(failure_of(folder / "file/below"), Code::no_such_file);
  EXPECT_EQ(failure_of(""), Code::no_such_file);
  EXPECT_EQ(failure_of((folder / "file") + '\0' + "x"), Code::no_such_file);
  EXPECT_EQ(failure_of(folder.path()), Code::io_error);
}

TEST(OpenFile, SaysWhereADanglingLinkLeads) {
  const TempFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("../blobs/abc", folder / "sub/second");
  fs::create_symlink("sub/second", folder / "first");
  for (const char* name : {"first", "sub/second"}) {
    const auto source = open_file(folder / name);
    ASSERT_FALSE(source.has_value());
    EXPECT_EQ(source.error().code(), Code::dangling_link);
    EXPECT_NE(source.error().what().find("'../blobs/abc', which does not exist"), std::string::npos) << source.error().what();
  }
  folder.write("blobs/abc", "whole");
  EXPECT_EQ((*open_file(folder / "first"))->size(), 5u);
}

TEST(OpenFile, LinksInACircleAreAnError) {
  const TempFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(failure_of(folder / "a"), Code::io_error);
}

TEST(OpenFile, OtherFailuresSayWhy) {
  const Error refused = open_error("secret.pt", EACCES);
  EXPECT_EQ(refused.code(), Code::io_error);
  EXPECT_EQ(refused.what(), "'secret.pt' cannot be opened: permission denied");
  EXPECT_EQ(refused.hint(), "");
  EXPECT_NE(open_error("shard-1025", EMFILE).hint().find("ulimit -n"), std::string::npos);
}

TEST(OpenFile, RefusesWhatHasNoOffsets) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(failure_of(folder / "pipe"), Code::not_seekable) << "and does not wait for a writer";
  EXPECT_EQ(failure_of("/dev/null"), Code::not_seekable);

  // A socket's path must be short, so it is bound from within the folder.
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::current_path(before);
  EXPECT_EQ(failure_of(folder / "socket"), Code::not_seekable);
  ::close(fd);
}

TEST(OpenFile, FilesAboveFourGibibytesHaveWideOffsets) {
  const TempFolder folder;
  const std::string path = folder.write("sparse", "");
  const std::uint64_t at = std::uint64_t{5} << 30;
  fs::resize_file(path, at);
  std::ofstream(path, std::ios::app) << "end";
  for (const MapMode mode : kModes) {
    const auto source = open_file(path, mode);
    EXPECT_EQ((*source)->size(), at + 3);
    EXPECT_EQ((*source)->view(at, 3)->view().text(), "end");
  }
}

TEST(ChangedFile, IsNoticed) {
  const TempFolder folder;
  for (const MapMode mode : kModes) {
    const std::string path = folder.write("file", std::string(100, 'x'));
    const auto grown = open_file(path, mode);
    std::ofstream(path, std::ios::app) << "more";
    EXPECT_EQ((*grown)->check_unchanged().error().code(), Code::file_changed);
    EXPECT_EQ((*grown)->view(90, 10)->view().text(), "xxxxxxxxxx") << "what was there still is";

    const auto touched = open_file(path, mode);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_EQ((*touched)->check_unchanged().error().code(), Code::file_changed);

    const auto shrunk = open_file(path, mode);
    fs::resize_file(path, 40);
    EXPECT_EQ((*shrunk)->check_unchanged().error().code(), Code::file_changed);
    EXPECT_EQ((*shrunk)->view(30, 20).error().code(), Code::file_changed);
    EXPECT_EQ((*shrunk)->fetch(30, 20).error().code(), Code::file_changed);
    EXPECT_EQ((*shrunk)->view(30, 10)->view().text(), "xxxxxxxxxx");
  }
}

TEST(SigbusGuard, AFileCutShortWhileItIsReadIsAnErrorNotACrash) {
  ASSERT_TRUE(install_sigbus_guard());
  ASSERT_TRUE(install_sigbus_guard()) << "again is fine";
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const TempFolder folder;
  const std::string path = folder.write("file", std::string(8 * page, 'x'));
  const auto source = open_file(path);
  const auto intact = open_file(folder.write("other", std::string(page, 'y')));
  const auto view = (*source)->mapped(0, 8 * page);
  ASSERT_TRUE(view.has_value());
  fs::resize_file(path, page);
  const auto* bytes = reinterpret_cast<const volatile char*>(view->data());
  EXPECT_EQ(char{bytes[page - 1]}, 'x');
  EXPECT_FALSE(sigbus_seen());
  EXPECT_EQ(char{bytes[3 * page]}, '\0');
  EXPECT_TRUE(sigbus_seen());
  EXPECT_EQ(char{bytes[8 * page - 1]}, '\0');
  EXPECT_EQ(char{bytes[page]}, '\0');

  // Written whole again, the mapping still holds zeros: it stays lost.
  fs::resize_file(path, 8 * page);
  EXPECT_FALSE((*source)->mapped(0, 1).has_value());
  EXPECT_EQ((*source)->check_unchanged().error().code(), Code::file_changed);
  EXPECT_TRUE((*intact)->check_unchanged().has_value());
  EXPECT_TRUE((*intact)->mapped(0, page).has_value());
}

TEST(SigbusGuard, OtherMappingsAreNotItsBusiness) {
  ASSERT_TRUE(install_sigbus_guard());
  const TempFolder folder;
  const int fd = ::open(folder.write("empty", "").c_str(), O_RDONLY);
  void* stranger = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(stranger, MAP_FAILED);
  EXPECT_DEATH((void)*static_cast<const volatile char*>(stranger), "");
  EXPECT_DEATH(::raise(SIGBUS), "");
  ::munmap(stranger, 1);
  ::close(fd);
}

TEST(SigbusGuard, RowsAreGivenBack) {
  const TempFolder folder;
  const std::string path = folder.write("file", "x");
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE((*open_file(path))->mapped(0, 1).has_value());
}

}  // namespace
}  // namespace assay
