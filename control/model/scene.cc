#include "control/model/scene.h"

#include <string>

namespace cw::model {
namespace {

constexpr uint64_t slots_max = 1 << 26;

/// What is said of a scene that cannot be.
class Complaints {
 public:
  void must(bool is_fine, const std::string& sentence) {
    if (is_fine) return;
    text_ += (text_.empty() ? "" : "\n") + sentence;
  }
  bool is_empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool has_memory(const LinkLoss& loss) { return loss.gilbert_elliott || loss.bursts; }

double mean_of(const LinkLoss& loss) {
  if (loss.gilbert_elliott) return loss.gilbert_elliott->mean_loss();
  return loss.bursts ? loss.bursts->loss : loss.independent;
}

void check(const Link& link, const Transfer& it, Complaints& complaints) {
  const double loss = mean_of(link.loss);
  complaints.must(link.bandwidth.bps() > 0, "bandwidth must be above 0 bit/s");
  complaints.must(link.rtt > Duration(), "rtt must be above 0 ns");
  complaints.must(it.size.count() > 0, "size must be above 0 B");
  complaints.must(it.chunk.count() > 0, "chunk must be above 0 B");
  complaints.must(it.payload.count() > 0, "payload must be above 0 B");
  complaints.must(it.in_flight > 0, "in-flight must be 1 at least");
  complaints.must(loss >= 0 && loss <= 0.5,
                  "loss is " + std::to_string(loss) + "; 0 to 0.5 are accepted");
  if (it.chunk.count() == 0 || it.payload.count() == 0) return;
  complaints.must(it.size.count() / it.chunk.count() < slots_max,
                  "a message has 67,108,864 chunks at most: make chunk larger");
  if (link.loss.of_chunks) return;
  complaints.must(it.chunk.count() % it.payload.count() == 0,
                  "chunk must be a multiple of payload where packets are lost");
  complaints.must(!link.loss.bursts || it.chunk == it.payload,
                  "cloud profiles lose packets: chunk must be as large as payload");
}

LossChain chain_of(const LinkLoss& loss) {
  if (loss.gilbert_elliott) return LossChain::gilbert_elliott(*loss.gilbert_elliott);
  if (loss.bursts) return LossChain::bursts(*loss.bursts);
  return LossChain::independent(loss.independent);
}

}  // namespace

Result<Scene> make_scene(const Link& link, const Transfer& transfer) {
  Complaints complaints;
  check(link, transfer, complaints);
  if (complaints.is_empty() && has_memory(link.loss)) {
    const Impairment impairment{
        .gilbert_elliott = link.loss.gilbert_elliott.value_or(GilbertElliott()),
        .bursts = link.loss.bursts.value_or(BurstLoss())};
    if (const auto valid = validate(impairment); !valid) {
      complaints.must(false, valid.error().sentence);
    }
  }
  if (!complaints.is_empty()) return failure(complaints.text());
  const uint64_t chunk = transfer.chunk.count();
  Scene scene{.link = link,
              .transfer = transfer,
              .slots = (transfer.size.count() + chunk - 1) / chunk,
              .slot_ms = double(chunk) * 8e3 / double(link.bandwidth.bps()),
              .rtt_ms = link.rtt.ms(),
              .loss = chain_of(link.loss)};
  // A message that is smaller than a chunk is one small chunk.
  if (scene.slots == 1) scene.slot_ms *= double(transfer.size.count()) / double(chunk);
  if (!link.loss.of_chunks) {
    scene.loss = scene.loss.of_chunks(static_cast<uint32_t>(chunk / transfer.payload.count()));
  }
  return scene;
}

}  // namespace cw::model
