// SPDX-License-Identifier: Apache-2.0
// The JSON protocol of a cluster, with stand-in chips.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/control/talk.h"
#include "test/tester/clusters.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

const char* const kTrial =
    R"({"cmd":"trial","warmup_us":0,"measure_us":20,"streams":[{"from":"near.red","to":"far.red","frame_size":512,"load_pct":20}]})";

TEST(ClusterControl, SaysWhatItIs) {
  const auto said = talk(clusterOf(2), {});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0]["nodes"], 2);
  EXPECT_EQ(said[0]["boxes"], 4);
  EXPECT_EQ(said[0]["tester_ports"], json({"near.red", "far.red"}));
  EXPECT_EQ(said[0]["cables"].size(), 16u);
  EXPECT_EQ(said[0]["cables"][0], "box0.red>switch");
  EXPECT_EQ(said[0]["cables"][15], "switch>box3.black");
}

TEST(ClusterControl, ANodeGoesAndComesBackInsideATrial) {
  const auto said =
      talk(clusterOf(2), {R"({"cmd":"fault","node":1,"down_after_us":5,"down_for_us":5})", kTrial,
                          R"({"cmd":"status"})", R"({"cmd":"fault","node":1})", kTrial, R"({"cmd":"status"})",
                          R"({"cmd":"fault","node":1,"up":true})", kTrial, R"({"cmd":"status"})"});
  ASSERT_EQ(said.size(), 10u);
  const auto cutOff = [&](size_t answer) { return said[answer]["cables"][5]["cut_off"].get<int64_t>(); };
  ASSERT_EQ(said[3]["cables"][5]["name"], "switch>box1.red");
  const auto sent = said[2]["total"]["tx_frames_total"].get<int64_t>();
  EXPECT_NEAR(static_cast<double>(cutOff(3)), static_cast<double>(sent) / 4, 2);
  EXPECT_EQ(cutOff(6) - cutOff(3), said[5]["total"]["tx_frames_total"]);
  EXPECT_EQ(cutOff(9), cutOff(6));
  for (size_t trial : {2, 5, 8}) EXPECT_EQ(said[trial]["total"]["lost_total"], 0);
  EXPECT_EQ(said[2]["switches"][0]["output"], "tester>near");
  EXPECT_EQ(said[2]["switches"][0]["frames"], sent);
  EXPECT_EQ(said[2]["switches"][0]["dropped_queue_full"], 0);
}

TEST(ClusterControl, WhatItDoesNotHaveIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"cmd":"fault","node":4})", "\"node\" must be a whole number from 0 to 3"},
      {R"({"cmd":"fault","node":0,"down_after_us":-1})", "times must be from 0 to 1e9"},
      {R"({"cmd":"fault","cable":"box0>box1"})", "there is no cable"},
      {R"({"cmd":"live","replay":"x.pcapng"})", "a cluster has no live runs"},
      {R"({"cmd":"capture","port":"near.red","file":"x.pcapng"})", "there is no port near.red"},
      {R"({"cmd":"replay","inputs":[{"port":"box0.red","file":"/nonexistent.pcap"}]})", "No such file"},
      {R"({"cmd":"trial","streams":[{"from":"box0.red","to":"far.red"}]})", "its ports are near.red and far.red"}};
  std::vector<std::string> lines;
  for (const auto& [line, sentence] : cases) lines.push_back(line);
  const auto said = talk(clusterOf(2), lines);
  ASSERT_EQ(said.size(), lines.size() + 1);
  for (size_t i = 0; i < cases.size(); i++) {
    EXPECT_EQ(said[i + 1]["event"], "error") << lines[i];
    EXPECT_NE(said[i + 1]["message"].get<std::string>().find(cases[i].second), std::string::npos) << said[i + 1];
  }
  const auto pair = talk(2, {R"({"cmd":"fault","node":0})", kTrial});
  EXPECT_EQ(pair[1]["message"], "a node can be cut off in a cluster alone: start with --nodes");
  EXPECT_EQ(pair[2]["message"], "there is no port near.red with 2 box(es)");
}

}  // namespace
}  // namespace sallyport::sim
