// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._

/**
 * SM4 (GB/T 32907-2016) as functions on hardware values. A word is the standard's: its first byte
 * on the wire in bits 31:24.
 */
object Sm4 {

  /** The S-box (GB/T 32907-2016 6.2). */
  val sbox: Seq[Int] = """
    d690e9fecce13db716b614c228fb2c05 2b679a762abe04c3aa44132649860699 9c4250f491ef987a33540b43edcfac62
    e4b31ca9c908e89580df94fa758f3fa6 4707a7fcf37317ba83593c19e6854fa8 686b81b27164da8bf8eb0f4b70569d35
    1e240e5e6358d1a225227c3b01217887 d40046579fd327524c3602e7a0c4c89e eabf8ad240c738b5a3f7f2cef96115a1
    e0ae5da49b341a55ad933230f58cb1e3 1df6e22e8266ca60c02923ab0d534e6f d5db3745defd8e2f03ff6a726d6c5b51
    8d1baf92bbddbc7f11d95c411f105ad8 0ac13188a5cd7bbd2d74d012b8e5b4b0 8969974a0c96777e65b9f109c56ec684
    18f07dec3adc4d2079ee5f3ed7cb3948""".filterNot(_.isWhitespace).grouped(2).map(Integer.parseInt(_, 16)).toSeq

  /** The system parameter FK (7.3 b), added to the key before it is expanded. */
  val fk: Seq[BigInt] = Seq(0xa3b1bac6L, 0x56aa3350L, 0x677d9197L, 0xb27022dcL).map(BigInt(_))

  /** The fixed parameter CK (7.3 c), defined for `i` below 32 and continued by its rule beyond. */
  def ck(i: Int): BigInt = (0 until 4).foldLeft(BigInt(0))((word, j) => word << 8 | (4 * i + j) * 7 % 256)

  /** The words of a block or key, and back. */
  def words(block: UInt): Seq[UInt] = Seq.tabulate(4)(i => swap(block(32 * i + 31, 32 * i)))
  def block(words: Seq[UInt]): UInt = Cat(words.map(swap).reverse)
  private def swap(word: UInt): UInt = Cat((0 until 4).map(i => word(8 * i + 7, 8 * i)))

  /** The linear map L of the round function (6.2 b). */
  def mix(b: UInt): UInt = b ^ b.rotateLeft(2) ^ b.rotateLeft(10) ^ b.rotateLeft(18) ^ b.rotateLeft(24)

  /** L' of the key schedule (7.3). */
  def mixKey(b: UInt): UInt = b ^ b.rotateLeft(13) ^ b.rotateLeft(23)

  /** The substitution of a word in LUTs. */
  def substitute(word: UInt)(implicit sbox: Definition[Sm4Sbox]): UInt = Sbox.substitute(word)

  /** The same in block RAM, a cycle later. */
  def substituteInRam(word: UInt): UInt = Cat(SboxRom.lookUp(new SboxRom("Sm4SboxRom", sbox, 8), word, 4).reverse)
}
