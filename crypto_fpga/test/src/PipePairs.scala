package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * Every pipe beside its [[PipeModel]], both with the same operands.
 *
 * Bit i of `differs` is high when pair i's results come at different times, or differ. What a wipe has met may differ: results count
 * from [[PipePairs.settling]] cycles after it.
 */
class PipePairs extends Module {
  val io = IO(new Bundle {
    val random = Input(UInt(1024.W))

    /** Something enters pair i, if its phase is right. */
    val enter = Input(UInt(PipePairs.names.size.W))
    val wipe = Input(Bool())
    val differs = Output(UInt(PipePairs.names.size.W))
    val results = Output(UInt(PipePairs.names.size.W))
  })

  private val phase = RegInit(0.U(2.W))
  phase := phase + 1.U
  private val wiped = RegInit(0.U(log2Ceil(PipePairs.settling + 1).W))
  when(io.wipe) { wiped := PipePairs.settling.U }.elsewhen(wiped =/= 0.U) { wiped := wiped - 1.U }

  private def bits(low: Int, width: Int) = io.random(low + width - 1, low)
  private def enters(pair: String, everyFourth: Boolean = false): Bool =
    io.enter(PipePairs.names.indexOf(pair)) && !io.wipe && (if (everyFourth) phase === 0.U else true.B)

  private def aes(modelled: Boolean) = {
    val pipe = Module(new AesPipe(Bool(), 0, modelled))
    pipe.io.in.valid := enters("AesPipe")
    pipe.io.in.bits.block := bits(0, 128)
    pipe.io.in.bits.key := bits(128, 256)
    val shorter = Mux(bits(401, 1).asBool, AesKeySize.bits192, AesKeySize.bits128)
    pipe.io.in.bits.size := Mux(bits(400, 1).asBool, AesKeySize.bits256, shorter)
    pipe.io.in.bits.tag := false.B
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits.block
  }
  private def aesDecrypt(modelled: Boolean) = {
    val pipe = Module(new AesDecryptPipe(modelled))
    pipe.io.in.valid := enters("AesDecryptPipe")
    pipe.io.in.bits.block := bits(0, 128)
    pipe.io.in.bits.key := bits(128, 256)
    pipe.io.in.bits.size := Mux(bits(400, 1).asBool, AesKeySize.bits256, AesKeySize.bits128)
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits
  }
  private def sm4(modelled: Boolean) = {
    val pipe = Module(new Sm4Pipe(modelled))
    pipe.io.in.valid := enters("Sm4Pipe")
    pipe.io.in.bits.block := bits(0, 128)
    pipe.io.in.bits.key := bits(128, 128)
    pipe.io.in.bits.decrypt := bits(400, 1).asBool
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits
  }
  private def chacha(modelled: Boolean) = {
    val pipe = Module(new ChaChaPipe(modelled))
    pipe.io.in.valid := enters("ChaChaPipe", everyFourth = true)
    pipe.io.in.bits.key := bits(0, 256)
    pipe.io.in.bits.nonce := bits(256, 96)
    pipe.io.in.bits.counter := bits(352, 32)
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits
  }
  private def hash(name: String, make: => HashPipe) = {
    val pipe = Module(make)
    pipe.io.in.valid := enters(name, everyFourth = true)
    pipe.io.in.bits.state := bits(0, 256)
    pipe.io.in.bits.block := bits(256, 512)
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits
  }
  private def poly(modelled: Boolean) = {
    val pipe = Module(new Poly1305Pipe(modelled))
    pipe.io.in.valid := enters("Poly1305Pipe", everyFourth = true)
    pipe.io.in.bits.acc := bits(0, 130)
    pipe.io.in.bits.r := bits(130, 128)
    pipe.io.in.bits.s := bits(258, 128)
    pipe.io.in.bits.data := bits(386, 512)
    pipe.io.in.bits.blocks := bits(1000, 2) +& 1.U
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits.asUInt
  }
  private def ghash(modelled: Boolean) = {
    val pipe = Module(new GhashMultiply(UInt(4.W), modelled))
    pipe.io.in.valid := enters("GhashMultiply")
    pipe.io.in.bits.a := bits(0, 128)
    pipe.io.in.bits.b := bits(128, 128)
    pipe.io.in.bits.tag := bits(256, 4)
    pipe.io.wipe := io.wipe
    pipe.io.out.valid -> pipe.io.out.bits.asUInt
  }
  private val make = Map[String, Boolean => (Bool, UInt)](
    "AesPipe" -> aes,
    "AesDecryptPipe" -> aesDecrypt,
    "Sm4Pipe" -> sm4,
    "ChaChaPipe" -> chacha,
    "Sha256Pipe" -> (m => hash("Sha256Pipe", new Sha256Pipe(m))),
    "Sha1Pipe" -> (m => hash("Sha1Pipe", new Sha1Pipe(m))),
    "Sm3Pipe" -> (m => hash("Sm3Pipe", new Sm3Pipe(m))),
    "Poly1305Pipe" -> poly,
    "GhashMultiply" -> ghash
  )
  private val pairs = PipePairs.names.map(name => (make(name)(false), make(name)(true)))
  io.differs := VecInit(pairs.map { case ((valid, result), (modelValid, modelResult)) =>
    valid =/= modelValid || (valid && wiped === 0.U && result =/= modelResult)
  }).asUInt
  io.results := VecInit(pairs.map { case ((valid, _), _) => valid && wiped === 0.U }).asUInt
}

object PipePairs {
  val names = Seq(
    "AesPipe",
    "AesDecryptPipe",
    "Sm4Pipe",
    "ChaChaPipe",
    "Sha256Pipe",
    "Sha1Pipe",
    "Sm3Pipe",
    "Poly1305Pipe",
    "GhashMultiply"
  )

  /** Longer than anything is inside a pipe. */
  val settling = 160
}
