#include "control/api/who.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace cw::api {
namespace {

bool is_verified(gnutls_session_t session) {
  static unsigned char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st wanted{
      .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = purpose, .size = sizeof(purpose) - 1};
  unsigned status = 0;
  return gnutls_certificate_verify_peers(session, &wanted, 1, &status) == GNUTLS_E_SUCCESS &&
         status == 0;
}

std::optional<std::string> common_name(const gnutls_datum_t& der) {
  gnutls_x509_crt_t certificate = nullptr;
  if (gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS) return std::nullopt;
  const std::unique_ptr<gnutls_x509_crt_int, void (*)(gnutls_x509_crt_t)> owner(
      certificate, gnutls_x509_crt_deinit);
  if (gnutls_x509_crt_import(certificate, &der, GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) {
    return std::nullopt;
  }
  std::array<char, 128> name{};
  size_t size = name.size();
  const int read = gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                                 name.data(), &size);
  if (read != GNUTLS_E_SUCCESS) return std::string();
  return std::string(name.data(), size);
}

}  // namespace

std::optional<std::string> verified_client(void* session) {
  const auto its = static_cast<gnutls_session_t>(session);
  if (its == nullptr || gnutls_certificate_type_get(its) != GNUTLS_CRT_X509) return std::nullopt;
  unsigned count = 0;
  const gnutls_datum_t* const chain = gnutls_certificate_get_peers(its, &count);
  // The library calls a session without a certificate verified by some of its functions.
  if (chain == nullptr || count == 0 || !is_verified(its)) return std::nullopt;
  return common_name(chain[0]);
}

std::string user_behind(int fd) {
  ucred its{};
  socklen_t size = sizeof(its);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &its, &size) != 0) return "somebody";
  return "uid " + std::to_string(its.uid);
}

}  // namespace cw::api
