// SPDX-License-Identifier: Apache-2.0
#include "control/requests.h"

#include <arpa/inet.h>

#include <cmath>
#include <cstdio>

namespace sallyport::sim {

namespace {

using nlohmann::json;

int64_t parseLoad(Fields& fields) {
  if (!fields.has("load_pct")) return 100'000'000;
  const json& value = fields.at("load_pct");
  if (!value.is_number())
    throw std::invalid_argument(fields.where() + ": \"load_pct\" must be a number, not " + value.dump());
  const double percent = value.get<double>();
  if (!(percent > 0 && percent <= 100))
    throw std::invalid_argument(fields.where() + ": \"load_pct\" must be above 0 and at most 100, not " + value.dump());
  return std::llround(percent * 1e6);
}

Cycle parseCycles(Fields& fields, const char* key, double otherwiseUs) {
  const double us = fields.get<double>(key, otherwiseUs);
  if (!(us >= 0 && us <= 1e9)) throw std::invalid_argument(fields.where() + ": \"" + key + "\" must be 0 to 1e9");
  return microsecondsToCycles(us);
}

IpAddress parseIp(Fields& fields, const char* key, const IpAddress& otherwise) {
  if (!fields.has(key)) return otherwise;
  const auto text = fields.need<std::string>(key);
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  throw std::invalid_argument(fields.where() + ": \"" + key + "\" is not an IP address: " + text);
}

void parseMac(Fields& fields, const char* key, std::array<uint8_t, 6>& mac) {
  if (!fields.has(key)) return;
  const auto text = fields.need<std::string>(key);
  unsigned byte[6];
  char rest;
  if (sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &byte[0], &byte[1], &byte[2], &byte[3], &byte[4], &byte[5],
             &rest) != 6)
    throw std::invalid_argument(fields.where() + ": \"" + key + "\" is not a MAC address: " + text);
  for (int i = 0; i < 6; i++) mac[i] = static_cast<uint8_t>(byte[i]);
}

FlowSpec parseFlows(const json& object, const std::string& where) {
  Fields fields(object, where + ".flows");
  FlowSpec flow;
  flow.count = static_cast<uint32_t>(fields.whole("count", 1, 1, 1 << 24));
  const auto order = fields.get<std::string>("order", "round-robin");
  if (order != "round-robin" && order != "random")
    throw std::invalid_argument(fields.where() + ": \"order\" must be round-robin or random, not " + order);
  flow.random = order == "random";
  flow.srcIp = parseIp(fields, "src_ip", flow.srcIp);
  flow.dstIp = parseIp(fields, "dst_ip", flow.dstIp);
  if (flow.srcIp.v6 != flow.dstIp.v6)
    throw std::invalid_argument(fields.where() + ": \"src_ip\" and \"dst_ip\" must be of one IP version");
  flow.srcIpStep = static_cast<uint32_t>(fields.whole("src_ip_step", 0, 0, UINT32_MAX));
  flow.dstIpStep = static_cast<uint32_t>(fields.whole("dst_ip_step", 0, 0, UINT32_MAX));
  flow.srcPort = static_cast<uint16_t>(fields.whole("src_port", flow.srcPort, 0, 65535));
  flow.dstPort = static_cast<uint16_t>(fields.whole("dst_port", flow.dstPort, 0, 65535));
  flow.srcPortStep = static_cast<uint16_t>(fields.whole("src_port_step", flow.srcPortStep, 0, 65535));
  flow.dstPortStep = static_cast<uint16_t>(fields.whole("dst_port_step", flow.dstPortStep, 0, 65535));
  fields.end();
  return flow;
}

std::vector<uint16_t> parseSizes(Fields& fields) {
  if (!fields.has("sizes")) return {static_cast<uint16_t>(fields.whole("frame_size", 64, kMinFrameBytes, 16384))};
  std::vector<std::pair<uint16_t, uint32_t>> weighted;
  for (const auto& entry : fields.at("sizes")) {
    Fields size(entry, fields.where() + ".sizes");
    size.need<int>("size");
    weighted.emplace_back(static_cast<uint16_t>(size.whole("size", 0, kMinFrameBytes, 16384)),
                          static_cast<uint32_t>(size.whole("weight", 1, 1, 10000)));
    size.end();
  }
  if (weighted.empty()) throw std::invalid_argument(fields.where() + ": \"sizes\" is empty");
  return spreadSizes(weighted);
}

StreamSpec parseStream(const json& object, uint16_t number, uint64_t seed) {
  Fields fields(object, "stream " + std::to_string(number));
  StreamSpec stream;
  stream.id = static_cast<uint16_t>(fields.whole("id", number, 0, 65535));
  stream.from = parsePort(fields.need<std::string>("from"));
  stream.to = parsePort(fields.need<std::string>("to"));
  const bool fromFile = fields.has("file");
  const auto expect = fields.get<std::string>("expect", fromFile ? "count" : "signature");
  if (expect == "signature")
    stream.expect = StreamSpec::Expect::kSignature;
  else if (expect == "esp")
    stream.expect = StreamSpec::Expect::kEsp;
  else if (expect == "count")
    stream.expect = StreamSpec::Expect::kCount;
  else
    throw std::invalid_argument(fields.where() + ": \"expect\" must be signature, esp or count, not " + expect);
  stream.loadMicroPercent = parseLoad(fields);
  stream.sizes = parseSizes(fields);
  if (fields.has("flows")) stream.flow = parseFlows(fields.at("flows"), fields.where());
  parseMac(fields, "src_mac", stream.srcMac);
  parseMac(fields, "dst_mac", stream.dstMac);
  stream.tos = static_cast<uint8_t>(fields.whole("tos", 0, 0, 255));
  stream.ttl = static_cast<uint8_t>(fields.whole("ttl", 64, 0, 255));
  stream.dontFragment = fields.get<bool>("df", false);
  stream.bridged = fields.get<bool>("bridged", false);
  stream.seed = seed;
  if (fromFile) stream.capture = readCapture(fields.need<std::string>("file"));
  stream.badFcsEvery = fields.whole("bad_fcs_every", 0, 0, INT64_MAX);
  stream.frames = fields.whole("frames", -1, 1, INT64_MAX);
  stream.from_tick = parseCycles(fields, "start_us", 0) * coreClock.ticksPerCycle;
  if (fields.has("stop_us")) stream.to_tick = parseCycles(fields, "stop_us", 0) * coreClock.ticksPerCycle;
  fields.end();
  return stream;
}

// A port, or an inject stream.
PortName parseReplayPort(const std::string& text) {
  for (int box = 0; box < 2 * Cluster::kMostNodes; box++)
    for (const char* side : {"inner.inject", "outer.inject", kEncryptStream})
      if (PortName{box, side}.text() == text) return {box, side};
  return parsePort(text);
}

}  // namespace

