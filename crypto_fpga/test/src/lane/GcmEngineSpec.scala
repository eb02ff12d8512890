package sallyport.crypto

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.simulator.scalatest.ChiselSim
import chisel3.util._
import org.scalatest.funsuite.AnyFunSuite

/** The engine with a memory in place of ESP: associated data in rows 0 to 63, text from row 64 on. */
private class GcmHarness(encrypt: Boolean) extends Module {
  private val slots = 4
  val io = IO(new Bundle {
    val write = Flipped(Valid(new Bundle { val row = UInt(7.W); val block = UInt(128.W) }))
    val icv = Input(UInt(128.W))
    val load = Flipped(Valid(new GcmLoad(slots)))
    val start = Flipped(Valid(new GcmStart(slots)))
    val wipe = Input(Bool())
    val done = Valid(new GcmDone(slots))
    val row = Input(UInt(6.W))
    val block = Output(UInt(128.W))
    val blocks = Output(UInt(8.W))
  })
  private val engine = Module(new GcmEngine(encrypt, slots, fetchCycles = 2))
  private val memory = SyncReadMem(128, UInt(128.W))
  private val results = Mem(64, UInt(128.W))
  private val blocks = RegInit(0.U(8.W))

  when(io.write.valid) { memory.write(io.write.bits.row, io.write.bits.block) }
  private val op = engine.io.fetch.bits
  private val isText = op.step === GcmStep.text
  private val read = memory.read(Cat(isText, op.index(5, 0)))
  engine.io.data := RegNext(Mux(RegNext(op.step) === GcmStep.length, io.icv, read))
  engine.io.load := io.load
  engine.io.start := io.start
  engine.io.oldest := 0.U
  engine.io.wipe := io.wipe
  when(io.start.valid) { blocks := 0.U }
  when(engine.io.text.valid) {
    results(engine.io.text.bits.op.index) := engine.io.text.bits.block
    blocks := blocks + 1.U
  }
  io.done := engine.io.done
  io.block := results(io.row)
  io.blocks := blocks
}

class GcmEngineSpec extends AnyFunSuite with ChiselSim {

  private def idle(dut: GcmHarness): Unit = {
    dut.io.write.valid.poke(false)
    dut.io.load.valid.poke(false)
    dut.io.start.valid.poke(false)
    dut.io.wipe.poke(false)
    dut.reset.poke(true)
    dut.clock.step(2)
    dut.reset.poke(false)
  }

  private def store(dut: GcmHarness, base: Int, bytes: Array[Byte]): Unit =
    for ((block, i) <- bytes.grouped(16).zipWithIndex) {
      dut.io.write.valid.poke(true)
      dut.io.write.bits.row.poke(base + i)
      dut.io.write.bits.block.poke(Bytes.toBigInt(block))
      dut.clock.step()
    }

  /** Runs one packet; the text that came out, the tag, and whether the tag received was right. */
  private def run(dut: GcmHarness, slot: Int, c: Wycheproof.Case, text: Array[Byte]): (String, String, Boolean) = {
    store(dut, 0, if (c.aad.isEmpty) new Array[Byte](16) else c.aad)
    store(dut, 64, text ++ Array.fill[Byte](16)(0x5a)) // what follows the text must not matter
    dut.io.write.valid.poke(false)
    dut.io.icv.poke(Bytes.toBigInt(c.tag))
    dut.io.load.valid.poke(true)
    dut.io.load.bits.slot.poke(slot)
    dut.io.load.bits.key.poke(Bytes.toBigInt(c.key))
    dut.io.load.bits.size.poke(AesKeySize.ofBytes(c.key.length))
    dut.io.load.bits.nonce.poke(Bytes.toBigInt(c.iv))
    dut.io.load.bits.hashKey.poke(Bytes.toBigInt(Gcm.hashKey(c.key)))
    dut.io.load.bits.hashKey2.poke(Bytes.toBigInt(Gcm.hashKey2(c.key)))
    dut.clock.step()
    dut.io.load.valid.poke(false)
    dut.io.start.valid.poke(true)
    dut.io.start.bits.slot.poke(slot)
    dut.io.start.bits.aadBytes.poke(c.aad.length)
    dut.io.start.bits.textBytes.poke(text.length)
    dut.clock.step()
    dut.io.start.valid.poke(false)
    dut.clock.stepUntil(dut.io.done.valid, 1, 400)
    dut.io.done.valid.expect(true)
    dut.io.done.bits.slot.expect(slot)
    val result = (0 until (text.length + 15) / 16).flatMap { i =>
      dut.io.row.poke(i)
      Bytes.fromBigInt(dut.io.block.peekValue().asBigInt, 16)
    }.toArray
    dut.io.blocks.expect((text.length + 15) / 16)
    assert(result.drop(text.length).forall(_ == 0), "bytes beyond the text are zero")
    val tag = Bytes.fromBigInt(dut.io.done.bits.tag.peekValue().asBigInt, 16)
    val authentic = dut.io.done.bits.authentic.peekValue().asBigInt == 1
    dut.clock.step()
    (Bytes.toHex(result.take(text.length)), Bytes.toHex(tag), authentic)
  }

