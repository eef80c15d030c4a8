#include "core/hash.h"

#include <openssl/evp.h>

namespace minirl {

struct Hasher::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {
  MINIRL_CHECK(impl_->context != nullptr && EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1, "SHA-256 is not available");
}
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  MINIRL_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1, "SHA-256 failed");
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add_value(static_cast<std::uint64_t>(text.size()));
  return add(std::as_bytes(std::span(text.data(), text.size())));
}

Hasher& Hasher::add(const Tensor& tensor) {
  add(name(tensor.dtype()));
  add(tensor.shape().str());
  const Tensor host = tensor.on_host();
  return add(std::span(host.raw(), static_cast<std::size_t>(host.bytes())));
}

std::string Hasher::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  MINIRL_CHECK(EVP_DigestFinal_ex(impl_->context, digest, &size) == 1, "SHA-256 failed");
  std::string out;
  for (unsigned int i = 0; i < size; ++i) { out += fmt::format("{:02x}", digest[i]); }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Hasher h;
  h.add(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return h.hex();
}

}  // namespace minirl
