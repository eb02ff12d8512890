// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.keys.EspKeys
import sallyport.crypto.suite.{AuthKind, Suite}
import sallyport.crypto.support.{Bytes, Wycheproof}

/**
 * The engine with a memory in place of ESP: associated data in rows 0 to 63, text from row
 * 64 on.
 */
private class EngineHarness(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(new Bundle { val row = UInt(7.W); val block = UInt(128.W) }))
    val icv = Input(UInt(128.W))
    val load = Flipped(Valid(new LaneLoad(config)))
    val start = Flipped(Valid(new LaneStart(config)))
    val textBytes = Input(UInt(LaneOp.lengthBits.W))
    val wipe = Input(Bool())
    val done = Valid(new LaneDone(config))
    val row = Input(UInt(6.W))
    val block = Output(UInt(128.W))
    val blocks = Output(UInt(8.W))
  })
  private val engine = Module(new LaneEngine(config))
  private val memory = Mem(128, UInt(128.W))
  private val results = Mem(64, UInt(128.W))
  private val blocks = RegInit(0.U(8.W))

  when(io.write.valid) { memory(io.write.bits.row) := io.write.bits.block }
  private val step = engine.io.fetch.bits.step
  private val row = Cat(step.text, engine.io.fetch.bits.index(5, 0))
  engine.io.data := ShiftRegister(Mux(step.end, io.icv, memory(row)), BlockFetch.cycles)
  engine.io.load := io.load
  engine.io.start := io.start
  engine.io.length.valid := io.start.valid
  engine.io.length.bits.slot := io.start.bits.slot
  engine.io.length.bits.textBytes := io.textBytes
  engine.io.entered := 0.U
  engine.io.wipe := io.wipe
  engine.io.headRest := 0.U
  engine.io.grown.valid := false.B
  engine.io.grown.bits := DontCare
  engine.io.beat := 0.U
  when(io.start.valid) { blocks := 0.U }
  when(engine.io.text.valid) {
    results(engine.io.text.bits.op.index) := engine.io.text.bits.block
    blocks := blocks + 1.U
  }
  io.done := engine.io.done
  io.block := results(io.row)
  io.blocks := blocks
}

/** AES-GCM, SM4-GCM and GMAC with associated data of any length: more than ESP ever asks for. */
class LaneEngineSpec extends AnyFunSuite with CompiledOnce {
  private val suites = Suite.all.filter(_.auth == AuthKind.Ghash)
  private def config(encrypt: Boolean) = LaneConfig(encrypt, suites, slots = 32, bufferBeats = 512)

  /** A case and the suite it belongs to. */
  private case class Trial(suite: Suite, c: Wycheproof.Case)

  private def trials(): Seq[Trial] = {
    def load(file: String) = Wycheproof.load(file).getOrElse(cancel(Wycheproof.absent)).filter(_.iv.length == 12)
    def aes(c: Wycheproof.Case) = Suite.named(s"aes${8 * c.key.length}gcm16")
    val gcm = load("aes_gcm.json").map(c => Trial(aes(c), c))
    val sm4 = load("sm4_gcm.json").map(Trial(Suite.named("sm4gcm16"), _))
    val gmac = load("aes_gmac.json").map(c => Trial(aes(c), c.copy(aad = c.msg, msg = Array(), ct = Array())))
    assert(
      gcm.size == 98 && sm4.size == 32 && gmac.size == 102,
      "the files hold other cases than this test was written for"
    )
    gcm ++ sm4 ++ gmac
  }

  private class Bench(dut: EngineHarness) {
    dut.io.write.valid.poke(false)
    dut.io.load.valid.poke(false)
    dut.io.start.valid.poke(false)
    dut.io.start.bits.icv.poke(1)
    dut.io.start.bits.esn.poke(false)
    dut.io.wipe.poke(false)
    dut.reset.poke(true)
    dut.clock.step(2)
    dut.reset.poke(false)

    private def store(base: Int, bytes: Array[Byte]): Unit =
      for ((block, i) <- bytes.grouped(16).zipWithIndex) {
        dut.io.write.valid.poke(true)
        dut.io.write.bits.row.poke(base + i)
        dut.io.write.bits.block.poke(Bytes.toBigInt(block))
        dut.clock.step()
      }

    private def start(suite: Suite, slot: Int, aad: Int, text: Int): Unit = {
      dut.io.start.valid.poke(true)
      dut.io.start.bits.slot.poke(slot)
      dut.io.start.bits.suite.poke(suite.number)
      dut.io.start.bits.aadBytes.poke(aad)
      dut.io.textBytes.poke(text)
      dut.clock.step()
      dut.io.start.valid.poke(false)
      dut.clock.stepUntil(dut.io.done.valid, 1, 600)
      dut.io.done.valid.expect(true)
      dut.io.done.bits.slot.expect(slot)
    }
    private def result(text: Int): Array[Byte] = (0 until (text + 15) / 16).flatMap { i =>
      dut.io.row.poke(i)
      Bytes.fromBigInt(dut.io.block.peekValue().asBigInt, 16)
    }.toArray
    private def tag: String = Bytes.toHex(Bytes.fromBigInt(dut.io.done.bits.tag.peekValue().asBigInt, 16))

