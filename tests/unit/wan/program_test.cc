// causeway-wan as it is asked and told: numbers with units, lines, options, its socket.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "control/units/lines.h"
#include "control/units/units.h"
#include "control/wan/link/link_change.h"
#include "control/wan/options.h"
#include "control/wan/socket/control_socket.h"

namespace cw {
namespace {

// ---- Numbers with units, and lines ----

// ---- units ----

TEST(Units, times_are_read_with_every_unit) {
  EXPECT_EQ(parse_duration("5ns"), Duration::from_ns(5));
  EXPECT_EQ(parse_duration("1.5us"), Duration::from_ns(1500));
  EXPECT_EQ(parse_duration("25 ms"), Duration::from_ms(25));
  EXPECT_EQ(parse_duration("0s"), Duration());
  EXPECT_EQ(parse_duration("2min"), Duration::from_s(120));
  EXPECT_EQ(parse_duration("1h"), Duration::from_s(3600));
}

TEST(Units, rates_and_sizes_are_read_with_every_unit) {
  EXPECT_EQ(parse_rate("500Mbit/s"), Rate::from_mbps(500));
  EXPECT_EQ(parse_rate("2.5 Gbit/s"), Rate::from_mbps(2500));
  EXPECT_EQ(parse_rate("8kbit/s"), Rate::from_bps(8000));
  EXPECT_EQ(parse_bytes("1500"), Bytes(1500));
  EXPECT_EQ(parse_bytes("1MiB"), Bytes(1 << 20));
  EXPECT_EQ(parse_bytes("64 kB"), Bytes(64'000));
}

TEST(Units, a_share_of_one_needs_its_unit) {
  EXPECT_EQ(parse_share("0.25"), 0.25);
  EXPECT_DOUBLE_EQ(parse_share("0.1%").value(), 0.001);
  EXPECT_EQ(parse_share("100%"), 1.0);
  EXPECT_EQ(parse_share("0"), 0.0);
  EXPECT_FALSE(parse_share("1"));
  EXPECT_FALSE(parse_share("101%"));
}

TEST(Units, what_is_not_understood_is_refused) {
  for (const char* text : {"", "ms", "25", "25 m s", "-1ms", "1e30s", "nan s", "infs", "25ms "}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  for (const char* text : {"500", "500Mbps", "-1bit/s", "1e20Gbit/s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  for (const char* text : {"-1", "1mb", "KiB", "1e30"}) EXPECT_FALSE(parse_bytes(text)) << text;
  for (const char* text : {"-1", "1.5", "", "99999999999999999999"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
  EXPECT_FALSE(parse_real("-0.5"));
}

TEST(Units, a_refusal_quotes_the_text_and_says_what_is_accepted) {
  const std::string sentence = parse_duration("25 parsecs").error().sentence;
  EXPECT_NE(sentence.find("\"25 parsecs\""), std::string::npos);
  EXPECT_NE(sentence.find("ns, us, ms"), std::string::npos);
}

// ---- lines ----

TEST(Lines, come_out_whole_however_they_come_in) {
  Lines lines(8);
  lines.take("on");
  EXPECT_FALSE(lines.has_next());
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.take("e\n\ntw");
  EXPECT_TRUE(lines.has_next());
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.take("o\n");
  EXPECT_EQ(lines.next(), "two");
}

TEST(Lines, are_full_beyond_the_longest) {
  Lines lines(3);
  lines.take("abc");
  EXPECT_FALSE(lines.is_full());
  lines.take("d");
  EXPECT_TRUE(lines.is_full() && !lines.has_next());
  lines.clear();
  EXPECT_FALSE(lines.is_full());
}

}  // namespace

}  // namespace cw

namespace cw::wan {
namespace {
// ---- options ----

Result<Options> parse(const std::string& line) {
  std::istringstream stream("causeway-wan " + line);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parse_options(arguments);
}

const Impairment& first_of(const Result<Options>& options) {
  return options->directions[0].impairment;
}

TEST(Options, two_interfaces_are_enough_and_mean_a_perfect_link) {
  const auto options = parse("va vb");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->interfaces[0], "va");
  EXPECT_EQ(options->interfaces[1], "vb");
  EXPECT_EQ(options->duration, Duration::max());
  EXPECT_FALSE(options->impairs_arp);
  EXPECT_TRUE(options->is_realtime);
  for (const auto& direction : options->directions) {
    EXPECT_EQ(direction.impairment.rate, Rate());
    EXPECT_EQ(direction.impairment.delay, Duration());
    EXPECT_EQ(direction.impairment.loss, 0);
  }
}

TEST(Options, every_impairment_can_be_said) {
  const auto options = parse(
      "va vb --delay 10ms --rate 500Mbit/s --queue 1MiB --mark 5ms --loss 1% --gilbert 8,0.5% "
      "--profile amazon:0.1% --drop 3,7 --blackout 5s,1s,60s --mtu 1280@2s --corrupt 0.01% --hole "
      "4793,1000 "
      "--duplicate 2%,3 --jitter 2ms,1ms,reorders --reorder 3%,4ms");
  ASSERT_TRUE(options) << options.error().sentence;
  const Impairment& it = first_of(options);
  EXPECT_EQ(it.delay, Duration::from_ms(10));
  EXPECT_EQ(it.rate, Rate::from_mbps(500));
  EXPECT_EQ(it.queue_bytes, Bytes(1 << 20));
  EXPECT_EQ(it.queue_time, Duration::max());
  EXPECT_EQ(it.mark_above, Duration::from_ms(5));
  EXPECT_DOUBLE_EQ(it.loss, 0.01);
  EXPECT_NEAR(it.gilbert_elliott.mean_loss(), 0.005, 1e-12);
  EXPECT_DOUBLE_EQ(it.gilbert_elliott.to_good, 0.125);
  EXPECT_EQ(it.bursts.profile.name, "amazon");
  EXPECT_DOUBLE_EQ(it.bursts.loss, 0.001);
  EXPECT_EQ(it.targeted.first, 3u);
  EXPECT_EQ(it.targeted.every, 7u);
  EXPECT_EQ(it.blackout.start, Instant() + Duration::from_s(5));
  EXPECT_EQ(it.blackout.length, Duration::from_s(1));
  EXPECT_EQ(it.blackout.period, Duration::from_s(60));
  EXPECT_EQ(it.mtu, Bytes(1294));
  EXPECT_EQ(it.mtu_from, Instant() + Duration::from_s(2));
  EXPECT_EQ(it.hole.flow, 4793u);
  EXPECT_EQ(it.hole.above, Bytes(1014));
  EXPECT_DOUBLE_EQ(it.corrupt, 0.0001);
  EXPECT_DOUBLE_EQ(it.duplicate, 0.02);
  EXPECT_EQ(it.copies_max, 3u);
  EXPECT_EQ(it.jitter_max, Duration::from_ms(2));
  EXPECT_EQ(it.jitter_mean, Duration::from_ms(1));
  EXPECT_EQ(it.jitter_shape, JitterShape::Exponential);
  EXPECT_TRUE(it.jitter_reorders);
  EXPECT_DOUBLE_EQ(it.reorder, 0.03);
  EXPECT_EQ(it.reorder_delay, Duration::from_ms(4));
}

TEST(Options, a_direction_of_its_own_wins_over_both) {
  const auto options = parse("va vb --loss 1% --a-to-b.loss 2% --b-to-a.rate 8Mbit/s --rtt 25ms");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_DOUBLE_EQ(options->directions[0].impairment.loss, 0.02);
  EXPECT_DOUBLE_EQ(options->directions[1].impairment.loss, 0.01);
  EXPECT_EQ(options->directions[0].impairment.rate, Rate());
  EXPECT_EQ(options->directions[1].impairment.rate, Rate::from_mbps(8));
  for (const auto& direction : options->directions) {
    EXPECT_EQ(direction.impairment.delay, Duration::from_us(12'500));
  }
  EXPECT_EQ(options->directions[0].texts.at("loss"), "2%");
}

TEST(Options, a_rate_brings_a_queue) {
  EXPECT_EQ(first_of(parse("va vb --rate 1Gbit/s")).queue_time, Duration::from_ms(20));
  EXPECT_EQ(first_of(parse("va vb --rate 1Gbit/s --queue 5ms")).queue_time, Duration::from_ms(5));
}

TEST(Options, the_run_can_be_described) {
  const auto options = parse(
      "va vb --seed 9 --seconds 1.5 --stats-every 1s --memory 8MiB --spin 20us --gather 100us "
      "--json "
      "--impair-arp --fix-offloads --no-realtime");
  ASSERT_TRUE(options) << options.error().sentence;
  EXPECT_EQ(options->seed, 9u);
  EXPECT_EQ(options->duration, Duration::from_ms(1500));
  EXPECT_EQ(options->stats_every, Duration::from_s(1));
  EXPECT_EQ(options->memory, Bytes(8 << 20));
  EXPECT_EQ(options->spin, Duration::from_us(20));
  EXPECT_EQ(options->gather, Duration::from_us(100));
  EXPECT_TRUE(options->is_json && options->impairs_arp && options->fixes_offloads);
  EXPECT_FALSE(options->is_realtime);
  EXPECT_FALSE(parse("va vb --no-impair-arp")->impairs_arp);
}

TEST(Options, help_names_every_option_and_needs_no_interface) {
  const auto options = parse("--help");
  ASSERT_TRUE(options);
  for (const LinkOption& option : link_options()) {
    EXPECT_NE(options->help.find(std::string("--") + option.name), std::string::npos);
  }
  EXPECT_NE(options->help.find("Examples"), std::string::npos);
}

struct Mistake {
  const char* line;
  const char* part;  ///< of the sentence
};

TEST(Options, every_mistake_is_a_sentence_that_names_it) {
  const Mistake mistakes[] = {
      {"", "IF_A"},
      {"va", "IF_B is required"},
      {"va va", "two ends"},
      {"va vb vc", "\"vc\" is no option"},
      {"va vb --los 1%", "\"--los\" is no option"},
      {"va vb --loss", "--loss: takes one value"},
      {"va vb --loss 1% --loss 2%", "--loss: takes one value and is given once"},
      {"va vb --loss 1", "--loss: \"1\" is not a share"},
      {"va vb --loss -1%", "not a share"},
      {"va vb --a-to-b.loss 2", "A to B: --loss"},
      {"va vb --b-to-a.delay 5", "B to A: --delay: \"5\" is not a time"},
      {"va vb --rate 5", "--rate: \"5\" is not a rate"},
      {"va vb --rate 10bit/s", "1000 and more"},
      {"va vb --delay 2h", "one hour"},
      {"va vb --queue 5ms", "--queue and --mark need --rate"},
      {"va vb --mark 5ms", "--queue and --mark need --rate"},
      {"va vb --rate 1Gbit/s --queue x", "neither a time, as in 20ms, nor a size"},
      {"va vb --gilbert 8", "MEAN_BURST,SHARE"},
      {"va vb --gilbert 0.5,1%", "at least 1 packet"},
      {"va vb --gilbert 1,90%", "make the bursts longer"},
      {"va vb --gilbert 3,100%", "between the bursts"},
      {"va vb --profile amazon", "NAME:SHARE"},
      {"va vb --profile oracle:1%", "there are random, amazon, google, microsoft"},
      {"va vb --profile amazon:90%", "lose at most"},
      {"va vb --drop 0,5", "counted from 1"},
      {"va vb --drop x", "whole number"},
      {"va vb --blackout 5s", "START,LENGTH"},
      {"va vb --blackout 5s,2s,1s", "nothing ever passes"},
      {"va vb --hole 0", "\"0\" is no UDP port: 1 to 65535"},
      {"va vb --hole 4791,x", "--hole: \"x\" is not a size"},
      {"va vb --hole 4791,1,2", "PORT[,SIZE]"},
      {"va vb --mtu 20", "68 to 65535"},
      {"va vb --mtu 1280@x", "--mtu: \"x\" is not a time"},
      {"va vb --mtu 1280@1s@2s", "SIZE[@TIME]"},
      {"va vb --duplicate 1%,9", "1 to 4"},
      {"va vb --duplicate 1%,4294967297", "1 to 4"},
      {"va vb --jitter 1ms,2ms", "jitter_mean must not be above"},
      {"va vb --jitter 1ms,1ms,2ms", "\"2ms\" is not \"reorders\""},
      {"va vb --reorder 1%", "SHARE,TIME"},
      {"va vb --reorder 1%,0ms", "reorder_delay above 0"},
      {"va vb --rtt 20ms --delay 10ms", "--rtt or --delay, not both"},
      {"va vb --rtt 20ms --b-to-a.delay 10ms", "--rtt or --delay, not both"},
      {"va vb --rtt x", "--rtt: \"x\" is not a time"},
      {"va vb --seed -1", "--seed: \"-1\" is not a whole number"},
      {"va vb --seconds soon", "--seconds: \"soon\""},
      {"va vb --memory 1kB", "--memory: at least 1MiB"},
      {"va vb --spin 1s", "--spin: at most 10ms"},
      {"va vb --gather 1s", "--gather: at most 10ms"},
      {"va vb --stats-every 1", "--stats-every: \"1\" is not a time"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto options = parse(mistake.line);
    ASSERT_FALSE(options) << mistake.line;
    EXPECT_NE(options.error().sentence.find(mistake.part), std::string::npos)
        << mistake.line << " -> " << options.error().sentence;
  }
}

// ---- link change ----

BothDirections link_of(const std::string& request) {
  const auto made = changed({}, request);
  EXPECT_TRUE(made) << made.error().sentence;
  return made.value_or(BothDirections{});
}

std::string mistake_of(const std::string& request) {
  const auto made = changed({}, request);
  EXPECT_FALSE(made);
  return made ? "" : made.error().sentence;
}

TEST(LinkChange, holds_for_both_directions_or_for_the_one_that_is_named) {
  const BothDirections link = link_of("b-to-a.loss=2% loss=1%  delay=10ms");
  EXPECT_DOUBLE_EQ(link[0].impairment.loss, 0.01);
  EXPECT_DOUBLE_EQ(link[1].impairment.loss, 0.02);
  for (const DirectionOptions& each : link) {
    EXPECT_EQ(each.impairment.delay, Duration::from_ms(10));
  }
}

TEST(LinkChange, leaves_everything_else_as_it_was) {
  const BothDirections before = link_of("rtt=20ms rate=500Mbit/s loss=1%");
  const auto after = changed(before, "a-to-b.loss=0%");
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[0].impairment.loss, 0);
  EXPECT_DOUBLE_EQ((*after)[1].impairment.loss, 0.01);
  EXPECT_EQ((*after)[0].impairment.delay, Duration::from_ms(10));
  EXPECT_EQ((*after)[0].impairment.rate, Rate::from_mbps(500));
  EXPECT_EQ((*after)[0].impairment.queue_time, before[0].impairment.queue_time);
}

TEST(LinkChange, an_option_without_a_value_is_taken_back) {
  const auto after = changed(link_of("gilbert=8,1% delay=1ms"), "gilbert=");
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[0].impairment.gilbert_elliott.mean_loss(), 0);
  EXPECT_EQ(settings_of(*after), "a-to-b.delay=1ms\nb-to-a.delay=1ms\n");
}

TEST(LinkChange, the_text_of_a_link_makes_it_again) {
  const BothDirections link = link_of("rtt=3ms loss=1% b-to-a.jitter=2ms,1ms,reorders");
  EXPECT_EQ(settings_of(link_of(settings_of(link))), settings_of(link));
}

TEST(LinkChange, names_what_cannot_be) {
  EXPECT_NE(mistake_of("loss").find("\"loss\" is not of the form"), std::string::npos);
  EXPECT_NE(mistake_of("--loss=1%").find("no option \"--loss\""), std::string::npos);
  EXPECT_NE(mistake_of("a-to-b.rtt=1ms").find("no option \"rtt\""), std::string::npos);
  EXPECT_NE(mistake_of("rtt=soon").find("rtt: "), std::string::npos);
  EXPECT_NE(mistake_of("delay=1ms loss=200%").find("--loss: "), std::string::npos);
  EXPECT_NE(mistake_of("queue=1ms").find("need --rate"), std::string::npos);
}

// ---- control socket ----

class Control : public testing::Test {
 protected:
  ~Control() override { std::filesystem::remove(path_); }

  ControlSocket open() {
    auto opened = ControlSocket::open(path_);
    if (!opened) throw std::runtime_error(opened.error().sentence);
    return std::move(*opened);
  }
  /// Answers `count` lines with what `answer` makes of them.
  static void serve(ControlSocket& socket, int count, auto answer) {
    while (count > 0) {
      const auto line = socket.try_receive();
      if (!line) {
        std::this_thread::yield();
        continue;
      }
      socket.answer(answer(*line));
      --count;
    }
  }
  int client() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    return fd;
  }

  std::string path_ = testing::TempDir() + "control_" + std::to_string(getpid());
};

TEST_F(Control, a_line_is_asked_and_answered) {
  ControlSocket socket = open();
  std::thread server([&] {
    serve(socket, 2, [](const std::string& line) {
      return line == "loss=1%" ? std::string("ok\n") : "error: not " + line + "\n";
    });
  });
  const auto taken = ask(path_, "loss=1%");
  const auto refused = ask(path_, "loss=7");
  server.join();
  ASSERT_TRUE(taken) << taken.error().sentence;
  EXPECT_EQ(*taken, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence, path_ + ": not loss=7");
}

TEST_F(Control, what_stands_before_ok_is_what_was_asked_for) {
  ControlSocket socket = open();
  std::thread server(
      [&] { serve(socket, 1, [](const std::string&) { return "a=1\nb=2\nok\n"; }); });
  const auto shown = ask(path_, "");
  server.join();
  ASSERT_TRUE(shown) << shown.error().sentence;
  EXPECT_EQ(*shown, "a=1\nb=2\n");
}

TEST_F(Control, lines_come_in_pieces_and_several_at_once) {
  ControlSocket socket = open();
  const int fd = client();
  EXPECT_EQ(write(fd, "lo", 2), 2);
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  EXPECT_EQ(write(fd, "ss=1%\ndelay=1ms\n", 16), 16);
  EXPECT_EQ(socket.try_receive(), "loss=1%");
  EXPECT_EQ(socket.try_receive(), "delay=1ms");
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  close(fd);
}

TEST_F(Control, the_next_is_served_when_one_has_hung_up_or_said_too_much) {
  ControlSocket socket = open();
  const int loud = client();
  const std::string noise(3000, 'x');
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(write(loud, noise.data(), noise.size()), 3000);
    EXPECT_EQ(socket.try_receive(), std::nullopt);
  }
  const int gone = client();
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  close(gone);
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  const int fd = client();
  EXPECT_EQ(write(fd, "loss=1%\n", 8), 8);
  EXPECT_EQ(socket.try_receive(), "loss=1%");
  close(fd);
  socket.answer("ok\n");  // nobody is there, and nothing happens
  close(loud);
}

TEST_F(Control, the_file_goes_with_its_link_and_one_that_was_left_is_replaced) {
  { const ControlSocket socket = open(); }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  close(fd);  // as after a crash
  const ControlSocket replaced = open();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Control, says_why_it_cannot_be) {
  const ControlSocket socket = open();
  EXPECT_NE(ControlSocket::open(path_).error().sentence.find("belongs to a link that runs"),
            std::string::npos);
  const std::string file = path_ + "_file";
  std::ofstream(file) << "precious";
  EXPECT_NE(ControlSocket::open(file).error().sentence.find("no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file));
  std::filesystem::remove(file);
  EXPECT_NE(ControlSocket::open(std::string(200, 'x')).error().sentence.find("107 bytes"),
            std::string::npos);
  EXPECT_NE(ask(path_ + "_nobody", "").error().sentence.find("No such file"), std::string::npos);
}

}  // namespace

}  // namespace cw::wan
