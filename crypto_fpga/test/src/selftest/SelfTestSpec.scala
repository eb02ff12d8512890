// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common.registers.map.CryptoRegs
import sallyport.crypto.chip.{CryptoBench, CryptoEngine, DuplexHarness, LinkPacket, LinkState, Player}
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.{Bytes, SharedModel}

import scala.util.Random

/** The self-test of a chip of two lanes a direction in which faults are planted. */
class SelfTestSpec extends SharedModel[DuplexHarness, SelfTestBench] {
  def bench(dut: DuplexHarness) = new SelfTestBench(dut)
  def model = new DuplexHarness(chip => {
    val engine = Module(new CryptoEngine(SelfTestSpec.config, of => Module(new FaultyLane(of)).io))
    engine.io.redRx <> chip.redRx
    engine.io.blackRx <> chip.blackRx
    chip.redTx <> engine.io.redTx
    chip.blackTx <> engine.io.blackTx
    engine.io.red := 0.U.asTypeOf(new LinkState)
    engine.io.black := 0.U.asTypeOf(new LinkState)
    engine.io.axil <> chip.axil
    engine.io.tamper := chip.tamper
    engine.io.noise := false.B
    engine.io.coreKhz := 300000.U
    chip.ready := engine.io.ready
  })

  subtest("the chip is ready when all lanes have passed, and nothing of the test leaves it") { bench =>
    import bench._
    assert(!ready)
    untilReady()
    assert(runs == 1 && failed == (0, 0))
    info(
      s"2 + 2 lanes of ${SelfTestSpec.config.suites.length} suites: ${software.read(CryptoRegs.selfTestCycles)} cycles"
    )
    assert(encrypt.receive().isEmpty && decrypt.receive().isEmpty)
    assert(counts().isEmpty)
    configure()
    passes()
  }

  subtest("a run on command under traffic loses, changes and reorders nothing") { bench =>
    import bench._
    untilReady()
    configure()
    val (plain, esp) = traffic(150)
    encrypt.send(plain, gap = 12, hold = true)
    decrypt.send(esp, gap = 12, hold = true)
    encrypt.release()
    decrypt.release()
    command()
    assert(running)
    encrypt.settle(3000)
    decrypt.settle(3000)
    assert(encrypt.receive().map(_.bytes) == esp.map(_.bytes))
    assert(decrypt.receive().map(_.bytes) == plain.map(_.bytes))
    assert(counts() == Map(
      "red_rx_packets" -> 150,
      "black_tx_packets" -> 150,
      "black_rx_packets" -> 150,
      "red_tx_packets" -> 150
    ))
    untilDone()
    assert(runs == 2 && failed == (0, 0))
  }

  for (fault <- Seq(Fault.key, Fault.auth, Fault.text, Fault.verdict))
    subtest(s"a lane with the fault `$fault` leaves service, the other goes on, and once mended it returns") { bench =>
      import bench._
      untilReady()
      configure()
      plant(encrypt, fault)
      plant(decrypt, fault)
      command()
      untilDone()
      val (enc, dec) = failed
      // A lane that finds every packet good encrypts as well as any.
      assert(Integer.bitCount(enc) == (if (fault == Fault.verdict) 0 else 1) && Integer.bitCount(dec) == 1)
      counts()
      passes()

      // Erasing the keys mends it.
      control(zeroize = 1)
      untilReady()
      command()
      untilDone()
      assert(failed == (0, 0))
      configure()
      passes()
    }

  for (fault <- Seq(Fault.mute, Fault.deaf, Fault.mean))
    subtest(s"a lane with the fault `$fault` loses its packets under a name, and the last one closes the path") {
      bench =>
        import bench._
        untilReady()
        configure()
        control(bypassEncrypt = 1)
        for (broken <- 1 to 2) {
          plant(encrypt, fault)
          encrypt.send(Seq.fill(20)(red(50)), gap = 12)
          encrypt.settle(4 * SelfTestSpec.hangCycles)
          assert(Integer.bitCount(failed._1) == broken && failed._2 == 0)
          encrypt.receive()
          val lost = counts()
          assert(lost("red_rx_packets") == 21 && lost("drop_enc_self_test") > 0)
          if (broken == 1) passes()
        }
        // All, and what would cross in clear too; the other path goes on.
        val clear = red(60).copy(meta = red(60).meta.copy(bypass = true))
        assert(exchange(encrypt, Seq(red(80), clear)).isEmpty)
        assert(counts() == Map("red_rx_packets" -> 2, "drop_enc_self_test" -> 2))
        val (plain, esp) = traffic(5)
        assert(exchange(decrypt, esp).map(_.bytes) == plain.map(_.bytes))
        counts()
        // A lane that has hung stays out.
        command()
        untilDone()
        assert(failed == (3, 0))
    }

