// Nanoseconds to seal and to open a packet's payload, by each library and kind, with the 24 bytes
// associated that a data packet has besides. Packets lie in a ring of buffers larger than the
// second-level cache, as they do behind a NIC; each is sealed in place.
//
// The counter vs_own is this time divided by that of the library's own calls, made here and now on
// the same ring; vs_memcpy by that of memcpy. These two are what a report should quote.
#include <benchmark/benchmark.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "offload/aead/aead.h"

#ifdef CW_HAVE_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

namespace {

constexpr size_t buffer_bytes = 9216, buffer_count = 512;  // 4.5 MiB
constexpr size_t associated_bytes = 24;

struct Ring {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(buffer_bytes * buffer_count, 7);
  size_t at = 0;
  uint8_t* next() {
    at = at + 1 == buffer_count ? 0 : at + 1;
    return bytes.data() + at * buffer_bytes;
  }
};

/// The best of a few rounds over the ring.
template <class Step>
double seconds_of(Ring& ring, Step step) {
  double best = 1;
  for (int round = 0; round < 5; ++round) {
    const double start = cw::bench::cpu_seconds();
    for (size_t i = 0; i < buffer_count; ++i) {
      step(ring.next());
      benchmark::ClobberMemory();
    }
    best = std::min(best, (cw::bench::cpu_seconds() - start) / buffer_count);
  }
  return best;
}

const std::array<uint8_t, CW_AEAD_KEY_BYTES_MAX> key{1, 2, 3};
std::array<uint8_t, CW_AEAD_NONCE_BYTES> nonce{};
std::array<uint8_t, CW_AEAD_TAG_BYTES> tag{};

/// What a program would call without our door.
struct OwnOpenssl {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  explicit OwnOpenssl(cw_aead_kind kind) {
    const EVP_CIPHER* const cipher = kind == CW_AEAD_AES_128_GCM   ? EVP_aes_128_gcm()
                                     : kind == CW_AEAD_AES_256_GCM ? EVP_aes_256_gcm()
                                                                   : EVP_chacha20_poly1305();
    EVP_EncryptInit_ex(context, cipher, nullptr, key.data(), nullptr);
  }
  ~OwnOpenssl() { EVP_CIPHER_CTX_free(context); }
  OwnOpenssl(const OwnOpenssl&) = delete;
  OwnOpenssl& operator=(const OwnOpenssl&) = delete;

  void seal(uint8_t* at, size_t bytes) {
    int count = 0;
    EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data());
    EVP_EncryptUpdate(context, nullptr, &count, at, associated_bytes);
    EVP_EncryptUpdate(context, at + associated_bytes, &count, at + associated_bytes,
                      static_cast<int>(bytes));
    EVP_EncryptFinal_ex(context, at + associated_bytes + count, &count);
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CW_AEAD_TAG_BYTES, tag.data());
  }
};

#ifdef CW_HAVE_IPSEC_MB
struct OwnIpsecMb {
  IMB_MGR* manager = alloc_mb_mgr(0);
  cw_aead_kind kind;
  alignas(64) gcm_key_data gcm{};
  explicit OwnIpsecMb(cw_aead_kind of) : kind(of) {
    init_mb_mgr_auto(manager, nullptr);
    if (kind == CW_AEAD_AES_128_GCM) IMB_AES128_GCM_PRE(manager, key.data(), &gcm);
    if (kind == CW_AEAD_AES_256_GCM) IMB_AES256_GCM_PRE(manager, key.data(), &gcm);
  }
  ~OwnIpsecMb() { free_mb_mgr(manager); }
  OwnIpsecMb(const OwnIpsecMb&) = delete;
  OwnIpsecMb& operator=(const OwnIpsecMb&) = delete;

