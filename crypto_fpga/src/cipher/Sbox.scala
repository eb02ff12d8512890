// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.{Definition, Instance}
import chisel3.util._

/**
 * A substitution of bytes, 32 LUTs and F7/F8. It stays a module of its own: flattened before
 * mapping, synthesis spends 1.7 times the area on it.
 */
abstract class Sbox(table: Seq[Int]) extends FixedIORawModule(new SboxPorts) {
  io.out := VecInit(table.map(_.U(8.W)))(io.in)
}

class SboxPorts extends Bundle {
  val in = Input(UInt(8.W))
  val out = Output(UInt(8.W))
}

object Sbox {

  /** Each byte of `x` through a box of its own. */
  def substitute[S <: Sbox](x: UInt)(implicit sbox: Definition[S]): UInt =
    Cat((x.getWidth / 8 - 1 to 0 by -1).map { i =>
      val box = Instance(sbox)
      box.io.in := x(8 * i + 7, 8 * i)
      box.io.out
    })
}

class AesSbox extends Sbox(Aes.sbox)
class Sm4Sbox extends Sbox(Sm4.sbox)