  private def vectors(): Seq[Wycheproof.Case] = {
    val cases = Wycheproof.load("aes_gcm.json") match {
      case Some(all) => all.filter(_.iv.length == 12)
      case None => cancel(Wycheproof.absent)
    }
    assert(cases.size == 98 && cases.count(!_.valid) == 40, "the file holds other cases than this test was written for")
    cases
  }

  test("encrypts every valid Wycheproof case with a 96-bit IV, and forgets keys") {
    val cases = vectors().filter(_.valid)
    simulate(new GcmHarness(encrypt = true)) { dut =>
      idle(dut)
      for ((c, i) <- cases.zipWithIndex) {
        val (text, tag, _) = run(dut, i % 4, c, c.msg)
        assert((text, tag) == ((Bytes.toHex(c.ct), Bytes.toHex(c.tag))), s"tcId ${c.id}")
      }

      // After a wipe the keys of a slot are gone, and the engine works on.
      val key = Bytes.fromHex("feffe9928665731c6d6a8f9467308308")
      val packet = Wycheproof.Case(0, valid = true, key, new Array(12), Array(), new Array(32), Array(), Array())
      val before = run(dut, 1, packet, packet.msg)
      dut.io.wipe.poke(true)
      dut.clock.step(GcmEngine.wipeCycles(4))
      dut.io.wipe.poke(false)
      // Nothing is loaded: what slot 1 holds now is a key of zeros, AES-128, a nonce of zeros and H = 0.
      dut.io.start.valid.poke(true)
      dut.io.start.bits.slot.poke(1)
      dut.io.start.bits.aadBytes.poke(0)
      dut.io.start.bits.textBytes.poke(32)
      dut.clock.step()
      dut.io.start.valid.poke(false)
      dut.clock.stepUntil(dut.io.done.valid, 1, 400)
      assert(Bytes.toHex(Bytes.fromBigInt(
        dut.io.done.bits.tag.peekValue().asBigInt,
        16
      )) == "58e2fccefa7e3061367f1d57a4e7455a")
      dut.io.row.poke(0)
      assert(Bytes.toHex(Bytes.fromBigInt(dut.io.block.peekValue().asBigInt, 16)) == "0388dace60b6a392f328c2b971b2fe78")
      dut.clock.step()
      assert(run(dut, 1, packet, packet.msg) == before)
    }
  }

  test("decrypts every valid Wycheproof case, rejects every invalid one and every single wrong bit of a tag") {
    val cases = vectors()
    simulate(new GcmHarness(encrypt = false)) { dut =>
      idle(dut)
      for ((c, i) <- cases.zipWithIndex) {
        val (text, _, authentic) = run(dut, i % 4, c, c.ct)
        assert(authentic == c.valid, s"tcId ${c.id}")
        if (c.valid) assert(text == Bytes.toHex(c.msg), s"tcId ${c.id}")
      }
      val good = cases.find(c => c.valid && c.msg.length == 20).get
      for (bit <- 0 until 128) {
        val tag = good.tag.clone()
        tag(bit / 8) = (tag(bit / 8) ^ 1 << (bit % 8)).toByte
        assert(!run(dut, bit % 4, good.copy(tag = tag), good.ct)._3, s"tag bit $bit")
      }
    }
  }
}