  void seal(uint8_t* at, size_t bytes) {
    uint8_t* const text = at + associated_bytes;
    gcm_context_data context;
    if (kind == CW_AEAD_AES_128_GCM) {
      IMB_AES128_GCM_ENC(manager, &gcm, &context, text, text, bytes, nonce.data(), at,
                         associated_bytes, tag.data(), tag.size());
    } else if (kind == CW_AEAD_AES_256_GCM) {
      IMB_AES256_GCM_ENC(manager, &gcm, &context, text, text, bytes, nonce.data(), at,
                         associated_bytes, tag.data(), tag.size());
    } else {
      chacha20_poly1305_context_data chacha;
      IMB_CHACHA20_POLY1305_INIT(manager, key.data(), &chacha, nonce.data(), at, associated_bytes);
      IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, key.data(), &chacha, text, text, bytes);
      IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager, &chacha, tag.data(), tag.size());
    }
  }
};
#endif

template <class Step>
void measure(benchmark::State& state, size_t bytes, double own, Step step) {
  Ring ring, from;
  const double start = cw::bench::cpu_seconds();
  for (auto _ : state) step(ring.next());
  const double seconds =
      (cw::bench::cpu_seconds() - start) / static_cast<double>(state.iterations());
  const double copy = seconds_of(from, [&](uint8_t* at) { std::memcpy(ring.next(), at, bytes); });
  state.counters["Gbit/s"] = 8e-9 * static_cast<double>(bytes) / seconds;
  state.counters["vs_memcpy"] = seconds / copy;
  if (own > 0) state.counters["vs_own"] = seconds / own;
}

cw_aead_text text_at(uint8_t* at, size_t bytes) {
  return {nonce.data(), at, associated_bytes, at + associated_bytes, at + associated_bytes, bytes};
}

template <class Own>
void seal(benchmark::State& state, const cw_aead* aead, cw_aead_kind kind) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const std::unique_ptr<void, void (*)(void*)> made(aead->make(kind, key.data()), aead->drop);
  if (made == nullptr) return state.SkipWithError("not on this processor");
  Own own(kind);
  Ring ring;
  const double theirs = seconds_of(ring, [&](uint8_t* at) { own.seal(at, bytes); });
  measure(state, bytes, theirs, [&](uint8_t* at) {
    const cw_aead_text text = text_at(at, bytes);
    aead->seal(made.get(), &text, tag.data());
  });
}

/// Of packets that were sealed; each is sealed again before it is opened again, untimed.
void open(benchmark::State& state, const cw_aead* aead, cw_aead_kind kind) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const std::unique_ptr<void, void (*)(void*)> made(aead->make(kind, key.data()), aead->drop);
  if (made == nullptr) return state.SkipWithError("not on this processor");
  std::vector<uint8_t> sealed(buffer_bytes, 7), plain(buffer_bytes);
  cw_aead_text text = text_at(sealed.data(), bytes);
  aead->seal(made.get(), &text, tag.data());
  Ring ring;
  for (size_t i = 0; i < buffer_count; ++i) std::ranges::copy(sealed, ring.next());
  text.out = plain.data();
  bool is_open = true;
  measure(state, bytes, 0, [&](uint8_t*) {
    const uint8_t* const at = ring.next();
    text.associated = at;
    text.in = at + associated_bytes;
    is_open &= aead->open(made.get(), &text, tag.data()) == 1;
  });
  if (!is_open) state.SkipWithError("what was sealed did not open");
}

template <class Own>
void add(const cw_aead* aead) {
  constexpr std::pair<cw_aead_kind, const char*> kinds[] = {
      {CW_AEAD_AES_128_GCM, "aes_128_gcm"},
      {CW_AEAD_AES_256_GCM, "aes_256_gcm"},
      {CW_AEAD_CHACHA20_POLY1305, "chacha20_poly1305"}};
  for (const auto& [kind, name] : kinds) {
    const std::string of = std::string(name) + "/" + aead->library;
    benchmark::RegisterBenchmark(("seal/" + of).c_str(), seal<Own>, aead, kind)
        ->Arg(1400)
        ->Arg(8900);
    benchmark::RegisterBenchmark(("open/" + of).c_str(), open, aead, kind)->Arg(1400)->Arg(8900);
  }
}

}  // namespace

int main(int argc, char** argv) {
  add<OwnOpenssl>(cw_aead_openssl());
#ifdef CW_HAVE_IPSEC_MB
  add<OwnIpsecMb>(cw_aead_ipsec_mb());
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
