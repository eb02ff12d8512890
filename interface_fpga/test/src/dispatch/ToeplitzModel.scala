// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

/** The hash bit by bit, as Microsoft's text has it: the key moves left by one an input bit. */
object ToeplitzModel {

  /** Numbers whose first bit is on top. */
  def apply(input: BigInt, inputBits: Int, key: BigInt, keyBits: Int, bits: Int): BigInt =
    (0 until inputBits).filter(i => input.testBit(inputBits - 1 - i)).foldLeft(BigInt(0)) { (hash, i) =>
      hash ^ ((key >> (keyBits - bits - i)) & ((BigInt(1) << bits) - 1))
    }
}
