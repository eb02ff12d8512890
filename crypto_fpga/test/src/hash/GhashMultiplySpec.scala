// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.support.Bytes

/**
 * The product of blocks rather than polynomials, so that the vectors of the standard can be used
 * as they are.
 */
private class BlockMultiply extends Module {
  val io = IO(new Bundle {
    val valid = Input(Bool())
    val a = Input(UInt(128.W))
    val b = Input(UInt(128.W))
    val tag = Input(UInt(8.W))
    val out = Output(UInt(128.W))
    val outValid = Output(Bool())
    val outTag = Output(UInt(8.W))
  })
  private val multiply = Module(new GhashMultiply(UInt(8.W)))
  multiply.io.wipe := false.B
  multiply.io.in.valid := io.valid
  multiply.io.in.bits.a := Gf128.reflect(io.a)
  multiply.io.in.bits.b := Gf128.reflect(io.b)
  multiply.io.in.bits.tag := io.tag
  io.out := Gf128.reflect(multiply.io.out.bits.product)
  io.outValid := multiply.io.out.valid
  io.outTag := multiply.io.out.bits.tag
}

class GhashMultiplySpec extends AnyFunSuite with CompiledOnce {

  /**
   * H and the first products of the GHASH chains of the GCM specification (McGrew and Viega,
   * appendix B), test cases 2 and 3.
   */
  private val vectors = Seq(
    ("66e94bd4ef8a2c3b884cfa59ca342b2e", "0388dace60b6a392f328c2b971b2fe78", "5e2ec746917062882c85b0685353deb7"),
    ("b83b533708bf535d0aa6e52980d53b78", "42831ec2217774244b7221b784d0d49c", "59ed3f2bb1a0aaa07c9f56c6a504647b")
  )

  /** A block as a polynomial whose coefficient i is bit i, and back. */
  private def reflect(block: BigInt): BigInt =
    (0 until 128).filter(block.testBit).foldLeft(BigInt(0))((x, i) => x.setBit(i ^ 7))

  /** By long multiplication, and long division by x^128 + x^7 + x^2 + x + 1. */
  private def product(a: BigInt, b: BigInt): BigInt = {
    val modulus = BigInt(1) << 128 | 0x87
    val whole = (0 until 128).filter(b.testBit).foldLeft(BigInt(0))((sum, i) => sum ^ a << i)
    (254 to 128 by -1).foldLeft(whole)((rest, i) => if (rest.testBit(i)) rest ^ modulus << (i - 128) else rest)
  }

  test("products of the GCM specification, long arithmetic, algebra on random operands, one a cycle") {
    simulate(new BlockMultiply) { dut =>
      val random = new scala.util.Random(2)

      /** Products of operand pairs, put in one a cycle. */
      def products(pairs: Seq[(BigInt, BigInt)]): Seq[BigInt] = {
        val results = Seq.newBuilder[BigInt]
        for (cycle <- 0 until pairs.size + GhashMultiply.latency) {
          dut.io.valid.poke(cycle < pairs.size)
          if (cycle < pairs.size) {
            dut.io.a.poke(pairs(cycle)._1)
            dut.io.b.poke(pairs(cycle)._2)
            dut.io.tag.poke(cycle % 256)
          }
          dut.clock.step()
          val done = cycle + 1 - GhashMultiply.latency
          dut.io.outValid.expect(done >= 0 && done < pairs.size)
          if (done >= 0 && done < pairs.size) {
            dut.io.outTag.expect(done % 256)
            results += dut.io.out.peekValue().asBigInt
          }
        }
        results.result()
      }

      val known = vectors.map { case (h, x, _) => (Bytes.toBigInt(Bytes.fromHex(h)), Bytes.toBigInt(Bytes.fromHex(x))) }
      assert(products(known).map(y => Bytes.toHex(Bytes.fromBigInt(y, 16))) == vectors.map(_._3))

      // Powers of x in equal and in different places of their leaves, and random operands.
      val powers = for (i <- 0 until 128; j <- 0 until 128 if i == j || (i ^ j) % 16 == 0 || (i ^ j) < 4)
        yield (BigInt(1) << i, BigInt(1) << j)
      val mixed = Seq.fill(500)((BigInt(128, random), BigInt(128, random)))
      val pairs = powers ++ mixed
      val made = products(pairs.map { case (a, b) => (reflect(a), reflect(b)) })
      assert(made.map(reflect) == pairs.map { case (a, b) => product(a, b) })

      // Multiplication by 1, x and x^127 of the basis and distributivity determine every product.
      val one = BigInt(0x80)
      val operands = Seq.fill(100)((BigInt(128, random), BigInt(128, random), BigInt(128, random)))
      assert(products(operands.map(o => (o._1, one))) == operands.map(_._1))
      val left = products(operands.map(o => (o._1, o._2)))
      val right = products(operands.map(o => (o._1, o._3)))
      assert(products(operands.map(o => (o._1, o._2 ^ o._3))) == left.zip(right).map { case (l, r) => l ^ r })
      assert(products(operands.map(o => (o._2, o._1))) == left)
    }
  }
}
