// SPDX-License-Identifier: Apache-2.0
// The JSON protocol: what docs/reference/simulator-protocol.md promises, with stand-in chips.
#include "control/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "test/control/talk.h"
#include "wire/pcap_reader.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

TEST(Control, SaysWhatItIs) {
  const auto said = talk(2, {});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0]["event"], "ready");
  EXPECT_EQ(said[0]["chips"], "stand-in");
  EXPECT_EQ(said[0]["tester_ports"], json({"box0.red", "box1.red"}));
  EXPECT_EQ(said[0]["links"].size(), 8u);
  EXPECT_EQ(said[0]["cables"], json({"box0>box1", "box1>box0"}));
}

TEST(Control, EveryCommandHasOneAnswerWithItsId) {
  const auto said = talk(1, {R"({"cmd":"idle","cycles":100,"id":"a"})", R"({"cmd":"status","id":[1]})",
                             R"({"cmd":"quit"})", R"({"cmd":"never read"})"});
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[1]["id"], "a");
  EXPECT_EQ(said[1]["simulation"]["sim_cycles"], 128);
  EXPECT_EQ(said[1]["simulation"]["chips"].size(), 3u);
  EXPECT_EQ(said[2]["id"], json::array({1}));
  EXPECT_EQ(said[3]["cmd"], "quit");
}

TEST(Control, NonsenseIsAnsweredWithASentence) {
  const std::pair<std::string, std::string> cases[] = {
      {"{", "parse error"},
      {"[]", "must be an object"},
      {R"({"id":1})", "needs \"cmd\""},
      {R"({"cmd":"dance"})", "no command \"dance\""},
      {R"({"cmd":"idle","cycle":1})", "unknown field \"cycle\""},
      {R"({"cmd":"idle","cycles":0})", "\"cycles\" must be a whole number from 1"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.green"}]})", "no port \"box0.green\""},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box1.red"}]})", "no port box1.red with 1 box"},
      {R"({"cmd":"trial","streams":[]})", "at least one stream"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.black","load_pct":"x"}]})", "must be a number"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.black","load_pct":101}]})", "at most 100"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.black","flows":{"src_ip":"10.0.0"}}]})",
       "not an IP address"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.black","flows":{"src_ip":"2001:db8::1"}}]})",
       "of one IP version"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"box0.black","dst_mac":"1:2"}]})", "not a MAC"},
      {R"({"cmd":"trial","software_after_us":1,"registers":"live","streams":[{"from":"box0.red","to":"box0.black"}]})",
       "outside its turns software waits"},
      {R"({"cmd":"continue"})", "no command \"continue\""},
      {R"({"cmd":"stop"})", "no command \"stop\""},
      {R"({"cmd":"live"})", "give either \"taps\" or \"replay\""},
      {R"({"cmd":"live","taps":[{"port":"box0.red","device":"x"}],"replay":"x"})", "give either"},
      {R"({"cmd":"live","taps":[]})", "must be a list of at least one"},
      {R"({"cmd":"live","taps":[{"port":"box0.red"}]})", "tap 0 needs \"device\""},
      {R"({"cmd":"live","taps":[{"port":"box0.red","device":"a/b"}]})", "is none that Linux takes"},
      {R"({"cmd":"live","replay":"/nonexistent.pcapng"})", "/nonexistent.pcapng: No such file"},
      {R"({"cmd":"replay","inputs":[{"port":"box0.red","file":"/nonexistent.pcap"}]})", "No such file"},
      {R"({"cmd":"replay","inputs":[{"port":"box0.crypto.inject","file":"x.pcap"}]})",
       "no port \"box0.crypto.inject\""},
      {R"({"cmd":"capture","port":"box0.red","file":"/nonexistent/x.pcapng"})", "cannot write capture"},
      {R"({"cmd":"capture","port":"box0.crypto.punt"})", "no punt stream"},
      {R"({"cmd":"fault","link":"box0.crypto>nowhere","ber":0.1})", "no link"},
      {R"({"cmd":"fault","cable":"box0>box1","loss":0.1})", "no cable"},
      {R"({"cmd":"fault","upset":"box0.inner.rules","row":0,"bit":0})", "no memory \"box0.inner.rules\": the command"},
      {R"({"cmd":"fault","upset":"box1.inner.registers","row":0,"bit":0})", "no memory"},
      {R"({"cmd":"fault","upset":"box0.inner.registers","row":64,"bit":0})",
       "\"row\" must be a whole number from 0 to 63"},
      {R"({"cmd":"fault","upset":"box0.inner.registers","row":0,"bit":32})",
       "\"bit\" must be a whole number from 0 to 31"},
      {R"({"cmd":"fault","upset":"box0.inner.registers","bit":0})", "needs \"row\""},
      {R"({"cmd":"fault","upset":"box0.inner.registers","row":0,"bit":0,"after_us":-1})", "from 0 to 1e9"}};
  std::vector<std::string> lines;
  for (const auto& [line, sentence] : cases) lines.push_back(line);
  const auto said = talk(1, lines);
  ASSERT_EQ(said.size(), lines.size() + 1);
  for (size_t i = 0; i < lines.size(); i++) {
    EXPECT_EQ(said[i + 1]["event"], "error") << lines[i];
    const auto message = said[i + 1]["message"].get<std::string>();
    EXPECT_NE(message.find(std::get<1>(cases[i])), std::string::npos) << lines[i] << ": " << message;
  }
}

