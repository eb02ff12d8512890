// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.CryptoRegs
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.chip.LinkPacket
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.Bytes

import scala.util.Random

/**
 * Whatever the neighbours send and whenever software writes new keys or raises counters: no (key,
 * IV) pair leaves twice, and no number beyond its limit.
 *
 * `SALLYPORT_NONCE_PACKETS`: packets that leave under a key (default 2500; the long form
 * has 100000).
 */
class NonceSpec extends AnyFunSuite with CompiledOnce {
  override def brief = false

  private val packets = sys.env.getOrElse("SALLYPORT_NONCE_PACKETS", "2500").toInt
  private val suites = Seq("aes128gcm16", "aes256gcm16", "aes256gmac").map(Suite.named)
  private val config =
    CryptoConfig(saBits = 4, lanes = 2, suites = suites, slots = 32, laneBeats = 512, linkBeats = 256)

  test(
    "the judge finds an IV used twice, a number out of order or beyond its limit, and a row that is no longer in force"
  ) {
    val random = new Random(3)
    def row(limit: Int, nodeBits: Int = 0, node: Int = 0) =
      Generation(SaKeys(EspKeys.random(random, suites.head), 0x77), BigInt(64, random), 0, limit, nodeBits, node)
    def packet(row: Generation, number: Int): LinkPacket = {
      val keys = row.keys
      val iv = (row.ivMask ^ number).toLong
      val job = EspJob(keys.keys, keys.icv, keys.spi, keys.esn, number, iv, Nil, 4, 5, 0)
      val bytes = job.seal(job.text(Bytes.random(random, 30).toSeq))
      LinkPacket(bytes, LinkMetaValue(bytes.length, 5))
    }
    def refusal(judge: NonceJudge, packet: LinkPacket) = intercept[AssertionError](judge.judge(packet)).getMessage
    val (first, second) = (row(4), row(0))
    val judge = new NonceJudge
    judge.writes(5, first)
    judge.writes(5, second)
    for (number <- Seq(1, 3)) judge.judge(packet(first, number))
    assert(refusal(judge, packet(first, 3)).contains("used twice"))
    assert(refusal(judge, packet(first, 2)).contains("number 2 after 3"))
    assert(refusal(judge, packet(first, 5)).contains("beyond the limit 4"))
    judge.judge(packet(second, 1))
    assert(refusal(judge, packet(first, 4)).contains("none of its rows"))
    val shared = row(0, nodeBits = 3, node = 5)
    judge.writes(5, shared)
    judge.judge(packet(shared, 13))
    assert(refusal(judge, packet(shared, 20)).contains("of another node than 5"))
    assert(judge.generations == 3)
  }

  test("no IV is used twice with a key, whatever comes over the links and whenever rows are written") {
    simulate(new NonceHarness(config)) { dut =>
      val run = new NonceRun(dut, suites, config.saBits, new Random(0x4106))
      while (run.judge.packets < packets) run.round()
      run.end()
      val counts = run.chip.counts()
      info(
        s"${run.sent} packets sent, ${run.forged} headers forged and ${run.damaged} words damaged; " +
          s"${run.judge.packets} packets left under ${run.judge.generations} keys, ${run.bypassed} in bypass; " +
          s"${run.judge.ended} keys were seen to their limit, ${run.judge.jumps} numbers behind a raise"
      )
      info(counts.toSeq.sorted.map { case (name, count) => s"$name $count" }.mkString(", "))
      assert(counts("black_tx_packets") == run.judge.packets + run.bypassed, "every packet that left was judged")
      // What the stimuli are meant to reach.
      val reached = Seq("not_ready", "no_key", "bypass_denied", "sequence_exhausted", "oversize").map("drop_enc_" + _)
      for (name <- reached ++ Seq("red_rx_lost", "red_resyncs", "drop_dec_icv")) assert(counts.contains(name), name)
      assert(run.judge.ended > 0 && run.judge.jumps > 0)
      val events = run.chip.software.read(CryptoRegs.sequenceEvents)
      assert(CryptoRegs.SequenceEvents.softLimit(events) == 1 && CryptoRegs.SequenceEvents.exhausted(events) == 1)
    }
  }
}