PortName parsePort(const std::string& text) {
  if (text == "near.red" || text == "far.red") return {PortName::kSwitch, text};
  for (int box = 0; box < 2 * Cluster::kMostNodes; box++)
    for (const char* side : {"red", "black"})
      if (PortName{box, side}.text() == text) return {box, side};
  throw std::invalid_argument("there is no port \"" + text +
                              "\"; ports are box0.red, box0.black, box1.red, box1.black");
}

TrialSpec parseTrial(Fields& fields, uint64_t seed) {
  TrialSpec trial;
  trial.warmup = parseCycles(fields, "warmup_us", 50);
  trial.measure = parseCycles(fields, "measure_us", 200);
  trial.drainLimit = parseCycles(fields, "drain_us", 1000);
  if (fields.has("software_after_us")) trial.firstTurn = parseCycles(fields, "software_after_us", 0);
  trial.growthLimitNs = fields.get<double>("growth_limit_ns", trial.growthLimitNs);
  seed = fields.get<uint64_t>("seed", seed);
  const json& streams = fields.at("streams");
  if (!streams.is_array()) throw std::invalid_argument("trial: \"streams\" must be a list");
  for (const auto& stream : streams)
    trial.streams.push_back(parseStream(stream, static_cast<uint16_t>(trial.streams.size()), seed));
  return trial;
}

NextTurn parseContinue(Fields& fields) {
  NextTurn next;
  if (fields.has("at_us")) next.at = parseCycles(fields, "at_us", 0);
  next.after = parseCycles(fields, "after_us", 0);
  return next;
}

ReplaySpec parseReplay(Fields& fields) {
  ReplaySpec replay;
  const json& inputs = fields.at("inputs");
  if (!inputs.is_array()) throw std::invalid_argument("replay: \"inputs\" must be a list");
  for (const auto& object : inputs) {
    Fields input(object, "replay input " + std::to_string(replay.inputs.size()));
    ReplayInput parsed;
    parsed.port = parseReplayPort(input.need<std::string>("port"));
    parsed.frames = readCapture(input.need<std::string>("file"));
    const auto pacing = input.get<std::string>("pacing", "line-rate");
    if (pacing != "line-rate" && pacing != "original")
      throw std::invalid_argument(input.where() + ": \"pacing\" must be line-rate or original, not " + pacing);
    parsed.original = pacing == "original";
    if (input.has("max_gap_us")) parsed.maxGap = parseCycles(input, "max_gap_us", 0) * coreClock.ticksPerCycle;
    parsed.loadMicroPercent = parseLoad(input);
    parsed.pad = input.get<bool>("pad", !parsed.port.isInject());
    parsed.badFcs = input.get<std::vector<int64_t>>("bad_fcs", {});
    if (parsed.port.isInject() && !parsed.badFcs.empty())
      throw std::invalid_argument(input.where() + ": an injected frame has no FCS that \"bad_fcs\" could damage");
    input.end();
    replay.inputs.push_back(std::move(parsed));
  }
  replay.quiet = fields.whole("quiet_cycles", replay.quiet, 1, 1'000'000'000);
  replay.limit = fields.whole("limit_cycles", replay.limit, 1, INT64_MAX / coreClock.ticksPerCycle / 4);
  return replay;
}

LiveSpec parseLive(Fields& fields, const std::function<std::unique_ptr<FrameDevice>(const std::string&)>& open) {
  LiveSpec live;
  live.quiet = fields.whole("quiet_cycles", live.quiet, 1, 1'000'000'000);
  live.record = fields.get<std::string>("record", "");
  live.replayPath = fields.get<std::string>("replay", "");
  if (fields.has("taps") == !live.replayPath.empty())
    throw std::invalid_argument("live: give either \"taps\" or \"replay\"");
  if (!live.replayPath.empty()) {
    live.replay = readPcapng(live.replayPath);
    return live;
  }
  const json& taps = fields.at("taps");
  if (!taps.is_array() || taps.empty()) throw std::invalid_argument("live: \"taps\" must be a list of at least one");
  std::vector<std::pair<PortName, std::string>> wanted;
  for (const auto& object : taps) {
    Fields tap(object, "tap " + std::to_string(wanted.size()));
    wanted.emplace_back(parsePort(tap.need<std::string>("port")), tap.need<std::string>("device"));
    tap.end();
  }
  for (const auto& [port, device] : wanted) live.taps.push_back({port, open(device)});
  return live;
}

}  // namespace sallyport::sim
