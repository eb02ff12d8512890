// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import chisel3.util.random.LFSR
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.{FakeLane, LinkMetaValue}
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.noise.NoiseConfig
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.SharedModel

import scala.util.Random

/**
 * A [[CryptoEngine]] around stand-in lanes: all specs of the chip's own decisions have
 * this model.
 */
object EngineModel {
  val config: CryptoConfig =
    CryptoConfig(saBits = 4, laneBeats = 512, noise = NoiseConfig(entropy = 0.4, sampleCycles = 4), selfTest = None)

  def apply(): DuplexHarness = new DuplexHarness(chip => {
    val engine = Module(new CryptoEngine(config, c => Module(new FakeLane(c)).io))
    engine.io.redRx <> chip.redRx
    engine.io.blackRx <> chip.blackRx
    chip.redTx <> engine.io.redTx
    chip.blackTx <> engine.io.blackTx
    engine.io.red := 0.U.asTypeOf(new LinkState)
    engine.io.black := 0.U.asTypeOf(new LinkState)
    engine.io.axil <> chip.axil
    engine.io.tamper := chip.tamper
    engine.io.noise := LFSR(16)(0)
    engine.io.coreKhz := 300000.U
    chip.ready := engine.io.ready
  })
}

/**
 * A spec of the chip's own decisions (keys, numbers, guards, zeroize, counters), driven through
 * AXI4-Lite.
 */
trait EngineSpec extends SharedModel[DuplexHarness, EngineBench] {
  def model: DuplexHarness = EngineModel()
  override def simulateModel(stimulus: DuplexHarness => Unit): Unit = simulateShared(EngineModel)(model)(stimulus)
  def bench(dut: DuplexHarness) = new EngineBench(dut)

  /** What a stand-in lane makes of a packet. */
  def xored(bytes: Seq[Byte], key: Int): Seq[Byte] = bytes.map(b => (b ^ key).toByte)
}

/** A [[CryptoBench]] with packets that stand-in lanes understand. */
class EngineBench(dut: DuplexHarness) extends CryptoBench(dut) {
  val random = new Random(11)

  def keys(spi: Long, keyByte: Int): SaKeys = {
    val key = new Array[Byte](32)
    random.nextBytes(key)
    key(0) = keyByte.toByte
    SaKeys(EspKeys(Suite.named("aes256gcm16"), key.toSeq, Seq[Byte](1, 2, 3, 4), Seq()), spi, esn = true, window = 64)
  }

  /** A red packet that a stand-in lane takes as good. */
  def red(sa: Int, length: Int = 46, bypass: Boolean = false, delay: Int = 0): LinkPacket = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    bytes(0) = 0x45
    if (length > 1) bytes(1) = delay.toByte
    LinkPacket(bytes.toSeq, LinkMetaValue(length, sa, bypass = bypass, df = true, tos = 0xb8))
  }

  /**
   * A black packet: SPI, low sequence number, rest. The highest byte of the SPI is the stand-in
   * lane's verdict.
   */
  def black(sa: Int, spi: Long, low: Long, length: Int = 80, bypass: Boolean = false): LinkPacket = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    val head = (BigInt(spi) << 32) | low
    for (i <- 0 until 8 if i < length) bytes(i) = (head >> (56 - 8 * i)).toByte
    LinkPacket(bytes.toSeq, LinkMetaValue(length, sa, bypass = bypass, tos = 1))
  }
}
