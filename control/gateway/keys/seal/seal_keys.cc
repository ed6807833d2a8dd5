#include "control/gateway/keys/seal/seal_keys.h"

#include <algorithm>

#include "control/gateway/keys/key_file.h"
#include "control/key/secret_file.h"
#include "offload/aead/aead.h"

namespace cw::site {
namespace {

using config::KeyKind;
using config::Section;

/// As `causeway-key` makes them.
constexpr const char* makes_private = "causeway-key generate";
constexpr const char* makes_preshared = "causeway-key preshared";

/// The best first: the one of two that are offered is the responder's choice.
std::vector<cw_aead_kind> kinds_of(Cipher cipher) {
  switch (cipher) {
    case Cipher::Aes128:
      return {CW_AEAD_AES_128_GCM};
    case Cipher::Aes256:
      return {CW_AEAD_AES_256_GCM};
    case Cipher::ChaCha20:
      return {CW_AEAD_CHACHA20_POLY1305};
    case Cipher::Fastest:
      break;
  }
  if (cw_aead_has_fast_aes() == 0) return {CW_AEAD_CHACHA20_POLY1305};
  return {CW_AEAD_AES_128_GCM, CW_AEAD_AES_256_GCM, CW_AEAD_CHACHA20_POLY1305};
}

/// From its file, or as it was read from there before.
std::optional<seal::Secret> secret_of(Section& here, const char* table, const char* key,
                                      const std::string& file, const char* how_to_make,
                                      Config& config) {
  if (file.empty()) return std::nullopt;
  const std::string path = config.path_of(file);
  if (config.known.has_no_secrets) return seal::Secret::random();
  if (config.known.secrets != nullptr) {
    const auto found = config.known.secrets->find(path);
    if (found != config.known.secrets->end()) {
      config.secrets.insert(*found);
      return found->second;
    }
  }
  auto secret = key::read_secret_file(path, how_to_make);
  if (secret) {
    config.secrets.insert_or_assign(path, *secret);
    return *secret;
  }
  here.complain(key, std::string(table) + "." + key + ": " + secret.error().sentence);
  return std::nullopt;
}

std::optional<seal::PublicKey> public_key_of(Section& here, const char* key,
                                             const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto parsed = seal::parse_public_key(text);
  if (!parsed) {
    here.complain(key, "peer." + std::string(key) + " is \"" + text +
                           "\" and must be a public key: the 44 characters that `causeway-key "
                           "public FILE` says at that site");
  }
  return parsed;
}

/// The one key of all sites, as versions before had it.
void read_pair_key(Section& here, Config& config) {
  if (config.pair.key_file.empty()) return;
  if (config.known.key != nullptr) return void(*config.key = *config.known.key);
  const auto key = read_key_file(config.path_of(config.pair.key_file));
  if (!key) return here.complain("key_file", "pair.key_file: " + key.error().sentence);
  *config.key = *key;
  if (!key->warning.empty()) config.warnings.push_back("pair.key_file: " + key->warning);
}

constexpr const char* nothing_sealed =
    "pair.key_file: NOTHING IS SEALED: whoever sits on the line can read and change what hosts "
    "send, and all sites share one secret. The next version does not read this key any more. "
    "Instead: `causeway-key generate FILE` at each site, site.private_key_file = FILE, and what "
    "it says as peer.public_key at the others";
constexpr const char* control_sealed =
    "pair.seal is false: WHAT HOSTS SEND CROSSES AS IT IS: whoever sits on the line can read "
    "and change it; control packets alone are sealed";

/// Packets authenticate themselves; what the control packets' own MAC guards is chance.
constexpr uint8_t no_secret[seal::key_bytes] = {};

void check_public_key(Section& here, const PeerConfig& peer, const Config& config) {
  const auto is_its = [&](const auto& each) {
    return each.get() != &peer && each->public_key == peer.public_key;
  };
  if (here.is_wrong("public_key")) return;
  if (peer.public_key.empty()) {
    here.complain("public_key",
                  "peer.public_key of \"" + peer.name +
                      "\" is missing: `causeway-key public FILE` says it at that site");
  } else if (std::ranges::any_of(config.peers, is_its)) {
    here.complain("public_key", "peer.public_key of \"" + peer.name +
                                    "\" is another peer's too; every site has its own");
  }
}

void read_peer_keys(Section& here, PeerConfig& peer, Config& config) {
  if (config.is_sealed()) check_public_key(here, peer, config);
  peer.keyring.name = peer.name;
  peer.keyring.key = public_key_of(here, "public_key", peer.public_key).value_or(seal::PublicKey());
  peer.keyring.next_key = public_key_of(here, "next_public_key", peer.next_public_key);
  peer.keyring.preshared = secret_of(here, "peer", "preshared_key_file", peer.preshared_key_file,
                                     makes_preshared, config)
                               .value_or(seal::Secret());
}

void put_seal(Config& config) {
  if (!config.private_key) return;  // which was complained about
  config.seal.emplace();
  config.seal->own = seal::Identity::of(*config.private_key);
  config.seal->seals_data = config.pair.seal;
  config.seal->kinds = kinds_of(config.pair.cipher);
  cw_mac_init(&config.key->mac, no_secret, sizeof no_secret);
  if (!config.pair.seal) config.exposure = control_sealed;
}

}  // namespace

void declare_site_key(Section& site, const ConfigPtr& config) {
  site.key("private_key_file", config->site.private_key_file,
           "Who this site is: a secret that `causeway-key generate` makes, with mode 0600.");
  site.then([config](Section& here) {
    config->private_key = secret_of(here, "site", "private_key_file", config->site.private_key_file,
                                    makes_private, *config);
  });
}

void declare_sealing(Section& pair, const ConfigPtr& config) {
  PairConfig& it = config->pair;
  pair.key("key_file", it.key_file,
           "In place of site.private_key_file, for one version more: one secret for all sites, and "
           "nothing is sealed.")
      .kind(KeyKind::Keys);
  pair.key("seal", it.seal,
           "Whether what hosts send crosses sealed; control packets are, where sites have keys.")
      .kind(KeyKind::Restart);
  pair.choice("cipher", it.cipher, {"fastest", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"},
              "By what; both ends must have one in common. Fastest: as processors are.")
      .kind(KeyKind::Restart);
  pair.key("pad", it.pad,
           "Whether all packets are as long as the longest, filled up with zeros: a rate on the "
           "line "
           "for what their lengths tell.")
      .kind(KeyKind::Restart);
  pair.then([config](Section& here) { read_pair_key(here, *config); });
}

void declare_peer_keys(Section& row, PeerConfig& peer, const ConfigPtr& config) {
  row.key("public_key", peer.public_key,
          "Who it is: what `causeway-key public` says of its private key.");
  row.key("next_public_key", peer.next_public_key,
          "Taken for it as well, while it changes its key; empty: there is none.");
  row.key("preshared_key_file", peer.preshared_key_file,
          "A secret of these two sites besides, from `causeway-key preshared`; empty: none.");
  row.then([config, &peer](Section& here) { read_peer_keys(here, peer, *config); });
}

void check_sealing(Section& here, const ConfigPtr& config) {
  const bool has_own = !config->site.private_key_file.empty();
  const bool has_pair = !config->pair.key_file.empty();
  if (has_own && has_pair) {
    here.complain("pair",
                  "pair.key_file and site.private_key_file are there both; a site that has "
                  "a key of its own does not need the other");
  } else if (has_own) {
    put_seal(*config);
  } else if (has_pair) {
    config->exposure = nothing_sealed;
    if (config->pair.pad) {
      here.complain("pair",
                    "pair.pad is true and nothing is sealed: whoever sits on the line sees what "
                    "is filled up; leave it out, or give the site a private_key_file");
    }
  } else {
    here.complain("site",
                  "site.private_key_file is missing; `causeway-key generate FILE` makes a "
                  "key and says its public half, which is peer.public_key at other sites");
  }
}

}  // namespace cw::site