  subtest("an erasure of the keys in a run ends as any, and the run finds the lanes right") { bench =>
    import bench._
    untilReady()
    for (wait <- Seq(0, 40, 170, 600, 1100)) {
      command()
      dut.clock.step(wait)
      control(zeroize = 1)
      assert(!ready)
      untilReady()
      pulse()
      untilReady()
      untilDone()
      assert(failed == (0, 0), s"erased $wait cycles after the command")
    }
    configure()
    passes()
  }
}

object SelfTestSpec {
  val hangCycles = 2048
  val config: CryptoConfig = CryptoConfig(
    saBits = 4,
    lanes = 2,
    suites = Seq("aes256gcm16", "aes256-sha256").map(Suite.named),
    slots = 32,
    laneBeats = 512,
    selfTest = Some(SelfTestConfig(hangCycles))
  )
}

/** A [[CryptoBench]] with the registers of the self-test, an SA, and packets for it. */
class SelfTestBench(dut: DuplexHarness) extends CryptoBench(dut) {
  // Not inherited: the spec imports this bench.
  private object Api extends PeekPokeAPI
  import Api._

  private val random = new Random(7)
  private val keys =
    SaKeys(EspKeys.random(random, Suite.named("aes256gcm16")), 0x7001, esn = true, icv = KnownAnswer.icv)
  private var sequence = 0

  def configure(): Unit = {
    control()
    outbound(1, keys.outbound())
    inbound(1, keys.inbound)
    sequence = 0
  }
  def command(): Unit = {
    software.write(CryptoRegs.selfTestControl, CryptoRegs.SelfTestControl.run.put(1))
    dut.clock.step(4)
  }
  def running: Boolean = CryptoRegs.SelfTestStatus.running(software.read(CryptoRegs.selfTestStatus)) == 1
  def runs: Int = CryptoRegs.SelfTestStatus.runs(software.read(CryptoRegs.selfTestStatus)).toInt
  def untilDone(): Unit = {
    var left = 4000
    while (running) {
      left -= 1
      assert(left > 0, "the self-test does not end")
    }
  }

  /** Lanes out of service: encrypt, decrypt. */
  def failed: (Int, Int) = {
    val word = software.read(CryptoRegs.selfTestFailed)
    (CryptoRegs.SelfTestFailed.encrypt(word).toInt, CryptoRegs.SelfTestFailed.decrypt(word).toInt)
  }

  def red(length: Int, tos: Int = 0): LinkPacket =
    LinkPacket(Bytes.random(random, length).toSeq, LinkMetaValue(length, 1, tos = tos))

  /** Payloads, and what Bouncy Castle makes of each with the next number of the SA. */
  def traffic(count: Int, tos: Int = 0): (Seq[LinkPacket], Seq[LinkPacket]) = Seq.fill(count) {
    sequence += 1
    val plain = red(1 + random.nextInt(300), tos)
    val job = EspJob(keys.keys, keys.icv, keys.spi, esn = true, sequence, sequence, Seq(), 4, 1, 0)
    val esp = job.seal(job.text(plain.bytes))
    (plain.copy(meta = plain.meta.copy(nextHeader = 4)), LinkPacket(esp, LinkMetaValue(esp.length, 1, tos = tos)))
  }.unzip

  /** Packets that plant the fault in the lane that they enter, one of a path. */
  def plant(player: Player, fault: Fault.Value): Unit = {
    val (plain, esp) = traffic(1, Fault.tos(fault))
    player.send(if (player eq encrypt) plain else esp)
    player.settle(if (Seq(Fault.mute, Fault.deaf, Fault.mean).contains(fault)) 10 else 600)
    player.receive()
  }

  /** All of some packets get through, each with its right bytes. */
  def passes(): Unit = {
    sequence = number(1).toInt
    val (plain, esp) = traffic(30)
    assert(exchange(encrypt, plain).map(_.bytes) == esp.map(_.bytes))
    assert(exchange(decrypt, esp).map(_.bytes) == plain.map(_.bytes))
    assert(counts().keySet.subsetOf(Set("red_rx_packets", "black_tx_packets", "black_rx_packets", "red_tx_packets")))
  }
}
