#include "control/trace/trace_document.h"

#include <openssl/evp.h>

#include <climits>

namespace cw::trace {
namespace {

constexpr uint64_t version = 1;
constexpr const char* mark = "causeway_trace";

Json json_of(const StreamTrace& stream) {
  Json json = {{"peer", stream.peer},   {"class", stream.class_name},
               {"link", stream.link},   {"direction", stream.is_outward ? "out" : "in"},
               {"state", stream.state}, {"bytes", stream.bytes.size()}};
  if (!stream.why.empty()) json["why"] = stream.why;
  json["facts"] = base64_of(stream.bytes);
  return json;
}

/// Throws what is not as it should be.
StreamTrace stream_of(const Json& json) {
  StreamTrace stream;
  json.at("peer").get_to(stream.peer);
  json.at("class").get_to(stream.class_name);
  stream.link = static_cast<uint16_t>(json.at("link").get<uint64_t>());
  stream.is_outward = json.at("direction").get<std::string>() == "out";
  json.at("state").get_to(stream.state);
  stream.why = json.value("why", "");
  auto bytes = bytes_of_base64(json.at("facts").get<std::string>());
  if (!bytes) throw Json::Error(bytes.error().sentence);
  stream.bytes = std::move(*bytes);
  return stream;
}

}  // namespace

StreamTrace stream_trace_of(const sdr::PolicyTrace& trace) {
  StreamTrace stream{.state = name_of(trace.state())};
  const auto bytes = trace.bytes();
  stream.bytes.assign(bytes.begin(), bytes.end());
  return stream;
}

std::string base64_of(std::span<const uint8_t> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // and a zero behind it
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

Result<std::vector<uint8_t>> bytes_of_base64(std::string_view text) {
  std::vector<uint8_t> bytes(text.size() / 4 * 3);
  const bool is_whole = text.size() % 4 == 0 && text.size() <= INT_MAX;
  const auto* const from = reinterpret_cast<const unsigned char*>(text.data());
  const int size =
      is_whole ? EVP_DecodeBlock(bytes.data(), from, static_cast<int>(text.size())) : -1;
  if (size < 0) return failure("what should be base64 is none");
  // It counts the bytes that padding stands for, too.
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

Json json_of(const TraceDocument& document) {
  Json streams = Json::array();
  for (const StreamTrace& each : document.streams) streams.push_back(json_of(each));
  return {{mark, version}, {"site", document.site}, {"streams", streams}};
}

Result<TraceDocument> read_document(std::string_view text) {
  const Json whole = Json::parse_or_null(text);
  const bool is_bundle = whole.is_object() && !whole.contains(mark) && whole.contains("trace");
  const Json& json = is_bundle ? whole.at("trace") : whole;
  if (!json.is_object() || !json.contains(mark)) {
    return failure("there is no trace in it: causewayctl trace and bundle --trace write one");
  }
  try {
    if (json.at(mark) != Json(version)) {
      return failure("its trace is of version " + json.at(mark).dump() + ", not " +
                     std::to_string(version));
    }
    TraceDocument document{.site = json.at("site").get<std::string>(), .streams = {}};
    for (const Json& each : json.at("streams")) document.streams.push_back(stream_of(each));
    return document;
  } catch (const Json::Error& error) {
    return failure(std::string("its trace is damaged: ") + error.what());
  }
}

}  // namespace cw::trace