TEST(Control, ALiveRunTakesStopAloneAndWhatFollowsWaits) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  const auto said =
      talk(1,
           {R"({"cmd":"live","id":5,"taps":[{"port":"box0.red","device":"name"}]})", R"({"cmd":"idle"})",
            R"({"cmd":"stop","now":1})", R"({"cmd":"stop"})", R"({"cmd":"stop"})", R"({"cmd":"idle","id":6})"},
           1, [&](const std::string& name) { return std::make_unique<FrameDevice>(ends[1], name); });
  close(ends[0]);
  ASSERT_EQ(said.size(), 6u);
  EXPECT_EQ(said[1]["event"], "live");
  EXPECT_EQ(said[1]["id"], 5);
  EXPECT_EQ(said[1]["taps"], json::parse(R"([{"port":"box0.red","device":"name","created":false}])"));
  EXPECT_EQ(said[2]["message"], "a live run takes \"stop\" alone, not \"idle\"");
  EXPECT_EQ(said[3]["message"], "the command: unknown field \"now\"");
  EXPECT_EQ(said[4]["cmd"], "live");
  EXPECT_TRUE(said[4]["quiescent"]);
  EXPECT_EQ(said[4]["simulation"]["sim_cycles"], 0);
  EXPECT_EQ(said[5]["id"], 6);
}

TEST(Control, FaultsCapturesAndTrialsWorkTogether) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-control-" + std::to_string(::getpid()) + ".pcapng");
  const auto said = talk(
      2, {R"({"cmd":"capture","port":"box1.red","direction":"out","file":")" + path + R"("})",
          R"({"cmd":"fault","cable":"box0>box1","loss":0.1})",
          R"({"cmd":"trial","warmup_us":0,"measure_us":10,"streams":[{"id":9,"from":"box0.red","to":"box1.red",)"
          R"("sizes":[{"size":64,"weight":7},{"size":570,"weight":4},{"size":1518}],"load_pct":10.5,"df":true,)"
          R"("flows":{"count":8,"dst_ip_step":256,"order":"random"}}]})",
          R"({"cmd":"fault","clear":true})",
          R"({"cmd":"trial","warmup_us":0,"measure_us":10,"streams":[{"from":"box0.red","to":"box1.red","frames":5}]})",
          R"({"cmd":"status"})"});
  ASSERT_EQ(said.size(), 7u);
  const json& faulty = said[3];
  EXPECT_EQ(faulty["event"], "result");
  EXPECT_FALSE(faulty["passed"]);
  const auto lost = faulty["total"]["lost"].get<int64_t>();
  EXPECT_GT(lost, 0);
  EXPECT_EQ(said[6]["cables"][0]["lost"], lost);
  EXPECT_TRUE(said[5]["passed"]);
  EXPECT_EQ(said[5]["total"]["tx_frames_total"], 5);
  EXPECT_EQ(static_cast<int64_t>(readCapture(path).size()), faulty["total"]["rx_frames"].get<int64_t>() + 5);
  std::filesystem::remove(path);
}

