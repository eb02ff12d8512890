// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import org.bouncycastle.jcajce.provider.digest.SM3

class Sm3PipeSpec extends HashPipeBench(new Sm3Pipe, Sm3Pipe, HashComputation.sm3, new SM3.Digest().digest) {

  subtest("the examples of GB/T 32905-2016 appendix A") { dut =>
    val expected = Seq(
      "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0",
      "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732"
    )
    assert(digests(dut, Seq("abc", "abcd" * 16).map(_.getBytes))._1 == expected)
  }

  subtest("messages of 0 to 300 bytes against Bouncy Castle's SM3, a block every 4 cycles")(checkMessages)
  subtest("HMAC: every case of Wycheproof's hmac_sm3.json")(checkHmac(_, "hmac_sm3.json", 87, 54))
  subtest("a wipe drops what is inside, and leaves the same behind whatever was inside")(checkWipe)
}
