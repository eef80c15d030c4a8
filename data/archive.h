// minirl data/archive.h -- a .tar.zst file: `tar --zstd -tf FILE` lists it. Members are files;
// links, devices and names that leave the folder are refused.
#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace minirl::data {

/// Writes the files of `members` (name inside: file on disk) in the order of their names. Equal
/// files give equal bytes: times and owners are zero. Throws Exit::runtime.
void write_archive(const std::filesystem::path& path,
                   const std::map<std::string, std::filesystem::path>& members);

/// Unpacks below `folder`, which exists. Throws Exit::usage: damaged, no archive, a member that may
/// not be there.
void extract_archive(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace minirl::data