TEST(Control, SoftwareHasItsTurnsInATrial) {
  const std::string streams = R"("streams":[{"from":"box0.red","to":"box1.red","load_pct":20}])";
  const auto said =
      talk(2, {R"({"cmd":"trial","warmup_us":5,"measure_us":20,"software_after_us":6,"id":3,)" + streams + "}",
               R"({"cmd":"continue","at_us":10})", R"({"cmd":"status"})", R"({"cmd":"continue","after_us":-1})", "{",
               R"({"cmd":"continue","at_us":1,"after_us":8})", R"({"cmd":"continue"})"});
  std::vector<int64_t> turns;
  std::vector<std::string> errors;
  std::vector<json> results;
  for (const auto& line : said) {
    if (line["event"] == "turn") turns.push_back(line["cycle"].get<int64_t>());
    if (line["event"] == "error") errors.push_back(line["message"].get<std::string>());
    if (line["event"] == "result") results.push_back(line);
    if (line["event"] != "ready" && results.empty()) EXPECT_EQ(line["id"], 3);
  }
  ASSERT_EQ(turns.size(), 3u);
  // at 6 and 10 us: 1800 and 3000 cycles, to the epoch
  EXPECT_EQ(turns[1] - turns[0], 3008 - 1824);
  EXPECT_EQ(turns[2] - turns[1], 2400);  // 8 us after the second, which took no time
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_NE(errors[0].find("waits for \"continue\" or \"reset\", not \"status\""), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("\"after_us\" must be"), std::string::npos) << errors[1];
  EXPECT_NE(errors[2].find("parse error"), std::string::npos) << errors[2];
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0]["software"]["turns"], 3);
  EXPECT_EQ(results[0]["software"]["sim_us"], 0);
  // Turns that take no time change nothing.
  const auto plain = talk(2, {R"({"cmd":"trial","warmup_us":5,"measure_us":20,)" + streams + "}"});
  EXPECT_FALSE(plain[1].contains("software"));
  EXPECT_EQ(results[0]["streams"], plain[1]["streams"]);
}