    /** Runs one packet; the text that came out, the tag, and whether the tag received was right. */
    def run(slot: Int, trial: Trial, text: Array[Byte]): (String, String, Boolean) = {
      val c = trial.c
      store(0, if (c.aad.isEmpty) new Array[Byte](16) else c.aad)
      store(64, text ++ Array.fill[Byte](16)(0x5a)) // what follows the text must not matter
      dut.io.write.valid.poke(false)
      dut.io.icv.poke(Bytes.toBigInt(c.tag))
      dut.io.load.valid.poke(true)
      dut.io.load.bits.slot.poke(slot)
      dut.io.load.bits.key.poke(Bytes.toBigInt(c.key))
      dut.io.load.bits.nonce.poke(Bytes.toBigInt(c.iv))
      val keys = EspKeys(trial.suite, c.key.toSeq, Seq(), Seq())
      dut.io.load.bits.auth.poke(Bytes.toBigInt(keys.rowAuth))
      dut.clock.step()
      dut.io.load.valid.poke(false)
      start(trial.suite, slot, c.aad.length, text.length)
      val bytes = result(text.length)
      dut.io.blocks.expect((text.length + 15) / 16)
      assert(bytes.drop(text.length).forall(_ == 0), "bytes beyond the text are zero")
      val found = (Bytes.toHex(bytes.take(text.length)), tag, dut.io.done.bits.authentic.peekValue().asBigInt == 1)
      dut.clock.step()
      found
    }

    /**
     * Wipes, and gives text and tag of 32 zero bytes in a slot for which nothing was
     * loaded since.
     */
    def wiped(slot: Int): (String, String) = {
      dut.io.wipe.poke(true)
      dut.clock.step(LanePorts.wipeCycles)
      dut.io.wipe.poke(false)
      store(0, new Array[Byte](16))
      store(64, new Array[Byte](32))
      dut.io.write.valid.poke(false)
      start(Suite.named("aes128gcm16"), slot, 0, 32)
      val found = (Bytes.toHex(result(32)), tag)
      dut.clock.step()
      found
    }
  }

  test("encrypts every valid Wycheproof case with a 96-bit IV, and forgets keys") {
    val cases = trials().filter(_.c.valid)
    simulate(new EngineHarness(config(encrypt = true))) { dut =>
      val bench = new Bench(dut)
      for ((trial, i) <- cases.zipWithIndex) {
        val (text, tag, _) = bench.run(i % 32, trial, trial.c.msg)
        assert((text, tag) == ((Bytes.toHex(trial.c.ct), Bytes.toHex(trial.c.tag))), s"tcId ${trial.c.id}")
      }

      // After a wipe the keys of a slot are gone, and the engine works on.
      val key = Bytes.fromHex("feffe9928665731c6d6a8f9467308308")
      val case32 = Wycheproof.Case(0, valid = true, key, new Array(12), Array(), new Array(32), Array(), Array())
      val packet = Trial(Suite.named("aes128gcm16"), case32)
      val before = bench.run(1, packet, case32.msg)
      // What the slot holds now is a key of zeros, AES-128, a nonce of zeros and H = 0.
      assert(bench.wiped(1) == (
        (
          "0388dace60b6a392f328c2b971b2fe78f795aaab494b5923f7fd89ff948bc1e0",
          "58e2fccefa7e3061367f1d57a4e7455a"
        )
      ))
      assert(bench.run(1, packet, case32.msg) == before)
    }
  }

  test("decrypts every valid Wycheproof case, rejects every invalid one and every single wrong bit of a tag") {
    val cases = trials()
    simulate(new EngineHarness(config(encrypt = false))) { dut =>
      val bench = new Bench(dut)
      for ((trial, i) <- cases.zipWithIndex) {
        val (text, _, authentic) = bench.run(i % 32, trial, trial.c.ct)
        assert(authentic == trial.c.valid, s"tcId ${trial.c.id}")
        if (trial.c.valid) assert(text == Bytes.toHex(trial.c.msg), s"tcId ${trial.c.id}")
      }
      val good = cases.find(t => t.c.valid && t.c.msg.length == 20).get
      for (bit <- 0 until 128) {
        val tag = good.c.tag.clone()
        tag(bit / 8) = (tag(bit / 8) ^ 1 << (bit % 8)).toByte
        assert(!bench.run(bit % 32, good.copy(c = good.c.copy(tag = tag)), good.c.ct)._3, s"tag bit $bit")
      }
    }
  }
}
