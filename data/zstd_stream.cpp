#include "data/zstd_stream.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <zstd.h>

namespace minirl::data {

struct ZstdWriter::Context {
  ZSTD_CCtx* z = ZSTD_createCCtx();
  std::vector<char> out = std::vector<char>(ZSTD_CStreamOutSize());
  ~Context() { ZSTD_freeCCtx(z); }
};

ZstdWriter::ZstdWriter(std::filesystem::path path)
    : context_(std::make_unique<Context>()), file_(std::move(path)) {
  MINIRL_CHECK(context_->z != nullptr, "zstd could not be started");
  ZSTD_CCtx_setParameter(context_->z, ZSTD_c_checksumFlag, 1);
}

ZstdWriter::~ZstdWriter() = default;

void ZstdWriter::pump(std::string_view bytes, bool end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (bool done = false; !done;) {
    ZSTD_outBuffer out{context_->out.data(), context_->out.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(context_->z, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    MINIRL_CHECK(ZSTD_isError(left) == 0, "zstd: {}", ZSTD_getErrorName(left));
    file_.write(std::string_view(context_->out.data(), out.pos));
    done = end ? left == 0 : in.pos == in.size;
  }
}

void ZstdWriter::write(std::string_view bytes) {
  pump(bytes, false);
}

void ZstdWriter::commit() {
  pump({}, true);
  file_.commit();
}

struct ZstdReader::Context {
  ZSTD_DCtx* z = ZSTD_createDCtx();
  std::vector<char> in = std::vector<char>(ZSTD_DStreamInSize());
  ZSTD_inBuffer pending{nullptr, 0, 0};
  bool whole = false;  // at the end of a frame, everything handed out
  bool full = false;   // the last call filled its room: there may be more without more input
  ~Context() { ZSTD_freeDCtx(z); }
};

ZstdReader::ZstdReader(std::filesystem::path path)
    : path_(std::move(path)),
      file_(path_, std::ios::binary),
      context_(std::make_unique<Context>()) {
  if (!file_) {
    const int error = errno;
    fail(Exit::usage, file_error("read", path_, error), file_hint(error));
  }
  MINIRL_CHECK(context_->z != nullptr, "zstd could not be started");
}

ZstdReader::~ZstdReader() = default;

std::string ZstdReader::read(std::size_t size) {
  std::string text;
  Context& c = *context_;
  // What is asked for may be what a damaged file claims: memory grows with what is really there.
  while (text.size() < size) {
    if (c.pending.pos == c.pending.size && (c.whole || !c.full)) {
      file_.read(c.in.data(), static_cast<std::streamsize>(c.in.size()));
      c.pending = {c.in.data(), static_cast<std::size_t>(file_.gcount()), 0};
      if (c.pending.size == 0) {
        if (!c.whole) {
          fail(Exit::usage, fmt::format("'{}' is cut short", path_.string()), "copy it again");
        }
        break;
      }
    }
    const std::size_t before = text.size();
    text.resize(before + std::min<std::size_t>(size - before, ZSTD_DStreamOutSize()));
    ZSTD_outBuffer out{text.data() + before, text.size() - before, 0};
    const std::size_t left = ZSTD_decompressStream(c.z, &out, &c.pending);
    if (ZSTD_isError(left) != 0) {
      fail(Exit::usage,
           fmt::format("'{}' is damaged, or not compressed with zstd ({})", path_.string(),
                       ZSTD_getErrorName(left)),
           "copy it again");
    }
    text.resize(before + out.pos);
    c.whole = left == 0;
    c.full = out.pos == out.size;
  }
  return text;
}

std::string read_zstd_file(const std::filesystem::path& path, std::size_t limit) {
  ZstdReader reader(path);
  std::string all;
  for (std::string part = reader.read(1 << 20); !part.empty(); part = reader.read(1 << 20)) {
    all += part;
    if (all.size() > limit) {
      fail(Exit::usage, fmt::format("'{}' has more than {} bytes", path.string(), limit));
    }
  }
  return all;
}

}  // namespace minirl::data