TEST(Control, ABoxIsResetInATurn) {
  const std::string streams = R"("streams":[{"from":"box0.red","to":"box1.red","load_pct":20}])";
  const std::string trial = R"({"cmd":"trial","warmup_us":5,"measure_us":40,)" + streams;
  const auto said = talk(2, {trial + R"(,"software_after_us":10})", R"({"cmd":"reset","box":2})", R"({"cmd":"reset"})",
                             R"({"cmd":"continue"})", trial + "}"});
  std::map<std::string, json> events;
  for (const auto& line : said)
    if (line["event"] != "progress") events[line["event"].get<std::string>() + line.value("cmd", "")] = line;
  EXPECT_NE(events["errorcontinue"]["message"].get<std::string>().find("\"box\" must be"), std::string::npos);
  EXPECT_GT(events["resultreset"]["cycle"], events["turn"]["cycle"]);
  // Frames are lost while the chips are in reset and their links down, and only then; the next
  // trial loses none.
  const json after = said.back();
  EXPECT_TRUE(after["passed"]);
  json hit;
  for (const auto& line : said)
    if (line["event"] == "result" && line["cmd"] == "trial" && line != after) hit = line;
  EXPECT_GT(hit["total"]["lost"], 0);
  EXPECT_GT(hit["total"]["rx_frames"], 0);
  EXPECT_LT(hit["total"]["last_loss_ns"], 12'000);
  EXPECT_EQ(hit["total"]["corrupted"], 0);
}

// The result of a trial, without its cost.
json facts(json trial) {
  trial.erase("simulation");
  trial.erase("id");
  return trial;
}

TEST(Control, ABranchLeavesNoTrace) {
  const std::string streams =
      R"("warmup_us":1,"measure_us":10,"streams":[{"from":"box0.red","to":"box1.red","load_pct":20}]})";
  const std::string trial = R"({"cmd":"trial",)" + streams;
  for (int threads : {1, 2}) {
    const auto plain = talk(2, {R"({"cmd":"idle","cycles":100})", trial}, threads);
    const auto said =
        talk(2,
             {R"({"cmd":"idle","cycles":100})", R"({"cmd":"branch","id":1})", trial,
              R"({"cmd":"fault","cable":"box0>box1","loss":0.5})", trial, R"({"cmd":"join","id":2})",
              R"({"cmd":"branch","id":3})", trial, R"({"cmd":"join","id":[4]})", trial, R"({"cmd":"status"})"},
             threads);
    ASSERT_EQ(said.size(), 12u) << threads;
    EXPECT_EQ(said[2], json({{"event", "result"}, {"cmd", "branch"}, {"id", 1}}));
    EXPECT_EQ(said[6], json({{"event", "result"}, {"cmd", "join"}, {"id", 2}}));
    EXPECT_EQ(said[9], json({{"event", "result"}, {"cmd", "join"}, {"id", json::array({4})}}));
    EXPECT_FALSE(said[5]["passed"]);
    EXPECT_TRUE(plain[2]["passed"]);
    for (int same : {3, 8, 10}) EXPECT_EQ(facts(said[same]), facts(plain[2])) << same;
    EXPECT_EQ(said[11]["cables"][0]["lost"], 0);
  }
}

TEST(Control, BranchesAreRefusedWithASentence) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-branch-" + std::to_string(::getpid()) + ".pcapng");
  const auto said = talk(
      1, {R"({"cmd":"join","id":1})", R"({"cmd":"branch","of":2})", R"({"cmd":"branch"})", R"({"cmd":"branch","id":5})",
          R"({"cmd":"join","now":1})", R"({"cmd":"capture","port":"box0.red","file":")" + path + R"("})",
          R"({"cmd":"join"})", R"({"cmd":"join"})", R"({"cmd":"capture","port":"box0.red","file":")" + path + R"("})",
          R"({"cmd":"branch"})", R"({"cmd":"capture","port":"box0.red"})", R"({"cmd":"branch"})", R"({"cmd":"join"})"});
  std::filesystem::remove(path);
  ASSERT_EQ(said.size(), 14u);
  const std::map<size_t, std::string> errors = {{1, "there is no branch to join"}, {2, "unknown field \"of\""},
                                                {4, "a branch has no branches"},   {5, "unknown field \"now\""},
                                                {8, "there is no branch to join"}, {10, "a capture is on"}};
  for (size_t i = 1; i < said.size(); i++) {
    const auto error = errors.find(i);
    EXPECT_EQ(said[i]["event"], error == errors.end() ? "result" : "error") << i;
    if (error != errors.end())
      EXPECT_NE(said[i]["message"].get<std::string>().find(error->second), std::string::npos) << said[i];
  }
}

TEST(Control, WhatEndsABranchForGoodEndsAll) {
  const auto quit = talk(1, {R"({"cmd":"branch"})", R"({"cmd":"quit"})", R"({"cmd":"never read"})"});
  ASSERT_EQ(quit.size(), 3u);
  EXPECT_EQ(quit[2]["cmd"], "quit");
  // the end of the input
  EXPECT_EQ(talk(1, {R"({"cmd":"branch"})", R"({"cmd":"idle"})"}).size(), 3u);
}

}  // namespace
}  // namespace sallyport::sim
